// Package chart is the statechart of conversations: XState v5's JSON configuration
// with XState's semantics, as a pure function of snapshot and event.
//
// # What it knows
//
// id, initial, context, states, on, target, guard, actions, always, after, entry,
// exit, type final with output, nested and parallel states, onDone, history
// (shallow and deep), wildcard events ("*" and "order.*"), reenter, meta, tags.
// Guards are expressions of internal/cond. Actions are assign, raise and
// raiseCaseEvent; any other name is refused when a machine is compiled.
//
// # Where it differs from XState
//
// What XState leaves undefined or takes by accident is refused by Compile: two
// states with one id, targets that cannot be active together, children or
// transitions of final states, history that leads to history, actors, named delays.
// Without an output of its own, a machine's output is that of its final state. A
// transition of after may say "timer": "remaining": when its state is entered again,
// the timer goes on with the time that was left when the state was left, instead of
// starting anew ("restart", the default and XState's way).
//
// Members of states, on and after are ordered as JavaScript orders them: names
// that are array indices first, by number, then the others as written.
//
// # Guarantees
//
//  1. A Machine is immutable and safe for concurrent use.
//  2. Start and Send do no I/O and read no clock; they never panic and always end:
//     the number of microsteps of one event is bounded.
//  3. A guard or selector that fails fails the call; the snapshot that came in is
//     never changed.
//  4. A Snapshot is whole: written as JSON and read again, it goes on as if it had
//     never been written.
//
// It imports the root package, internal/cond and internal/canon.
package chart

import (
	"encoding/json"
	"time"
)

// Event is what a machine is told.
type Event struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"` // event.payload in guards and selectors
}

// Scope is what guards and selectors can see beside context and event, and the
// time of the turn.
type Scope struct {
	Now time.Time
	// Root gives what else can be seen, such as turn and payload, when it is asked
	// for; nil = there is nothing.
	Root func(name string) (json.RawMessage, error)
}

// Snapshot is where a machine stands.
type Snapshot struct {
	Value   json.RawMessage            `json:"value"` // XState's state value: "a" or {"a":"b"} or {"r1":…,"r2":…}
	Context map[string]json.RawMessage `json:"context"`
	History map[string]json.RawMessage `json:"history,omitempty"` // by id of the history state: array of state ids
	Timers  []Timer                    `json:"timers,omitempty"`  // in the order they were set
	// Paused is the time left, in nanoseconds, of timers of the kind "remaining" whose
	// state was left before they fired, by id of the timer.
	Paused map[string]time.Duration `json:"paused,omitempty"`
	// Entered are the ids of the active states without children in the order they
	// were entered, which is the order their always transitions are asked in. nil =
	// document order.
	Entered []string        `json:"entered,omitempty"`
	Status  string          `json:"status"`           // active, done
	Output  json.RawMessage `json:"output,omitempty"` // of a machine that is done
}

// The statuses of a snapshot.
const (
	Active = "active"
	Done   = "done"
)

// Timer is an after transition that waits. It is fired with Machine.Fire at or
// after DueAt.
type Timer struct {
	ID    string    `json:"id"`    // "<state id>#<delay>": one per state and delay
	State string    `json:"state"` // id of the state that set it
	Event string    `json:"event"` // xstate.after.<delay>.<state id>
	DueAt time.Time `json:"dueAt"`
}

// Result is what one event did.
type Result struct {
	Snapshot Snapshot
	Handled  bool       // a transition was taken for the event itself, not only an always
	Changed  bool       // the state value is another one
	Effects  []Effect   // raiseCaseEvent actions, in order
	Asked    []Question // transitions that were asked, in order, with their guards; at most MaxAsked
	Path     []string   // ids of the states entered, in order
}

// Effect is an action whose doing is left to the caller.
type Effect struct {
	Type      string          `json:"type"` // raiseCaseEvent
	EventType string          `json:"eventType"`
	CaseID    string          `json:"caseId"`
	Payload   json.RawMessage `json:"payload"`
}

// Question is one transition that was considered.
type Question struct {
	State  string          `json:"state"` // id of the state that has it
	On     string          `json:"on"`    // descriptor: event, wildcard, after key, "" for always
	Index  int             `json:"index"` // place in its list
	Target []string        `json:"target,omitempty"`
	Guard  string          `json:"guard,omitempty"` // source text
	Passed bool            `json:"passed"`
	Taken  bool            `json:"taken"`
	Reason string          `json:"reason,omitempty"` // why one that passed was not taken
	Trace  json.RawMessage `json:"trace,omitempty"`
}
