package hot_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/hot"
	storeredis "github.com/rondo-engine/rondo/store/redis"
)

var began = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// tier is a hot tier whose time can be moved.
type tier struct {
	store.HotCache
	advance func(time.Duration)
}

// tiers are the drivers.
var tiers = map[string]func(*testing.T) tier{
	"in process": func(*testing.T) tier {
		c := &clock{at: began}
		return tier{hot.New(hot.Options{Now: c.now}), c.advance}
	},
	"redis": func(t *testing.T) tier {
		url := testenv.Redis(t)
		s, err := storeredis.Open(url, storeredis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return tier{s.RunCache(), func(d time.Duration) { age(t, url, d) }}
	},
}

// age makes every key of a Redis database older.
func age(t *testing.T, url string, d time.Duration) {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		left, err := client.PTTL(t.Context(), key).Result()
		if err != nil || left < 0 {
			t.Fatalf("%s lives for %v (%v): every key of the cache has an expiry", key, left, err)
		}
		if err := client.PExpire(t.Context(), key, left-d).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func entry(tenant, key string) rondo.CacheEntry {
	return rondo.CacheEntry{
		Key: key, TenantID: tenant, WorkflowName: "campaign.build.v1", StepID: "mix", InputHash: strings.Repeat("a", 64),
		Manifest: []byte(`{"v":1,"components":[{"name":"skill","digest":"d","preview":"é ☃"}]}`),
		Data:     []byte("{ \"b\" : 1.50,\n\"a\":\"\\u00e9 ☃\" }"), ArtifactIDs: []rondo.ID{{1}, {2}},
		OutputHash: strings.Repeat("b", 64), RunID: rondo.ID{9}, Class: "llm",
		CreatedAt: began.Add(time.Microsecond), LastUsedAt: began.Add(time.Hour), ExpiresAt: began.Add(1000 * time.Hour),
		DurationMs: 1234, Cost: 0.25, Tainted: "a wrong prompt",
	}
}

func put(t *testing.T, c store.HotCache, ttl time.Duration, entries ...rondo.CacheEntry) {
	t.Helper()
	hotter := make([]store.HotEntry, len(entries))
	for i, e := range entries {
		hotter[i] = store.HotEntry{Entry: e, TTL: ttl}
	}
	if err := c.Put(t.Context(), hotter); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c store.HotCache, tenant string, keys ...string) map[string]rondo.CacheEntry {
	t.Helper()
	found, err := c.Get(t.Context(), tenant, keys)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestHotTiers(t *testing.T) {
	bare := rondo.CacheEntry{Key: "bare", TenantID: "a", WorkflowName: "w", StepID: "s"}
	cases := map[string]func(*testing.T, tier){
		"an entry comes back as it was, byte by byte": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "k1"), bare)
			want := map[string]rondo.CacheEntry{"k1": entry("a", "k1"), "bare": bare}
			if diff := cmp.Diff(want, get(t, c, "a", "k1", "bare", "absent")); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		},
		"a tenant never sees another's, whatever their names": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "b:k"), entry("{a}", "k"))
			for _, elsewhere := range [][2]string{{"a:b", "k"}, {"a", "k"}, {"", "b:k"}, {"%7Ba%7D", "k"}} {
				if found := get(t, c, elsewhere[0], elsewhere[1]); len(found) > 0 {
					t.Errorf("tenant %q finds %q, which it never put", elsewhere[0], elsewhere[1])
				}
			}
			if found := get(t, c, "{a}", "k"); found["k"].TenantID != "{a}" {
				t.Errorf("tenant {a} does not find its own entry: %v", found)
			}
		},
		"a second put replaces": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "k"))
			second := entry("a", "k")
			second.Data = []byte(`2`)
			put(t, c, time.Hour, second)
			if got := get(t, c, "a", "k")["k"]; string(got.Data) != "2" {
				t.Errorf("data is %s after it was replaced by 2", got.Data)
			}
		},
		"an entry is gone when its time is over": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "short"))
			put(t, c, 48*time.Hour, entry("a", "long"))
			c.advance(time.Hour)
			if found := get(t, c, "a", "short", "long"); len(found) != 1 || found["long"].Key == "" {
				t.Errorf("after an hour these are there: %v; only the long one should be", found)
			}
		},
		"no time at all forgets": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "k"))
			put(t, c, 0, entry("a", "k"))
			if found := get(t, c, "a", "k"); len(found) > 0 {
				t.Errorf("an entry put for no time is there: %v", found)
			}
		},
		"dropped keys are gone, others stay": func(t *testing.T, c tier) {
			put(t, c, time.Hour, entry("a", "k1"), entry("a", "k2"), entry("b", "k1"))
			if err := c.Drop(t.Context(), "a", []string{"k1", "absent"}); err != nil {
				t.Fatal(err)
			}
			if found := get(t, c, "a", "k1", "k2"); len(found) != 1 || found["k2"].Key == "" {
				t.Errorf("after dropping k1 these are there: %v", found)
			}
			if found := get(t, c, "b", "k1"); len(found) != 1 {
				t.Error("dropping an entry of one tenant took another's")
			}
		},
		"nothing asked is nothing done": func(t *testing.T, c tier) {
			put(t, c, time.Hour)
			if err := c.Drop(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			if found := get(t, c, "a"); len(found) > 0 {
				t.Errorf("asking for nothing found %v", found)
			}
		},
	}
	for driver, open := range tiers {
		for name, check := range cases {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				check(t, open(t))
			})
		}
	}
}

