// Package redis is the bus on Redis Streams: one stream per event type, Redis
// consumer groups, pipelined publishing, reading and acking.
//
// # Guarantees
//
// Those of package bus, as durable as Redis is configured to be: without an
// append-only file a killed server forgets everything. Therefore:
//
//   - Reads outlive the server: they go on when it is back. Groups that vanished
//     are created again from the start of their streams, and OnLost tells for
//     which streams, so that whoever knows the truth can publish again.
//   - Streams are never cut when publishing. Trim removes what is old, Shorten
//     what is too much, and both only what every group has acked, decided and done
//     atomically in the server.
//   - A consumer with pending entries is never deleted. What a closed or dead
//     consumer has not acked is claimed by others, after AckWait at the latest.
//   - A server that evicts keys would drop unread events: Check refuses it.
//
// It needs Redis 6.2 (7.0 to report lag), imports the root package, bus and the
// Redis client, and starts goroutines only in Subscribe; the consumer's Close
// waits for them.
package redis

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
)

// Options configure a Bus. The zero value works.
type Options struct {
	// Prefix comes before every key, to share a server. Default "".
	Prefix string
	// HashTag, when set, puts all streams into one slot of a cluster, which
	// reading them together needs. Default "": no tag.
	HashTag string
	// Name begins the names of this process's consumers; the rest makes them
	// unique. Default: the host's name.
	Name string
	// OnLost is called, from a consumer's goroutine, for every stream whose group
	// had vanished and was created again. It must not block. Default: nothing.
	OnLost func(stream string)
	// AllowEviction accepts a server that may evict streams under memory
	// pressure, that is, lose events. Default false.
	AllowEviction bool
	// Silent is how long every consumer of a group must not have been heard of
	// before the group can be retired: one that works on what it took does not
	// read. Default 60 s.
	Silent time.Duration
	// AckPause is how long acks wait for a read to ride on. Default 5 ms.
	AckPause time.Duration
	// Log gets one line per change between working and failing. Default: nowhere.
	Log *slog.Logger
}

// Bus is the Redis bus. It is safe for concurrent use.
type Bus struct {
	client    *redis.Client
	opts      Options
	keys      keys
	publisher *publisher
	id        string // makes consumer names unique
	consumers atomic.Int64
	scanned   atomic.Bool // the streams that were there are known
}

var (
	_ bus.Bus       = (*Bus)(nil)
	_ bus.Trimmer   = (*Bus)(nil)
	_ bus.Shortener = (*Bus)(nil)
	_ bus.Groups    = (*Bus)(nil)
)

// New makes a bus from a redis:// or rediss:// URL. It does no I/O.
func New(url string, opts Options) (*Bus, error) {
	if !strings.HasPrefix(url, "redis://") && !strings.HasPrefix(url, "rediss://") {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open redis bus", Message: "the URL does not begin with redis:// or rediss://",
			Hint: "use redis://user:password@host:6379/0, or rediss:// for TLS",
		}
	}
	config, err := redis.ParseURL(url)
	if err != nil {
		// The cause may quote the URL with its password.
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open redis bus", Message: "the Redis URL cannot be read",
			Hint: "use redis://user:password@host:6379/0, or rediss:// for TLS",
		}
	}
	config.Protocol = 2
	config.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	config.ContextTimeoutEnabled = true
	config.DialerRetries = 1 // whoever may wait tries again, with pauses of its own
	if config.MaxRetries == 0 {
		config.MaxRetries = 1 // for a connection that died unnoticed
	}
	config.PoolSize = max(config.PoolSize, 512) // every consumer that waits occupies one; they are made when needed
	if opts.AckPause <= 0 {
		opts.AckPause = 5 * time.Millisecond
	}
	if opts.Silent <= 0 {
		opts.Silent = time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Name == "" {
		opts.Name, _ = os.Hostname() // only to be recognised; the random part makes it unique
	}
	client := redis.NewClient(config)
	names := keys{prefix: opts.Prefix, hashTag: opts.HashTag}
	return &Bus{
		client: client, opts: opts, keys: names, id: rand.Text(),
		publisher: &publisher{client: client, keys: names},
	}, nil
}

// Publish appends messages to their streams, in one pipeline, shared with others
// that publish at the same time.
func (b *Bus) Publish(ctx context.Context, messages []bus.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return unavailable("publish", b.publisher.publish(ctx, messages))
}

// Check reports whether the server answers and keeps what it is given.
func (b *Bus) Check(ctx context.Context) error {
	if err := b.client.Ping(ctx).Err(); err != nil {
		return unavailable("check bus", err)
	}
	if b.opts.AllowEviction {
		return nil
	}
	info, err := b.client.Info(ctx, "memory").Result()
	if err != nil {
		return unavailable("check bus", err)
	}
	if policy := infoField(info, "maxmemory_policy"); policy != "noeviction" {
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Op: "check bus",
			Message: "Redis has maxmemory-policy " + strconv.Quote(policy) + ", so it may drop events that nobody has read",
			Hint:    "set maxmemory-policy noeviction in Redis, or accept the loss by allowing eviction in the configuration",
		}
	}
	return nil
}

// Close closes the connections. Consumers must be closed before.
func (b *Bus) Close() error {
	return rondo.Op("close redis bus", b.client.Close())
}

func (b *Bus) consumerName() string {
	return b.opts.Name + "-" + b.id + "-" + strconv.FormatInt(b.consumers.Add(1), 10)
}

// infoField finds a line "name:value" in the answer to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func unavailable(op string, err error) error {
	if err == nil {
		return nil
	}
	return &rondo.Error{Code: rondo.CodeUnavailable, Op: op, Message: "Redis did not do it", Hint: "check that Redis runs and can be reached", Err: err}
}
