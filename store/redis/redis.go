// Package redis keeps conversations in Redis: it is store.Conversations for
// installations that have REDIS_URL set.
//
// # Keys
//
// The names are a contract. Parts that come from outside are percent-encoded; in a
// cluster <id> stands in literal braces, so that everything about one conversation
// is in one slot. Every key has an expiry.
//
//	wf:<id>         string: the state as JSON, with its timers
//	conv:<id>       string: the conversation as JSON, without its history
//	hist:<id>       list: messages as JSON, oldest first
//	turns:<id>      hash: turn records as JSON, by number
//	cards:<id>      hash: cards as JSON, by id
//	lock:conv:<id>  string: token of the lease, which is its expiry
//	meta:<id>       hash: what scripts compare without reading JSON: tenant, user,
//	                version, expires (microseconds), attention, write (last one's mark)
//	key:<id>:<tenant>:<user>:<route>:<key>
//	                hash: a claimed idempotency key (token, fingerprint), and once
//	                finished its answer (status, body, expires)
//	keys:<id>       sorted set: names of finished keys, by their end; for erasing
//	timers:conv     sorted set: ids by the time of their attention, in ms
//	user:<tenant>:<user>:conversations
//	                sorted set: ids by updatedAt, in ms
//	idem:<tenant>:<user>:<route>:<key>
//	                string: the conversation that an idempotency key is about, and the
//	                token that claimed it, as JSON
//
// # Guarantees
//
// Those of store.Conversations, as durable as Redis is configured to be (an
// append-only file is recommended). How they are kept:
//
//  1. A turn is three round trips: Acquire and Commit are one script each, Load is
//     one pipeline. Commit checks token, version and key before it writes anything.
//     Turns that run at the same time share round trips.
//  2. A write carries a mark of its own, so that one whose answer was lost can be
//     sent again: it happens once. When that fails too the error is ambiguous.
//  3. On one server the script writes the indexes too. In a cluster they are in
//     other slots: they are written before it, never later than the truth, and made
//     exact after it. What is found there is a hint; a list checks each entry, and
//     entries of conversations that are gone are dropped when they are old enough
//     not to belong to one that is being created.
//  4. An idempotency key is claimed in the slot of its conversation first and then
//     pointed to by idem:…. So the script that commits can check the claim and
//     store the answer, and whoever comes with the same key later is led to it, also
//     when it was about a conversation whose id only the first caller knew. A claim
//     is never written again once it is pointed to: when it has ended it stays so.
//  5. Records of earlier versions load: a conversation with embedded history keeps
//     it until the first commit moves it to hist:<id>. A record without meta:<id>
//     is such a one.
//  6. A server that evicts keys would forget conversations: Check refuses it.
//
// Leases and claims end by the clock of Redis; conversations and answers by that or
// by the caller's, whichever is first.
//
// It needs Redis 6.2 and imports the root package, store, the Redis client and the JSON library. It
// starts goroutines only while calls are under way; Close waits for them.
package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Options configure a Store. The zero value works.
type Options struct {
	// Cluster says that the server is a Redis Cluster; further nodes are given in
	// the URL as ?addr=host:port. It changes the names of keys, so it is never
	// guessed; Check compares it with the server. Default false.
	Cluster bool
	// AllowEviction accepts a server that may evict conversations under memory
	// pressure. Default false.
	AllowEviction bool
	// Connections is how many are open at most, per node. Default: what the URL says
	// in pool_size, else 64.
	Connections int
}

// Store keeps conversations in Redis. It is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	opts   Options
	names  names
	batch  batch // of calls to one server; a cluster's are sent one by one
}

var _ store.Conversations = (*Store)(nil)

// defaultConnections is enough to keep one server busy: more only wait there.
const defaultConnections = 64

// Open makes a store from a redis:// or rediss:// URL. It does no I/O: Check tells
// whether the server can be used.
func Open(url string, opts Options) (*Store, error) {
	client, err := connect(url, opts)
	if err != nil {
		// The cause may quote the URL with its password.
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open redis store", Message: "the Redis URL cannot be read",
			Hint: "use redis://user:password@host:6379/0, or rediss:// for TLS",
		}
	}
	return &Store{client: client, opts: opts, names: names{cluster: opts.Cluster}, batch: batch{client: client}}, nil
}

// connect configures a client. Commands are not sent again behind our back: whether
// one that was lost may be repeated is decided in run.
func connect(url string, opts Options) (redis.UniversalClient, error) {
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if opts.Cluster {
		config, err := redis.ParseClusterURL(url)
		if err != nil {
			return nil, err
		}
		config.Protocol, config.MaintNotificationsConfig = 2, off
		config.ContextTimeoutEnabled = true
		config.PoolSize = connections(opts, config.PoolSize)
		return redis.NewClusterClient(config), nil
	}
	config, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	config.Protocol, config.MaintNotificationsConfig = 2, off
	config.ContextTimeoutEnabled = true
	config.DialerRetries = 1
	config.MaxRetries = -1
	config.PoolSize = connections(opts, config.PoolSize)
	return redis.NewClient(config), nil
}

func connections(opts Options, inURL int) int {
	switch {
	case opts.Connections > 0:
		return opts.Connections
	case inURL > 0:
		return inURL
	}
	return defaultConnections
}

// Check reports whether the server answers, is what Options say, and keeps what it
// is given.
func (s *Store) Check(ctx context.Context) error {
	const op = "check redis store"
	info, err := s.client.Info(ctx, "everything").Result()
	if err != nil {
		return failed(op, err)
	}
	if cluster := infoField(info, "cluster_enabled") == "1"; cluster != s.opts.Cluster {
		return &rondo.Error{
			Code: rondo.CodeInvalid, Op: op, Message: "Redis cluster mode is " + onOff(cluster) + " in the server and " + onOff(s.opts.Cluster) + " in the configuration",
			Hint: "say in the configuration whether Redis is a cluster: the names of keys depend on it",
		}
	}
	if policy := infoField(info, "maxmemory_policy"); policy != "noeviction" && !s.opts.AllowEviction {
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Op: op,
			Message: "Redis has maxmemory-policy " + strconv.Quote(policy) + ", so it may drop conversations",
			Hint:    "set maxmemory-policy noeviction in Redis, or accept the loss by allowing eviction in the configuration",
		}
	}
	return nil
}

// Close closes the connections and waits for what was under way.
func (s *Store) Close() error {
	err := s.client.Close()
	s.batch.close()
	return rondo.Op("close redis store", err)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
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
