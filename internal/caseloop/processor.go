package caseloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// Processor turns batches of inputs into commits. It holds no state of its own
// about cases: every batch loads what it needs, so that a process can be killed
// and any number of replicas can work on the same store.
type Processor struct {
	Store     store.Cases
	Snapshots *Snapshots
	Launched  time.Time
	Now       func() time.Time
	NewID     func() rondo.ID
	Jitter    func() float64
	// Lazy returns work that rides along with the next commit: published outbox
	// rows to remove, group positions to store. Restore gives it back when that
	// commit did not happen. Both may be nil.
	Lazy    func() (sent []int64, acks []store.GroupState)
	Restore func(sent []int64, acks []store.GroupState)
	// Release lets the events of a commit out. It must not block for long: it is
	// called between commits.
	Release func(committed []rondo.Outgoing)
	// Doubt is told that a commit may have happened without being released; nil =
	// nobody needs to know.
	Doubt func()
	// Observe is told about every commit; nil = nobody listens.
	Observe func(Batch)
}

// Batch describes one commit to an observer.
type Batch struct {
	Inputs    int
	Took      time.Duration
	Decisions []Decided
	Outbox    []rondo.Outgoing
}

// Decided is one decision of a committed batch with the state before it.
type Decided struct {
	Before   *rondo.Instance // nil = the case had none
	Decision flow.Decision
}

// Apply commits the inputs and answers each of them. Inputs of one case are
// applied in the given order. When the whole batch cannot be committed because
// of something in it, halves are tried on their own, so that one bad input fails
// alone; when the store cannot be reached every input fails.
func (p *Processor) Apply(ctx context.Context, inputs []*Input) {
	p.apply(ctx, inputs, false)
}

func (p *Processor) apply(ctx context.Context, inputs []*Input, again bool) {
	b := batch{processor: p, inputs: inputs, again: again}
	if p.Lazy != nil {
		b.sent, b.acks = p.Lazy()
	}
	started := p.Now()
	committed, err := p.update(ctx, &b)
	if err == nil {
		outbox := numbered(b.write.Outbox, committed.Seqs)
		if len(outbox) > 0 && p.Release != nil {
			p.Release(outbox)
		}
		if p.Observe != nil {
			p.Observe(Batch{Inputs: len(inputs), Took: p.Now().Sub(started), Decisions: b.decided, Outbox: outbox})
		}
		for i, in := range inputs {
			in.finish(b.results[i])
		}
		return
	}
	if p.Restore != nil {
		p.Restore(b.sent, b.acks)
	}
	if errors.Is(err, store.ErrAmbiguous) && p.Doubt != nil {
		p.Doubt()
	}
	switch {
	case errors.Is(err, store.ErrAmbiguous) && !again && ctx.Err() == nil:
		p.reconcile(ctx, inputs)
	case len(inputs) > 1 && divisible(err) && ctx.Err() == nil:
		half := len(inputs) / 2
		p.apply(ctx, inputs[:half], again)
		p.apply(ctx, inputs[half:], again)
	default:
		for _, in := range inputs {
			in.finish(Result{Err: rondo.Op("commit", err)})
		}
	}
}

// update commits the batch. Snapshots that this process has not compiled yet are
// read between tries, never by decide: a read inside the transaction could wait
// for the transaction itself.
func (p *Processor) update(ctx context.Context, b *batch) (store.Committed, error) {
	for {
		committed, err := p.Store.Update(ctx, b.load(), b.decide)
		missing, ok := errors.AsType[unknownSnapshotsError](err)
		if !ok {
			return committed, err
		}
		for _, hash := range missing {
			if _, err := p.Snapshots.Get(ctx, hash); err != nil {
				return store.Committed{}, err
			}
		}
	}
}

// numbered gives the events of a commit the numbers that the store assigned and
// leaves out those that it did not keep (number 0: relayed events that nobody
// listens to).
func numbered(outbox []rondo.Outgoing, seqs []int64) []rondo.Outgoing {
	kept := outbox[:0]
	for i, out := range outbox {
		if out.Seq = seqs[i]; out.Seq != 0 {
			kept = append(kept, out)
		}
	}
	return kept
}

// reconcile handles a batch whose commit may or may not have happened. Events
// and timers are applied again: the ledger and the machine make that harmless.
// A command cannot be told from its own repetition, so its caller must look.
func (p *Processor) reconcile(ctx context.Context, inputs []*Input) {
	retry := make([]*Input, 0, len(inputs))
	for _, in := range inputs {
		if in.Command != nil {
			in.finish(Result{Err: &rondo.Error{
				Code:    rondo.CodeUnavailable,
				Message: "the connection to the database broke while the action was being stored",
				Hint:    "read the instance to see whether the action was done before trying again",
				Err:     store.ErrAmbiguous,
			}})
			continue
		}
		retry = append(retry, in)
	}
	if len(retry) > 0 {
		p.apply(ctx, retry, true)
	}
}

