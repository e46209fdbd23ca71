package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
)

// Conversations keeps conversations. Drivers are redis, the SQL drivers and
// memory; storetest.Conversations is their conformance suite. Which one is used is
// chosen once, at start.
//
// # Guarantees every driver gives
//
//  1. Create and Commit are atomic: everything of a write is there, or nothing is.
//     Only an error for which Ambiguous reports true may have been written.
//  2. A Commit whose token is not the lease's any more, or whose Previous is not the
//     stored version, writes nothing and returns ErrLeaseLost or ErrConflict.
//  3. A conversation that does not exist, has expired, or belongs to another tenant
//     or user is CodeConversationNotFound, all alike, and its lease is not touched.
//  4. Everything about a conversation expires at Write.ExpiresAt, pushed back by
//     Acquire too; nothing is left behind then, index entries are hints that are
//     dropped when they are found stale.
//  5. A record that cannot be read is CodeStateCorrupt, never taken for a missing
//     one. Older records with missing members load.
//  6. What one turn costs does not depend on how long the conversation is.
//
// Times come from the caller's clock (At); Redis expires keys by its own.
type Conversations interface {
	// Create writes a conversation that is not there yet, with lease or without;
	// CodeConflict when the id is taken.
	Create(ctx context.Context, w *ConversationWrite) error
	// Acquire takes the lease: in one step it checks that the conversation is there
	// and the owner's, that nobody holds the lease, and pushes the expiry back. A
	// lease that is held is a *BusyError.
	Acquire(ctx context.Context, a AcquireConversation) error
	// Load reads record and state of a conversation whose lease the caller holds.
	Load(ctx context.Context, id string, at time.Time) (*StoredConversation, error)
	// Renew prolongs a lease to at + d, or returns ErrLeaseLost.
	Renew(ctx context.Context, lease Lease, at time.Time, d time.Duration) error
	// Release gives a lease back. One that is not held any more is left alone.
	Release(ctx context.Context, lease Lease) error
	// Commit writes a turn and gives the lease back, in one step.
	Commit(ctx context.Context, w *ConversationWrite) error
	// Delete erases a conversation with everything about it, under its lease.
	Delete(ctx context.Context, owner Owner, lease Lease) error

	// Conversation reads without a lease, for its owner. It does not push the
	// expiry back.
	Conversation(ctx context.Context, owner Owner, at time.Time) (*StoredConversation, error)
	// ConversationList lists what a user has, by UpdatedAt, newest first.
	ConversationList(ctx context.Context, tenant, user string, at time.Time, page ConversationPage) ([]rondo.Conversation, error)
	// History returns messages oldest first: the newest limit ones of those before
	// the number before (0 = all); numbers count from 1. first is the number of the
	// first one returned, 0 when there is none. No owner is checked.
	History(ctx context.Context, id string, at time.Time, before, limit int) (messages []rondo.NormalizedMessage, first int, err error)
	// Turns returns turn records oldest first, those with numbers after the given
	// one. Turn returns one, or CodeNotFound. No owner is checked.
	Turns(ctx context.Context, id string, at time.Time, after, limit int) ([]rondo.TurnRecord, error)
	Turn(ctx context.Context, id string, at time.Time, number int) (rondo.TurnRecord, error)
	// Card says what is known of a card of the conversation; nil when it was never
	// issued there. No owner is checked.
	Card(ctx context.Context, id string, at time.Time, cardID string) (*rondo.Card, error)

	// DueConversations returns conversations whose Attention is due, the longest
	// due first. They are hints: acquire, load and look. PutOff moves the attention
	// of one that could not be served now, or drops it (zero time) when the
	// conversation is gone.
	DueConversations(ctx context.Context, at time.Time, limit int) ([]string, error)
	PutOff(ctx context.Context, id string, until time.Time) error

	// BeginKey claims an idempotency key before any effect. With another body it is
	// CodeKeyReused. State says whether the claim is ours, is someone else's that is
	// still running, or has a result.
	BeginKey(ctx context.Context, claim KeyClaim) (KeyState, error)
	// RenewKey prolongs a claim that is ours; ErrLeaseLost when it is not any more.
	RenewKey(ctx context.Context, key ConversationKey, token string, at time.Time, d time.Duration) error
	// DropKey forgets a claim that is ours and has no result.
	DropKey(ctx context.Context, key ConversationKey, token string) error

	// ExpireConversations removes what expired before at, at most limit
	// conversations and keys each, and returns how many rows went. Drivers whose
	// database forgets by itself do nothing.
	ExpireConversations(ctx context.Context, at time.Time, limit int) (int, error)
}

// Owner names a conversation as its owner may: tenant and user come from the
// token.
type Owner struct {
	TenantID string
	UserID   string
	ID       string
}

// Lease is the right to change one conversation.
type Lease struct {
	ID    string
	Token string // random, new for every lease
}

// AcquireConversation asks for a lease.
type AcquireConversation struct {
	Owner Owner
	// System skips the check of the owner: a timer or a relay acts for nobody.
	System    bool
	Token     string
	At        time.Time
	Lease     time.Duration
	ExpiresAt time.Time // the new expiry, unless the stored one is later; zero = leave it
}

// BusyError says that someone else holds the lease.
type BusyError struct{ RetryAfter time.Duration }

// Error says so.
func (e *BusyError) Error() string { return "store: the conversation is busy" }

// ErrLeaseLost says that the lease is another's by now, or ran out.
var ErrLeaseLost = errors.New("store: the lease was lost")

// StoredConversation is a conversation without its history.
type StoredConversation struct {
	Conversation rondo.Conversation
	State        rondo.ConversationState
	ExpiresAt    time.Time
}

// ConversationWrite is everything one turn makes durable.
type ConversationWrite struct {
	Conversation rondo.Conversation
	State        rondo.ConversationState // its Version is Previous + 1
	Previous     int64                   // the version it was decided on; 0 for Create
	Lease        Lease                   // Commit: must be held
	At           time.Time
	ExpiresAt    time.Time
	Attention    time.Time // when the engine must look at it by itself; zero = never

	Messages []rondo.NormalizedMessage // appended to the history
	Turn     *rondo.TurnRecord         // stored under its number, unless nil
	Cards    []rondo.Card              // issued, or submitted now: replaces what is stored under the id
	Key      *KeyResult                // finishes an idempotency claim that must still be ours, else ErrLeaseLost
}

// ConversationKey is an idempotency key in its scope.
type ConversationKey struct {
	TenantID string
	UserID   string
	Route    string // method, path and query
	Key      string
}

// KeyClaim claims a key.
type KeyClaim struct {
	Key            ConversationKey
	Token          string // random
	Fingerprint    string // SHA-256 of the canonical body, in hex
	ConversationID string // that the effect is about, or will create
	At             time.Time
	Lease          time.Duration
}

// KeyState is what a claim met.
type KeyState struct {
	Ours       bool // the claim is ours now
	RetryAfter time.Duration
	Result     *KeyResult // finished before: its answer
}

// KeyResult is the answer under a key.
type KeyResult struct {
	Key         ConversationKey
	Token       string
	Fingerprint string
	Status      int
	Body        json.RawMessage
	ExpiresAt   time.Time
}

// ConversationPage is a page of a list: what was updated before the given place.
type ConversationPage struct {
	Before   time.Time // zero = from the newest
	BeforeID string    // breaks ties: ids below it, of those updated at Before
	Limit    int
}
