package caseloop

import (
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// batch is one run of Apply. decide may be called more than once, so it starts
// from nothing each time.
type batch struct {
	processor *Processor
	inputs    []*Input
	again     bool // after an ambiguous commit: known events are answered, not counted
	sent      []int64
	acks      []store.GroupState

	write      *store.Write
	results    []Result
	decided    []Decided
	cases      map[rondo.CaseKey]*caseWork
	fresh      map[rondo.EventKey]int           // ledger rows of this batch, by position in write.Events
	replayed   map[rondo.EventKey]rondo.Outcome // stored rows that this batch judged again
	attributes map[attributeKey]int             // by position in write.Attributes
}

// caseWork is one case while a batch is being decided.
type caseWork struct {
	state    flow.State
	previous int64 // stored version; 0 = to be inserted
	position int   // of its entry in write.Instances, -1 = none yet
}

func (b *batch) load() store.Load {
	load := store.Load{Cases: make([]rondo.CaseKey, 0, len(b.inputs))}
	for _, in := range b.inputs {
		load.Cases = append(load.Cases, in.Key)
		if in.Event != nil {
			load.Events = append(load.Events, in.eventKey())
		}
		if key, starts := in.startKey(); starts {
			load.Starts = append(load.Starts, key)
		}
	}
	return load
}

// startKey says which definition an input may start, if it may start one.
func (in *Input) startKey() (store.StartKey, bool) {
	switch {
	case in.Event != nil && in.Event.Envelope.Type == event.TypeCaseCreated:
		return store.StartKey{OrgID: in.Key.OrgID, ProductID: in.Event.Envelope.ProductID}, true
	case in.Command != nil && in.Command.Command.Action == string(rondo.ActionSupersede):
		return store.StartKey{OrgID: in.Key.OrgID, ProductID: in.Command.ProductID}, true
	}
	return store.StartKey{}, false
}

func (b *batch) decide(loaded *store.Loaded) (*store.Write, error) {
	if missing := b.processor.Snapshots.unknown(loaded); len(missing) > 0 {
		return nil, missing
	}
	b.write = &store.Write{Sent: b.sent, Acks: b.acks}
	b.results = make([]Result, len(b.inputs))
	b.decided = b.decided[:0]
	b.cases = make(map[rondo.CaseKey]*caseWork, len(b.inputs))
	b.fresh = make(map[rondo.EventKey]int, len(b.inputs))
	b.replayed, b.attributes = nil, nil
	env := flow.Env{Now: stored(b.processor.Now()), NewID: b.processor.NewID, Jitter: b.processor.Jitter, Known: event.Known, ParkedFor: b.processor.ParkedFor}
	for i, in := range b.inputs {
		work, err := b.work(loaded, in)
		if err != nil {
			return nil, err
		}
		result, err := b.decideOne(loaded, work, in, env)
		if err != nil {
			return nil, err
		}
		if in.Job != nil {
			b.write.JobResults = append(b.write.JobResults, jobResult(in, result, env.Now))
		}
		result.Instance = work.state.Instance
		b.results[i] = result
	}
	return b.write, nil
}

// jobResult is what a job did to one instance.
func jobResult(in *Input, r Result, now time.Time) rondo.JobResult {
	result := rondo.JobResult{JobID: in.Job.JobID, OrgID: in.Job.OrgID, Outcome: rondo.JobApplied, At: now}
	if in.Command != nil {
		result.InstanceID = in.Command.InstanceID
	}
	if r.Err != nil {
		result.Outcome, result.Detail = rondo.JobRefused, r.Err.Error()
	}
	return result
}

// stored drops what the stores do not keep, so that decisions see the same
// times before and after a reload.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// work returns the case of an input as the batch has left it so far.
func (b *batch) work(loaded *store.Loaded, in *Input) (*caseWork, error) {
	if work, ok := b.cases[in.Key]; ok {
		return work, nil
	}
	found := loaded.Cases[in.Key]
	work := &caseWork{position: -1, state: flow.State{Instance: found.Instance, Parked: found.Parked, Launched: b.processor.Launched}}
	if found.Instance != nil {
		snapshot, err := b.processor.Snapshots.Known(found.Instance.SnapshotHash)
		if err != nil {
			return nil, err
		}
		work.state.Snapshot = snapshot
		work.previous = found.Instance.Version
	}
	b.cases[in.Key] = work
	return work, nil
}

func (b *batch) decideOne(loaded *store.Loaded, work *caseWork, in *Input, env flow.Env) (Result, error) {
	input, answer := b.read(loaded, work, in)
	if input == nil {
		return answer, nil
	}
	if err := b.prepareStart(loaded, work, in); err != nil {
		return Result{}, err
	}
	before := work.state
	decision, err := decideSafely(before, input, env)
	if err != nil {
		return Result{}, err
	}
	if decision.Refused != nil {
		return Result{Err: decision.Refused}, nil //nolint:nilerr // a refusal answers its caller and does not fail the batch
	}
	var result Result
	if decision.Event != nil {
		result.Outcome, result.Verdict, result.Reason = decision.Event.Outcome, decision.Event.Verdict, decision.Event.Error
	}
	b.fold(work, in, decision)
	b.decided = append(b.decided, Decided{Before: before.Instance, Decision: decision, Healed: in.Heal && len(Flaws(before.Instance, before.Snapshot, env.Now)) > 0})
	return result, nil
}

// read turns an input into one of the machine's, or answers it without asking
// the machine.
func (b *batch) read(loaded *store.Loaded, work *caseWork, in *Input) (flow.Input, Result) {
	switch {
	case in.Event != nil:
		outcome, known := b.known(loaded, in)
		switch {
		case in.Event.Replay:
			return b.readReplay(in, outcome, known)
		case known:
			if !b.again && !in.Event.Copy {
				b.write.Duplicates = append(b.write.Duplicates, in.eventKey())
			}
			return nil, Result{Outcome: outcome, Duplicate: !b.again}
		}
		return flow.Event{Envelope: in.Event.Envelope, Raw: in.Event.Raw, Relay: in.Event.Relay}, Result{}
	case in.Command != nil:
		if work.state.Instance == nil || work.state.Instance.ID != in.Command.InstanceID {
			return nil, Result{Err: rondo.WrongState("the instance was replaced by a newer one of the same case")}
		}
		return in.Command.Command, Result{}
	case in.Timer && (work.state.Instance != nil || len(work.state.Parked) > 0 && !in.Heal):
		return flow.Timer{Resend: in.Resend, Heal: in.Heal}, Result{}
	}
	return nil, Result{}
}

// readReplay refuses to judge again what was not unmatched. After an ambiguous
// commit a row that is no longer unmatched was replayed by that commit.
func (b *batch) readReplay(in *Input, outcome rondo.Outcome, known bool) (flow.Input, Result) {
	switch {
	case !known:
		return nil, Result{Err: rondo.NotFound("event")}
	case outcome == rondo.OutcomeUnmatched:
		return flow.Event{Envelope: in.Event.Envelope, Raw: in.Event.Raw, Replay: true}, Result{}
	case b.again:
		return nil, Result{Outcome: outcome}
	}
	refusal := rondo.WrongState(fmt.Sprintf("the event is %s, which does not allow a replay", outcome))
	refusal.Hint = "only unmatched events can be replayed"
	return nil, Result{Outcome: outcome, Err: refusal}
}

// decideSafely keeps a defect of the machine from taking the process down: the
// batch fails, is split, and the one input that cannot be decided fails alone.
func decideSafely(state flow.State, input flow.Input, env flow.Env) (d flow.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &rondo.Error{Code: rondo.CodeInternal, Op: "decide", Message: fmt.Sprintf("the case machine failed: %v", r)}
		}
	}()
	return flow.Decide(state, input, env), nil
}

// known reports the outcome of an event that is in the ledger already.
func (b *batch) known(loaded *store.Loaded, in *Input) (rondo.Outcome, bool) {
	key := in.eventKey()
	if position, ok := b.fresh[key]; ok {
		return b.write.Events[position].Outcome, true
	}
	if outcome, ok := b.replayed[key]; ok {
		return outcome, true
	}
	seen, ok := loaded.Seen[key]
	return seen.Outcome, ok
}

// prepareStart puts the definition that the input would start into the state.
func (b *batch) prepareStart(loaded *store.Loaded, work *caseWork, in *Input) error {
	work.state.Start = nil
	key, starts := in.startKey()
	if !starts || in.Event != nil && work.state.Instance != nil {
		return nil
	}
	active, ok := loaded.Active[key]
	if !ok {
		return nil
	}
	snapshot, err := b.processor.Snapshots.Known(active.SnapshotHash)
	if err != nil {
		return err
	}
	work.state.Start = &flow.Start{DefinitionID: active.DefinitionID, Snapshot: snapshot}
	return nil
}
