package caseloop

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
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
	ParkedFor time.Duration // how long events wait for their case to begin; 0 = as long as package flow says
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
	Healed   bool // the instance had lost a wake-up and has it again
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
// A command cannot be told from its own repetition, so its caller must look;
// one that is part of a job can, because the job has a result for it.
func (p *Processor) reconcile(ctx context.Context, inputs []*Input) {
	retry := make([]*Input, 0, len(inputs))
	for _, in := range inputs {
		if in.Command != nil && in.Job == nil {
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
