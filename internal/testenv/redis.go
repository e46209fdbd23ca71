package testenv

import (
	"context"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// lease outlives any sane test and frees the database of one that was killed.
const lease = 30 * time.Minute

// Redis returns the URL of an empty database on the shared Redis server: one
// database number, reserved for this test and flushed when it ends. Keys need no
// prefix. A test that restarts, pauses or flushes a whole server, or changes its
// configuration, takes StartRedis.
func Redis(t testing.TB) string {
	t.Helper()
	server := serverURL(t, EnvRedis)
	options, err := redis.ParseURL(server)
	if err != nil {
		t.Fatalf("parse %s: %v", EnvRedis, err)
	}
	number := reserveRedis(t, options)
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("parse %s: %v", EnvRedis, err)
	}
	u.Path = "/" + strconv.Itoa(number)
	return u.String()
}

// reserveRedis takes the first free database number. Database 0 holds the
// reservations, so that test processes running at once agree.
func reserveRedis(t testing.TB, options *redis.Options) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	registry := *options
	registry.DB = 0
	client := redis.NewClient(&registry)
	defer client.Close()

	settings, err := client.ConfigGet(ctx, "databases").Result()
	if err != nil {
		t.Fatalf("ask %s for its databases: %v", EnvRedis, err)
	}
	databases, err := strconv.Atoi(settings["databases"])
	if err != nil {
		t.Fatalf("ask %s for its databases: %v", EnvRedis, err)
	}
	owner := uniqueName()
	for number := 1; number < databases; number++ {
		key := "rondo-testenv:database:" + strconv.Itoa(number)
		free, err := client.SetNX(ctx, key, owner, lease).Result()
		if err != nil {
			t.Fatalf("reserve a database of %s: %v", EnvRedis, err)
		}
		if !free {
			continue
		}
		flushRedis(t, options, number)
		t.Cleanup(func() {
			flushRedis(t, options, number)
			releaseRedis(t, &registry, key)
		})
		return number
	}
	t.Fatalf("all %d databases of %s are in use: give the server more with --databases", databases, EnvRedis)
	return 0
}

func flushRedis(t testing.TB, options *redis.Options, number int) {
	t.Helper()
	chosen := *options
	chosen.DB = number
	withRedis(t, &chosen, func(ctx context.Context, client *redis.Client) error {
		return client.FlushDB(ctx).Err()
	})
}

func releaseRedis(t testing.TB, registry *redis.Options, key string) {
	t.Helper()
	withRedis(t, registry, func(ctx context.Context, client *redis.Client) error {
		return client.Del(ctx, key).Err()
	})
}

func withRedis(t testing.TB, options *redis.Options, do func(context.Context, *redis.Client) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	client := redis.NewClient(options)
	defer client.Close()
	if err := do(ctx, client); err != nil {
		t.Fatalf("prepare a database of %s: %v", EnvRedis, err)
	}
}
