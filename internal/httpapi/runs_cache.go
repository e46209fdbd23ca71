package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/store"
)

type (
	cacheOut        struct{ Body runPage[cacheEntryView] }
	cacheStatsOut   struct{ Body cacheStatsView }
	cacheRemovedOut struct{ Body cacheRemoved }
	taintedOut      struct{ Body runs.Tainted }
)

func (a *API) registerCache(r *registrar) {
	handleRun(a, r, "list-cache", nil, a.listCache)
	handleRun(a, r, "get-cache-stats", nil, a.cacheStats)
	handleRun(a, r, "invalidate-cache", nil, a.invalidateCache)
	handleRun(a, r, "taint-cache", taintBody{}, a.taintCache)
}

// cacheFilter reads the parameters of cacheFilters.
func (a *API) cacheFilter(c *call) store.CacheFilter {
	out := store.CacheFilter{TenantID: c.principal.Tenant, Workflow: c.query.Get("workflow"), Step: c.query.Get("step"), Key: c.query.Get("key")}
	if age, ok := parseAge(c.query.Get("olderThan")); ok {
		out.Before = a.cfg.Now().UTC().Add(-age)
	}
	return out
}

func (a *API) listCache(ctx context.Context, service RunService, c *call) (*cacheOut, error) {
	pg, err := cachePage(c.query)
	if err != nil {
		return nil, err
	}
	found, err := service.Cache(ctx, c.principal, a.cacheFilter(c), pg)
	if err != nil {
		return nil, err
	}
	out := &cacheOut{}
	if len(found) >= pg.Limit {
		found = found[:pg.Limit-1]
		next := formatCacheCursor(found[len(found)-1])
		out.Body.NextCursor = &next
	}
	out.Body.Items = append([]cacheEntryView{}, viewed(found, viewCacheEntry)...)
	return out, nil
}

func (a *API) cacheStats(ctx context.Context, service RunService, c *call) (*cacheStatsOut, error) {
	found, err := service.CacheStats(ctx, c.principal, a.cacheFilter(c))
	return &cacheStatsOut{Body: cacheStatsView{Entries: found.Entries, Bytes: found.Bytes}}, err
}

func (a *API) invalidateCache(ctx context.Context, service RunService, c *call) (*cacheRemovedOut, error) {
	filtered := false
	for _, name := range []string{"workflow", "step", "key", "olderThan"} {
		filtered = filtered || c.query.Has(name)
	}
	if filtered == c.query.Has("all") {
		const told = "give workflow, step, key or olderThan, or all=true alone"
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "it is not clear what to forget", Hint: told,
			Fields: []rondo.FieldError{{Code: "required", Pointer: "query/all", Message: told}},
		}
	}
	removed, err := service.InvalidateCache(ctx, c.principal, a.cacheFilter(c))
	return &cacheRemovedOut{Body: cacheRemoved{Removed: removed}}, err
}

func (a *API) taintCache(ctx context.Context, service RunService, c *call) (*taintedOut, error) {
	request, err := readTaint(c.body)
	if err != nil {
		return nil, err
	}
	request.Key = c.run.key
	found, err := service.Taint(ctx, c.principal, request)
	found.Runs, found.Artifacts = append([]runs.TaintedRun{}, found.Runs...), append([]string{}, found.Artifacts...) // lists, never null
	return &taintedOut{Body: found}, err
}

// The cursor of the cache holds when the last entry shown was made and its key.

func cachePage(q url.Values) (store.CachePage, error) {
	out := store.CachePage{Limit: queryLimit(q) + 1}
	if !q.Has("cursor") {
		return out, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("cursor"))
	if err != nil || len(raw) != 1+8+64 || raw[0] != listCache {
		return out, notOfThisChatList()
	}
	at := binary.BigEndian.Uint64(raw[1:9])
	if out.BeforeKey = string(raw[9:]); at > math.MaxInt64 || !hexDigest(out.BeforeKey) {
		return out, notOfThisChatList()
	}
	out.Before = time.Unix(0, int64(at)).UTC()
	return out, nil
}

func formatCacheCursor(last rondo.CacheEntry) string {
	raw := binary.BigEndian.AppendUint64([]byte{listCache}, uint64(last.CreatedAt.UnixNano()))
	return base64.RawURLEncoding.EncodeToString(append(raw, last.Key...))
}