func TestWhatWasUsedLongestAgoGoesFirst(t *testing.T) {
	t.Parallel()
	c := hot.New(hot.Options{MaxEntries: 3})
	put(t, c, time.Hour, entry("a", "1"), entry("a", "2"), entry("a", "3"))
	get(t, c, "a", "1")
	put(t, c, time.Hour, entry("a", "4"))
	if found := get(t, c, "a", "1", "2", "3", "4"); len(found) != 3 || found["2"].Key != "" {
		t.Errorf("of four entries in a cache for three these stayed: %v; 2 was used longest ago", found)
	}
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 100_000
	c := hot.New(hot.Options{MaxBytes: most})
	large := func(key string, size int) rondo.CacheEntry {
		return rondo.CacheEntry{Key: key, TenantID: "a", Data: make([]byte, size)}
	}
	for i := range 100 {
		put(t, c, time.Hour, large(fmt.Sprint(i), 10_000))
	}
	entries, bytes := c.Stats()
	if bytes > most || entries < 5 {
		t.Errorf("a cache of %d bytes holds %d entries of 10,000 with %d bytes", most, entries, bytes)
	}
	put(t, c, time.Hour, large("99", most))
	if found := get(t, c, "a", "99", "98"); len(found) != 1 || found["98"].Key == "" {
		t.Errorf("an entry larger than the cache is not kept, does not keep its older self, and displaces no other; found %d", len(found))
	}
	for i := range 100 {
		if err := c.Drop(context.Background(), "a", []string{fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if entries, bytes := c.Stats(); entries != 0 || bytes != 0 {
		t.Errorf("an emptied cache counts %d entries and %d bytes", entries, bytes)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	c := hot.New(hot.Options{MaxEntries: 10})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				key := fmt.Sprint((worker + i) % 20)
				_ = c.Put(context.Background(), []store.HotEntry{{Entry: rondo.CacheEntry{Key: key, TenantID: "a"}, TTL: time.Hour}})
				found, _ := c.Get(context.Background(), "a", []string{key})
				if e, here := found[key]; here && e.Key != key {
					t.Errorf("asked for %s, got %s", key, e.Key)
				}
				_ = c.Drop(context.Background(), "a", []string{fmt.Sprint(i % 20)})
			}
		})
	}
	all.Wait()
	if entries, _ := c.Stats(); entries > 10 {
		t.Errorf("a cache for 10 holds %d", entries)
	}
}
