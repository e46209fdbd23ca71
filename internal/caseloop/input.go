// Package caseloop is the engine loop of cases: gather → load → decide → commit
// → publish, ack and answer.
//
// Its unit of work is a batch. Processor.Apply takes the inputs of many cases,
// loads and locks them in one transaction, asks the pure machine (internal/flow)
// what each input means, and commits all of it at once; nothing leaves before
// that commit. Everything else here feeds Apply (queue, timers, inbound) or lets
// its effects out (relay). The pieces that touch ports are plain synchronous
// methods, driven by goroutines in production (Loop) and by a seeded scheduler
// in the simulation.
//
// It imports the core and the ports, never a driver.
package caseloop

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/flow"
)

// Input is one thing to apply to one case. Exactly one of Event, Command and
// Timer is set. An input that carries only dead letters has none of them.
type Input struct {
	Key     rondo.CaseKey
	Event   *Event
	Command *Command
	Timer   bool
	Resend  bool       // with Timer: the bus lost entries, open requests go out again
	Heal    bool       // with Timer: arm what live tokens need and have lost
	Job     *JobTicket // with Command: the job that it is part of; nil = none

	// Done is called once, after the commit that applied the input or after it
	// was given up. It must not block. Nil when nobody waits.
	Done func(Result)
}

// Event is an inbound event.
type Event struct {
	Envelope *event.Envelope
	Raw      json.RawMessage // as it arrived
	Relay    bool            // not from the bus: pass it on to its stream
	Copy     bool            // came on the bus as our own relayed copy: not a repeat when it is known
	// Replay judges the ledger row of the event again, in place: Envelope and Raw
	// are what is stored. Only an unmatched row can be replayed.
	Replay bool
}

// Command is an intervention on one instance.
type Command struct {
	InstanceID rondo.ID
	ProductID  string // of the case; supersede starts what is active for it
	Command    flow.Command
}

// JobTicket makes a command part of a bulk job. What became of the command, done
// or refused, is the job's result for its instance and is written in the same
// commit. When the job has a result for the instance already, nothing is done
// and the input is answered with CodeConflict.
type JobTicket struct {
	JobID rondo.ID
	OrgID string
}

// Result is what became of an input.
type Result struct {
	Outcome   rondo.Outcome   // events: the verdict, of the first delivery when Duplicate
	Duplicate bool            // events: the event id was known already
	Instance  *rondo.Instance // the instance after the input; nil when the case has none
	Verdict   string          // events: how a client drives its case; "" for a duplicate
	Reason    string          // events: what is wrong with it; "" for a duplicate
	Err       error           // refused, or not committed
}

func (in *Input) finish(r Result) {
	if in.Done != nil {
		in.Done(r)
	}
}

func (in *Input) eventKey() rondo.EventKey {
	return rondo.EventKey{OrgID: in.Key.OrgID, EventID: in.Event.Envelope.EventID}
}
