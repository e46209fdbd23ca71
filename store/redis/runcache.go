package redis

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	fastjson "github.com/go-json-experiment/json"
	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// RunCache is the hot tier of the step cache in Redis, shared by all processes:
//
//	stepcache:<tenant>:<key>   string: an entry as JSON; its expiry is its time
//
// The tenant is percent-encoded as in every other key. A key is no hash tag of its
// own, so that the entries of a cluster are spread over its slots. What the server
// evicts is a miss: no setting of maxmemory-policy is wrong for it.
type RunCache struct{ client redis.UniversalClient }

var _ store.HotCache = (*RunCache)(nil)

// RunCache returns the hot tier on the connections of this store; it ends when the
// store is closed.
func (s *Store) RunCache() *RunCache { return &RunCache{client: s.client} }

// stepCache is where an entry is.
func stepCache(tenant, key string) string { return "stepcache:" + escape(tenant) + ":" + escape(key) }

// cachedEntry is an entry in Redis. Data is base64 inside, because it comes back
// byte by byte; the tenant and the key are in the name.
type cachedEntry struct {
	Workflow   string          `json:"w"`
	Step       string          `json:"s"`
	InputHash  string          `json:"i"`
	Manifest   json.RawMessage `json:"m,omitempty"`
	Data       []byte          `json:"d,omitempty"`
	HasData    bool            `json:"h,omitempty"`
	Artifacts  []rondo.ID      `json:"a,omitempty"`
	OutputHash string          `json:"o"`
	RunID      rondo.ID        `json:"r"`
	Class      string          `json:"c,omitempty"`
	Created    int64           `json:"t"` // microseconds
	Used       int64           `json:"u"`
	Expires    int64           `json:"e,omitempty"` // 0 = never
	DurationMs int64           `json:"ms,omitempty"`
	Cost       float64         `json:"x,omitempty"`
	Tainted    string          `json:"bad,omitempty"`
}

// Get returns the entries that are there, in one round trip. A record that cannot
// be read is as good as none.
func (c *RunCache) Get(ctx context.Context, tenant string, keys []string) (map[string]rondo.CacheEntry, error) {
	const op = "read the step cache"
	if len(keys) == 0 {
		return nil, nil
	}
	// Single reads in a pipeline, not MGET: the keys of a cluster are in many slots.
	pipe := c.client.Pipeline()
	answers := make([]*redis.StringCmd, len(keys))
	for i, key := range keys {
		answers[i] = pipe.Get(ctx, stepCache(tenant, key))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, failed(op, err)
	}
	found := make(map[string]rondo.CacheEntry, len(keys))
	for i, key := range keys {
		text, err := answers[i].Bytes()
		if err != nil {
			continue
		}
		if entry, ok := readEntry(tenant, key, text); ok {
			found[key] = entry
		}
	}
	return found, nil
}

// Put keeps entries, each for its time, in one round trip. One whose time is over
// already replaces what was there by nothing.
func (c *RunCache) Put(ctx context.Context, entries []store.HotEntry) error {
	const op = "write the step cache"
	if len(entries) == 0 {
		return nil
	}
	pipe := c.client.Pipeline()
	for i := range entries {
		e := &entries[i].Entry
		name, ttl := stepCache(e.TenantID, e.Key), entries[i].TTL
		if ttl < time.Millisecond {
			pipe.Del(ctx, name)
			continue
		}
		text, err := writeEntry(e)
		if err != nil {
			return &rondo.Error{Code: rondo.CodeInternal, Op: op, Message: "the entry of step " + e.StepID + " cannot be written as JSON", Err: plain(err)}
		}
		pipe.Set(ctx, name, text, ttl)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return failed(op, err)
	}
	return nil
}

// Drop forgets keys, in one round trip.
func (c *RunCache) Drop(ctx context.Context, tenant string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	pipe := c.client.Pipeline()
	for _, key := range keys {
		pipe.Unlink(ctx, stepCache(tenant, key))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return failed("drop from the step cache", err)
	}
	return nil
}

func writeEntry(e *rondo.CacheEntry) ([]byte, error) {
	return fastjson.Marshal(&cachedEntry{
		Workflow: e.WorkflowName, Step: e.StepID, InputHash: e.InputHash, Manifest: e.Manifest,
		Data: e.Data, HasData: e.Data != nil, Artifacts: e.ArtifactIDs, OutputHash: e.OutputHash, RunID: e.RunID, Class: e.Class,
		Created: micros(e.CreatedAt), Used: micros(e.LastUsedAt), Expires: micros(e.ExpiresAt),
		DurationMs: e.DurationMs, Cost: e.Cost, Tainted: e.Tainted,
	}, lenient)
}

func readEntry(tenant, key string, text []byte) (rondo.CacheEntry, bool) {
	var c cachedEntry
	if fastjson.Unmarshal(text, &c, lenient) != nil {
		return rondo.CacheEntry{}, false
	}
	entry := rondo.CacheEntry{
		Key: key, TenantID: tenant, WorkflowName: c.Workflow, StepID: c.Step, InputHash: c.InputHash, Manifest: c.Manifest,
		ArtifactIDs: c.Artifacts, OutputHash: c.OutputHash, RunID: c.RunID, Class: c.Class,
		CreatedAt: fromMicros(c.Created), LastUsedAt: fromMicros(c.Used), ExpiresAt: fromMicros(c.Expires),
		DurationMs: c.DurationMs, Cost: c.Cost, Tainted: c.Tainted,
	}
	if c.HasData {
		entry.Data = c.Data
	}
	return entry, true
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
