// Package hot is the hot tier of the step cache in process: store.HotCache for
// installations without Redis.
//
// # Guarantees
//
//  1. It holds at most Options.MaxBytes and Options.MaxEntries; what was used longest
//     ago goes first. An entry that is larger than that alone is not kept.
//  2. An entry is gone when its time is over by Options.Now, whether or not it was
//     swept yet.
//  3. Get and Drop of keys that are not there are fine. No call fails.
//
// Entries are shared, not copied: whoever puts or gets one does not change its
// bytes. It imports the root package and store, and starts no goroutine.
package hot

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Options configure a Cache. The zero value works.
type Options struct {
	MaxBytes   int64            // of data, manifests and what holding them costs; default 64 MiB
	MaxEntries int              // default 100,000
	Now        func() time.Time // default time.Now
}

// The defaults of Options.
const (
	DefaultMaxBytes   int64 = 64 << 20
	DefaultMaxEntries       = 100_000
)

// Cache holds entries in memory. It is safe for concurrent use.
type Cache struct {
	maxBytes   int64
	maxEntries int
	now        func() time.Time

	mu    sync.Mutex
	byKey map[place]*list.Element // of held
	used  *list.List              // the last used one first
	bytes int64
}

var _ store.HotCache = (*Cache)(nil)

// place is where an entry is: keys of two tenants never meet.
type place struct{ tenant, key string }

type held struct {
	at    place
	entry rondo.CacheEntry
	until time.Time
	bytes int64
}

// New makes an empty cache.
func New(opts Options) *Cache {
	c := &Cache{maxBytes: opts.MaxBytes, maxEntries: opts.MaxEntries, now: opts.Now, byKey: map[place]*list.Element{}, used: list.New()}
	if c.maxBytes <= 0 {
		c.maxBytes = DefaultMaxBytes
	}
	if c.maxEntries <= 0 {
		c.maxEntries = DefaultMaxEntries
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c
}

// Get returns the entries that are there.
func (c *Cache) Get(_ context.Context, tenant string, keys []string) (map[string]rondo.CacheEntry, error) {
	now := c.now()
	found := map[string]rondo.CacheEntry{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		element, here := c.byKey[place{tenant, key}]
		if !here {
			continue
		}
		h := element.Value.(*held)
		if !now.Before(h.until) {
			c.remove(element)
			continue
		}
		c.used.MoveToFront(element)
		found[key] = h.entry
	}
	return found, nil
}

// Put keeps entries, each for its time. One whose time is over already replaces
// what was there by nothing.
func (c *Cache) Put(_ context.Context, entries []store.HotEntry) error {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range entries {
		c.put(&entries[i], now)
	}
	return nil
}

func (c *Cache) put(e *store.HotEntry, now time.Time) {
	h := &held{at: place{e.Entry.TenantID, e.Entry.Key}, entry: e.Entry, until: now.Add(e.TTL), bytes: size(&e.Entry)}
	if element, here := c.byKey[h.at]; here {
		c.remove(element)
	}
	if e.TTL <= 0 || h.bytes > c.maxBytes {
		return
	}
	c.byKey[h.at] = c.used.PushFront(h)
	c.bytes += h.bytes
	for c.bytes > c.maxBytes || len(c.byKey) > c.maxEntries {
		c.remove(c.used.Back())
	}
}

// Drop forgets keys.
func (c *Cache) Drop(_ context.Context, tenant string, keys []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if element, here := c.byKey[place{tenant, key}]; here {
			c.remove(element)
		}
	}
	return nil
}

// Stats says how much is held, entries whose time is over included until they are
// met.
func (c *Cache) Stats() (entries int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey), c.bytes
}

func (c *Cache) remove(element *list.Element) {
	h := c.used.Remove(element).(*held)
	delete(c.byKey, h.at)
	c.bytes -= h.bytes
}

// overhead is about what the maps, the list and the fields of one entry take.
const overhead = 512

func size(e *rondo.CacheEntry) int64 {
	return overhead + int64(len(e.Data)+len(e.Manifest)+len(e.Key)+len(e.TenantID)+len(e.WorkflowName)+len(e.StepID)+
		len(e.InputHash)+len(e.OutputHash)+len(e.Tainted)) + 16*int64(len(e.ArtifactIDs))
}