// divisible reports whether parts of a failed batch may succeed on their own.
func divisible(err error) bool {
	code := rondo.CodeOf(err)
	return code != rondo.CodeUnavailable && !errors.Is(err, store.ErrAmbiguous) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// batch is one run of Apply. decide may be called more than once, so it starts
// from nothing each time.
type batch struct {
	processor *Processor
	inputs    []*Input
	again     bool // after an ambiguous commit: known events are answered, not counted
	sent      []int64
	acks      []store.GroupState

	write   *store.Write
	results []Result
	decided []Decided
	cases   map[rondo.CaseKey]*caseWork
	fresh   map[rondo.EventKey]int // ledger rows of this batch, by position in write.Events
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
		if in.Event == nil {
			continue
		}
		load.Events = append(load.Events, in.eventKey())
		if in.Event.Envelope.Type == event.TypeCaseCreated {
			load.Starts = append(load.Starts, startKey(in))
		}
	}
	return load
}

func startKey(in *Input) store.StartKey {
	return store.StartKey{OrgID: in.Key.OrgID, ProductID: in.Event.Envelope.ProductID}
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
	env := flow.Env{Now: stored(b.processor.Now()), NewID: b.processor.NewID, Jitter: b.processor.Jitter, Known: event.Known}
	for i, in := range b.inputs {
		work, err := b.work(loaded, in)
		if err != nil {
			return nil, err
		}
		result, err := b.decideOne(loaded, work, in, env)
		if err != nil {
			return nil, err
		}
		result.Instance = work.state.Instance
		b.results[i] = result
	}
	return b.write, nil
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
	var input flow.Input
	switch {
	case in.Event != nil:
		if outcome, known := b.known(loaded, in); known {
			if !b.again && !in.Event.Copy {
				b.write.Duplicates = append(b.write.Duplicates, in.eventKey())
			}
			return Result{Outcome: outcome, Duplicate: !b.again}, nil
		}
		if err := b.prepareStart(loaded, work, in); err != nil {
			return Result{}, err
		}
		input = flow.Event{Envelope: in.Event.Envelope, Raw: in.Event.Raw, Relay: in.Event.Relay}
	case in.Command != nil:
		if work.state.Instance == nil || work.state.Instance.ID != in.Command.InstanceID {
			return Result{Err: rondo.WrongState("the instance was replaced by a newer one of the same case")}, nil
		}
		input = in.Command.Command
	case in.Timer:
		if work.state.Instance == nil {
			return Result{}, nil
		}
		input = flow.Timer{Resend: in.Resend}
	default:
		return Result{}, nil
	}
	before := work.state.Instance
	decision, err := decideSafely(work.state, input, env)
	if err != nil {
		return Result{}, err
	}
	if decision.Refused != nil {
		return Result{Err: decision.Refused}, nil //nolint:nilerr // a refusal answers its caller and does not fail the batch
	}
	var result Result
	if decision.Event != nil {
		result.Outcome, result.Reason = decision.Event.Outcome, decision.Event.Error
	}
	b.fold(work, decision)
	b.decided = append(b.decided, Decided{Before: before, Decision: decision})
	return result, nil
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
	seen, ok := loaded.Seen[key]
	return seen.Outcome, ok
}

// prepareStart puts the definition that the event would start into the state.
func (b *batch) prepareStart(loaded *store.Loaded, work *caseWork, in *Input) error {
	work.state.Start = nil
	if in.Event.Envelope.Type != event.TypeCaseCreated || work.state.Instance != nil {
		return nil
	}
	active, ok := loaded.Active[startKey(in)]
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

// fold adds a decision to the write and moves the case on for later inputs.
func (b *batch) fold(work *caseWork, d flow.Decision) {
	w := b.write
	if d.Instance != nil {
		if d.Created {
			work.state.Snapshot = work.state.Start.Snapshot
		}
		work.state.Instance = d.Instance
		if work.position < 0 {
			work.position = len(w.Instances)
			w.Instances = append(w.Instances, store.InstanceWrite{Previous: work.previous})
		}
		w.Instances[work.position].Instance = d.Instance
	}
	w.Steps = append(w.Steps, d.Steps...)
	w.Outbox = append(w.Outbox, d.Outbox...)
	if d.Intervention != nil {
		w.Interventions = append(w.Interventions, *d.Intervention)
	}
	if d.Event != nil {
		b.record(work, *d.Event)
	}
	for _, row := range d.Rejudged {
		b.rejudge(work, row)
	}
}

func (b *batch) record(work *caseWork, row rondo.EventRecord) {
	b.fresh[rondo.EventKey{OrgID: row.OrgID, EventID: row.EventID}] = len(b.write.Events)
	b.write.Events = append(b.write.Events, row)
	if row.Outcome == rondo.OutcomeParked {
		parked := work.state.Parked
		work.state.Parked = append(slices.Clip(parked), row)
	}
}

// rejudge gives a parked event its final outcome: in the ledger, or in this very
// write when it was parked by an earlier input of the batch.
func (b *batch) rejudge(work *caseWork, row rondo.EventRecord) {
	if position, ok := b.fresh[rondo.EventKey{OrgID: row.OrgID, EventID: row.EventID}]; ok {
		b.write.Events[position] = row
	} else {
		b.write.Rejudged = append(b.write.Rejudged, row)
	}
	still := make([]rondo.EventRecord, 0, len(work.state.Parked))
	for _, parked := range work.state.Parked {
		if parked.EventID != row.EventID {
			still = append(still, parked)
		}
	}
	work.state.Parked = still
}
