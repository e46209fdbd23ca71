package rondo

import (
	"encoding/json"
	"time"
)

// Outcome is Rondo's verdict on one inbound event.
type Outcome string

// The outcomes of an inbound event.
const (
	OutcomeApplied   Outcome = "applied"   // it moved its case
	OutcomeStale     Outcome = "stale"     // no open attempt has its correlation id
	OutcomeParked    Outcome = "parked"    // kept until the case can use it
	OutcomeRepeated  Outcome = "repeated"  // says again what is already known
	OutcomeNoted     Outcome = "noted"     // kept for the record, moves nothing
	OutcomeUnmatched Outcome = "unmatched" // no definition, instance or step wants it
	OutcomeRejected  Outcome = "rejected"  // contradicts its case, e.g. another product
)

// EventRecord is the ledger row of one inbound event: the inbox. There is one
// per (org, event id), written in the transaction that applies the event; a
// repeat only raises Duplicates.
type EventRecord struct {
	ID         ID
	OrgID      string
	EventID    ID
	CaseID     string
	InstanceID ID // zero = none
	Type       string
	Envelope   json.RawMessage
	ReceivedAt time.Time
	Processed  bool // false only while parked
	Outcome    Outcome
	Duplicates int
	// Verdict says, in client-driven mode, how the event came: on_path, early,
	// skipped_gate, repeated or unknown. What was parked keeps the verdict it came
	// with, also when it is used or grows stale; only when its last word is that it
	// repeats what is known, or that nothing can use it (unmatched, rejected), does it
	// become repeated or unknown. "" = nobody drives the case, or it has not begun.
	Verdict string
	// Error says why it was unmatched, rejected or, for want of an attempt that it
	// could answer or a match that holds, stale; and of one that was applied how it
	// broke its step's contract. "" otherwise. It begins with a code.
	Error string
}

// EventKey identifies an inbound event.
type EventKey struct {
	OrgID   string
	EventID ID
}

// Outgoing is one event on its way out: a row of the outbox. It is committed
// with the state that caused it and only then published, at least once, in
// commit order per instance.
type Outgoing struct {
	Seq        int64  // assigned by the store, rises in commit order per case
	Stream     string // the event type
	OrgID      string
	EventID    ID
	InstanceID ID              // zero for relayed events without an instance
	Envelope   json.RawMessage // the whole envelope as it goes on the wire
	CreatedAt  time.Time
	Relayed    bool // an inbound event passed on; the orchestrator skips its own copy
}

// Intervention records what a person did to an instance.
type Intervention struct {
	ID          ID
	OrgID       string
	InstanceID  ID
	Action      string // retry_step, resume, halt, cancel, …
	PerformedBy string
	Reason      string
	Before      json.RawMessage
	After       json.RawMessage
	CreatedAt   time.Time
}

// DeadLetter is an inbound entry that can never be applied: not an envelope, of
// unknown type, or too large. It is kept until a person decides.
type DeadLetter struct {
	ID         ID
	OrgID      string // "" when the entry does not say whose it is
	Stream     string
	EntryID    string // the bus's own id of the entry
	Body       []byte
	Reason     string // why, with everything that is wrong with it
	ReceivedAt time.Time

	Status    DeadLetterStatus
	SettledBy string    // who replayed or discarded it
	Note      string    // why
	SettledAt time.Time // zero while open
}

// DeadLetterStatus is what a person made of a dead letter.
type DeadLetterStatus string

// The states of a dead letter. Only an open one can be replayed or discarded.
const (
	DeadLetterOpen      DeadLetterStatus = "open"
	DeadLetterReplayed  DeadLetterStatus = "replayed"
	DeadLetterDiscarded DeadLetterStatus = "discarded"
)
