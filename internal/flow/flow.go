// Package flow is the case machine: one pure function that decides everything
// an instance does.
//
// Decide takes where a case stands, one input, the time and a source of ids, and
// returns what must be written and sent. It does no I/O, reads no clock, draws
// no randomness, starts no goroutine and logs nothing, so any behaviour can be
// replayed from its inputs. It never changes what it is given: the returned
// instance is a copy. The caller commits a Decision in one transaction and only
// then lets its effects out; a Decision that is not committed never happened.
// Raw JSON of the input is kept, not copied: whoever gives it must not change it
// afterwards.
//
// It imports the root package, event, internal/definition and internal/cond.
package flow

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Decide says what one input means for a case. The caller gives it inputs of one
// case one after the other, each with the state that the last one left.
func Decide(s State, in Input, env Env) Decision {
	switch in := in.(type) {
	case Event:
		return decideEvent(s, in, env)
	case *Event:
		return decideEvent(s, *in, env)
	case Command:
		return decideCommand(s, in, env)
	case *Command:
		return decideCommand(s, *in, env)
	case Timer:
		return decideTimer(s, in, env)
	case *Timer:
		return decideTimer(s, *in, env)
	}
	return Decision{}
}

// State is what is known of one case before an input.
type State struct {
	Instance *rondo.Instance      // nil = the case has none
	Snapshot *definition.Snapshot // drives Instance; nil iff Instance is nil
	Parked   []rondo.EventRecord  // the case's parked events, oldest first
	Start    *Start               // the definition a case.created would start; nil = none is active
	Launched time.Time            // when this Rondo was first launched: earlier cases are not picked up
}

// Start is an active definition ready to start instances.
type Start struct {
	DefinitionID rondo.ID
	Snapshot     *definition.Snapshot
}

// Env is what would otherwise be impure.
type Env struct {
	Now   time.Time
	NewID func() rondo.ID
	// Jitter returns a number in [0,1) for steps that ask for full jitter; nil = no jitter.
	Jitter func() float64
	// Known reports whether an event type is in the catalogue. One that the
	// snapshot does not use and that answers no kind of step is for other groups:
	// such events are noted. Nil = no type is.
	Known func(eventType string) bool
	// ParkedFor is how long an event waits for its case to begin; 0 = the constant
	// of that name.
	ParkedFor time.Duration
}

// Input is one thing that happens to a case: an Event, a Timer or a Command.
type Input interface{ input() }

// Event is an inbound event that was not seen before.
type Event struct {
	Envelope *event.Envelope
	Raw      json.RawMessage // the envelope as it arrived, kept in the ledger
	Relay    bool            // it came over HTTP or the embedded bus: pass it on to its stream
	Replay   bool            // an admin judges an unmatched row again: launch time does not apply
}

// Timer asks the machine to do whatever is due at Env.Now: service levels are
// announced, the deadline comes first, then, oldest first, retries, delays,
// timeouts and re-sends. Nothing due is a Decision that only re-arms WakeAt. Of a
// case without an instance the events go that have been parked for too long.
type Timer struct {
	// Resend publishes the request of every open attempt again, due or not: the
	// bus has lost what was on its way.
	Resend bool
	// Heal arms what every live token needs and has lost (see Unarmed).
	Heal bool
}

// Command is an intervention by a person. Fields that an action does not know
// stay zero. Supersede starts State.Start.
type Command struct {
	ID         rondo.ID // of the intervention's record; zero = a new one
	Action     string   // one of the rondo.Action words
	By         string
	Reason     string
	ReasonCode string            // halt; already checked to resolve for the org
	Note       string            // halt, complete_step
	StepID     string            // retry_step ("" = the halt step), skip_step, complete_step
	Input      json.RawMessage   // retry_step: members that replace those of the request
	Outcome    string            // skip_step, complete_step
	Output     json.RawMessage   // skip_step, complete_step
	Mode       rondo.Mode        // set_mode, supersede
	Target     *Start            // migrate
	StepMap    map[string]string // migrate: live step → step of the target
	Assignee   bool              // complete_step: By may do it only as one of the step's assignees
}

func (Event) input()   {}
func (Timer) input()   {}
func (Command) input() {}

// Decision is what one input means. The zero Decision changes nothing.
type Decision struct {
	// Instance is the new state, nil when unchanged. Version is already raised.
	Instance *rondo.Instance
	// Created says that Instance did not exist before.
	Created bool
	// Replaced is the instance that Instance takes the place of, cancelled: it is
	// written before Instance. Only supersede sets it.
	Replaced *rondo.Instance
	// Attributes are the searchable values that changed.
	Attributes []rondo.Attribute
	// Steps are attempts that ended, in order; each is written once.
	Steps []rondo.Step
	// Event is the ledger row of the input, nil for timers and commands. For a
	// replay it is the new verdict on the row that is there already.
	Event *rondo.EventRecord
	// Rejudged are parked events that got a final outcome, then those that stay
	// parked and got an instance or a verdict; each event once.
	Rejudged []rondo.EventRecord
	// Outbox are the events to send, in order (Seq unset).
	Outbox []rondo.Outgoing
	// Intervention is the record of a command.
	Intervention *rondo.Intervention
	// Healed counts what should have woken the instance, was not armed, and is now
	// (see Unarmed and Timer.Heal).
	Healed int
	// Refused says why a command was not done; then everything else is zero.
	Refused error
}
