// Package bus is the port to whatever carries events between Rondo and its
// modules: one stream per event type, consumer groups that share the entries of
// a stream, at-least-once delivery.
//
// # Guarantees every driver gives (package bustest checks them)
//
//  1. Publish returns nil only when every message is as durable as the driver
//     promises. An error means unknown: the caller publishes again, consumers
//     dedup by event id.
//  2. A group sees every entry published to its streams since the stream began
//     (groups start at 0, never at the end), each at least once, first
//     deliveries in publish order per stream.
//  3. An entry delivered to one consumer of a group is not given to another
//     until it is acked or its AckWait has passed; then it comes again, to
//     anyone, with a higher Attempt.
//  4. Ack is idempotent and may be lost by a crash: the entry comes again.
//  5. Nothing that a registered group has not acked is ever trimmed.
//  6. A stream or group that vanishes (flush, restart without persistence) is
//     created again without a restart of Rondo.
package bus

import (
	"context"
	"time"

	"github.com/rondo-engine/rondo"
)

// Message is one event to publish.
type Message struct {
	Stream   string // the event type; drivers add their own key prefix
	EventID  rondo.ID
	Envelope []byte
	Relayed  bool // an inbound event passed on by the orchestrator itself
	Own      bool // the orchestrator's own words on a stream that it listens to as well
}

// Delivery is one entry given to a consumer.
type Delivery struct {
	Stream   string
	EntryID  string // the driver's own id; what Ack takes
	Envelope []byte // read only: it may be shared with other groups
	Relayed  bool
	Own      bool // as published; only drivers that the orchestrator consumes from tell it
	Attempt  int  // 1 on first delivery; a driver may begin again at 1 after a restart
}

// Publisher sends messages, pipelined, in the given order per stream. It is safe
// for concurrent use; calls at the same time may share a round trip.
type Publisher interface {
	Publish(ctx context.Context, messages []Message) error
}

// Bus is a publisher that also delivers. Drivers also are a Trimmer and a
// Groups.
type Bus interface {
	Publisher
	// Subscribe joins a group. The streams of a group may differ from consumer
	// to consumer. The consumer stops when closed; ctx bounds the call only.
	Subscribe(ctx context.Context, sub Subscription) (Consumer, error)
	// Check reports whether the bus can be used now, for readiness.
	Check(ctx context.Context) error
	// Close releases connections; consumers must be closed before.
	Close() error
}

// Trimmer is a bus that keeps entries until they are old and acked by everyone.
type Trimmer interface {
	// Trim removes what is older than the time and acked by every group, and
	// returns how many entries went.
	Trim(ctx context.Context, before time.Time) (int64, error)
}

// Shortener is a bus whose streams cost memory and can be kept short. A stream
// that stays long after Shorten has a group that does not ack.
type Shortener interface {
	// Shorten removes, from every stream that has more than above entries, the
	// oldest that all its groups have acked, of whatever age, until keep are left.
	// It returns how many entries each stream has then. Much may take several
	// calls. Streams that only others publish to may be unknown to it.
	Shorten(ctx context.Context, above, keep int64) (lengths map[string]int64, err error)
}

// Groups is a bus that knows its consumer groups.
type Groups interface {
	// Lag tells how far every group is behind, by stream. Streams without groups
	// have no entry.
	Lag(ctx context.Context) (map[string][]GroupLag, error)
	// Retire makes a group leave all its streams for good, so that what it has not
	// acked holds back no trimming; it starts over if someone joins it again. A
	// group that someone reads is CodeWrongState, an unknown one CodeNotFound.
	Retire(ctx context.Context, group string) error
}

// Subscription says what a consumer wants.
type Subscription struct {
	Group   string
	Streams []string
	// AckWait is how long a delivery may stay unacked before it comes again.
	// Default 60 s. It must exceed the time a handler takes.
	AckWait time.Duration
}

// Consumer receives the entries of a group. It is safe for concurrent use. An
// outage of the driver's server or database is no error of Fetch: it waits until
// that is over or ctx ends.
type Consumer interface {
	// Fetch returns between 1 and limit deliveries, waiting for the first until
	// ctx ends. Entries that are already there are returned together.
	Fetch(ctx context.Context, limit int) ([]Delivery, error)
	// Ack marks entries done. It returns at once; storing it may be batched with
	// later ones.
	Ack(ctx context.Context, deliveries []Delivery) error
	// Close stops fetching and flushes acks. Unacked entries go to others.
	Close() error
}

// GroupLag is how far a group is behind on one stream.
type GroupLag struct {
	Group   string
	Unread  int64 // entries not delivered yet; -1 when the driver cannot tell
	Pending int64 // entries delivered and not acked
}
