package runs

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Trigger starts a run and returns it when it is durable.
func (s *Service) Trigger(ctx context.Context, p rondo.Principal, request Request) (*rondo.Run, error) {
	if err := onlyPlanned(request.Document); err != nil {
		return nil, err
	}
	w, err := s.cfg.Definitions.Named(ctx, p.Tenant, request.WorkflowName, request.WorkflowVersion)
	if err != nil {
		return nil, rondo.Op("start a run", err)
	}
	if err := checkOptions(w, request.Options); err != nil {
		return nil, err
	}
	payload := request.TriggerPayload
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	if err := w.ValidateInput(payload); err != nil {
		return nil, err
	}
	id := request.ID
	if id.IsZero() {
		id = s.cfg.IDs.New()
	}
	correlation := request.CorrelationID
	if correlation == "" {
		correlation = id.String()
	}
	return s.start(ctx, &rondo.Run{
		ID: id, TenantID: p.Tenant, WorkflowName: w.Name, WorkflowVersion: w.Version, DefinitionHash: w.Hash,
		TriggerType: rondo.TriggerInitial, TriggerPayload: payload, Options: request.Options, CorrelationID: correlation,
		CreatedBy: p.User, Case: request.Case, ProductID: request.ProductID,
	}, w, prepared{})
}

// prepared is what is known of a new run beside its record.
type prepared struct {
	// Of an update run: rows of the steps that are linked from the base, as they are
	// to be stored but for RunID and Seq. Every other step is a candidate.
	linked []rondo.RunStep
	base   *baseRun // nil = none
}

// baseRun is what an update run knows of its base: the last attempt of each step
// that is done, and the artifacts that those have attached.
type baseRun struct {
	run       rondo.Run
	steps     map[string]rondo.RunStep
	artifacts map[rondo.ID]rondo.Artifact
}

// start makes a run durable and drives it. Trigger and Update check; start does
// not. The run's ID, TriggerType, payload, options and creator are set by the
// caller; status, times and Seq are set here. A run whose ID is there already is
// returned as it is.
func (s *Service) start(ctx context.Context, run *rondo.Run, w *plan.Workflow, p prepared) (*rondo.Run, error) {
	d := newDriven(*run, w, p.base)
	d.run.Status, d.run.Seq, d.run.TotalSteps, d.run.CreatedAt = rondo.RunQueued, 1, len(w.Steps), s.now()
	d.next.insert = true
	for i := range p.linked {
		row := p.linked[i]
		row.RunID = d.run.ID
		d.rewrite(row)
	}
	var artifacts map[rondo.ID]rondo.Artifact
	if p.base != nil {
		artifacts = p.base.artifacts
	}
	d.restore(p.linked, artifacts, false, s.now())
	d.lighten()
	started, err := s.drive(ctx, d)
	if rondo.CodeOf(err) == rondo.CodeConflict {
		there, again := s.store.Run(ctx, run.TenantID, run.ID)
		if again == nil {
			return there, nil
		}
	}
	return started, rondo.Op("start a run", err)
}

// Retry goes on with a failed run from what failed: CodeWrongState otherwise. What
// is done stays done, and attempts go on counting.
func (s *Service) Retry(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Run, error) {
	run, err := s.store.Run(ctx, p.Tenant, id)
	if err != nil {
		return nil, rondo.Op("retry a run", err)
	}
	if run.Status != rondo.RunFailed {
		return nil, &rondo.Error{Code: rondo.CodeWrongState, Message: "the run is " + string(run.Status), Hint: "only a failed run can be retried"}
	}
	d, err := s.load(ctx, *run, true)
	if err != nil {
		return nil, rondo.Op("retry a run", err)
	}
	d.next.resume = rondo.RunFailed
	d.run.Status, d.run.Error = rondo.RunQueued, nil
	d.run.CompletedAt = time.Time{}
	started, err := s.drive(ctx, d)
	return started, rondo.Op("retry a run", err)
}

// drive hands a new or resumed run to its shard and waits until it is durable. One
// for which there is no room is stored for whoever has room.
func (s *Service) drive(ctx context.Context, d *driven) (*rondo.Run, error) {
	if s.term.Load() == nil || s.stopping.Load() {
		return nil, errLapsed
	}
	sh := s.shardOf(d.run.ID)
	if sh.away.Load() {
		return nil, storeAway(nil)
	}
	if s.full() || !s.roster.join(d.run.TenantID, s.cfg.MaxRuns, s.cfg.TenantRuns) {
		return s.park(ctx, d)
	}
	s.held.Add(d.bytes)
	answer := make(chan reply, 1)
	d.next.replies = append(d.next.replies, into(answer))
	sh.post(&adoption{d: d})
	return s.await(ctx, answer)
}

// reply is what became of what someone asked a shard for.
type reply struct {
	run *rondo.Run
	err error
}

func into(to chan<- reply) func(*rondo.Run, error) {
	return func(run *rondo.Run, err error) { to <- reply{run, err} }
}

func (s *Service) await(ctx context.Context, answer <-chan reply) (*rondo.Run, error) {
	select {
	case got := <-answer:
		return got.run, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ended:
		select {
		case got := <-answer:
			return got.run, got.err
		default:
			return nil, errLapsed
		}
	}
}

// nobody owns runs that wait in the store. The name is never alive.
const nobody = "nobody"

// park stores a run for whoever has room.
func (s *Service) park(ctx context.Context, d *driven) (*rondo.Run, error) {
	results, err := s.commitRuns(ctx, store.RunCommit{Owner: nobody, At: s.now(), Writes: []store.RunWrite{{
		Run: &d.run, Insert: d.next.insert, Resume: d.next.resume, Steps: d.next.steps,
	}}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil {
		return nil, err
	}
	s.queued.Add(1)
	parked := d.run
	return &parked, nil
}

// adoption brings a run into the hands of its shard. The run counts as driven
// already.
type adoption struct {
	d    *driven
	term *tenure // under which it was claimed; nil = it is new or resumed
	// What others want of it: a run that is to be cancelled begins nothing.
	signals []store.RunSignal
}

func (in *adoption) apply(ctx context.Context, sh *shard) {
	d := in.d
	now := sh.s.now()
	if !sh.term.lasts(now) || sh.s.stopping.Load() || (in.term != nil && in.term != sh.term) {
		sh.s.roster.add(d.run.TenantID, -1)
		sh.drop(d, errLapsed)
		return
	}
	if other := sh.runs[d.run.ID]; other != nil {
		exists := &rondo.Error{Code: rondo.CodeConflict, Message: "the run exists already"}
		if in.term == nil || !other.next.insert {
			sh.s.roster.add(d.run.TenantID, -1)
			sh.drop(d, exists)
			return
		}
		sh.drop(other, exists) // someone wants to start it again in this very turn
	}
	sh.runs[d.run.ID] = d
	if d.failed != nil {
		sh.endRun(d, rondo.RunFailed, d.failed)
		return
	}
	if d.run.Status == rondo.RunQueued {
		d.run.Status = rondo.RunRunning
		if d.run.StartedAt.IsZero() {
			d.run.StartedAt = now
		}
		d.seq()
		d.tellStarted(now, sh.s.cfg.IDs.New())
	}
	sh.mark(d)
	if link := d.run.Case; link != nil && !link.DeadlineAt.IsZero() {
		d.alarm = sh.alarms.set(link.DeadlineAt, d, -1)
	}
	for i := range d.next.steps {
		sh.written += len(d.next.steps[i].Data)
	}
	sh.resume(d)
	for _, signal := range in.signals {
		heard{signal}.apply(ctx, sh)
	}
}

// Cancel ends a run that is queued or running: CodeWrongState otherwise. The
// answer is the run as it is then; one that another process drives ends a moment
// later.
func (s *Service) Cancel(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Run, error) {
	if err := s.live(ctx, p, id); err != nil {
		return nil, err
	}
	if s.term.Load() != nil {
		answer := make(chan reply, 1)
		s.shardOf(id).post(cancellation{id, p.Tenant, into(answer)})
		run, err := s.await(ctx, answer)
		if !errors.Is(err, errElsewhere) {
			return run, rondo.Op("cancel a run", err)
		}
		if err := s.live(ctx, p, id); err != nil { // it may have ended meanwhile
			return nil, err
		}
	}
	signal := store.RunSignal{ID: s.cfg.IDs.New(), RunID: id, Kind: store.SignalCancel, At: s.now()}
	if err := s.store.PutSignals(ctx, []store.RunSignal{signal}); err != nil {
		return nil, rondo.Op("cancel a run", err)
	}
	if answer := s.takeToCancel(ctx, signal); answer != nil {
		if run, err := s.await(ctx, answer); err == nil {
			return run, nil
		}
	}
	run, err := s.store.Run(ctx, p.Tenant, id)
	return run, rondo.Op("cancel a run", err)
}

// live says why a run cannot be cancelled; nil = it can.
func (s *Service) live(ctx context.Context, p rondo.Principal, id rondo.ID) error {
	run, err := s.store.Run(ctx, p.Tenant, id)
	if err != nil {
		return rondo.Op("cancel a run", err)
	}
	if run.Status.Ended() {
		return &rondo.Error{Code: rondo.CodeWrongState, Message: "the run is " + string(run.Status), Hint: "only a run that is queued or running can be cancelled"}
	}
	return nil
}

// errElsewhere says that a run is not in the hands of this process.
var errElsewhere = errors.New("runs: another process drives it")

// cancellation ends a run of this process.
type cancellation struct {
	id     rondo.ID
	tenant string
	reply  func(*rondo.Run, error)
}

func (in cancellation) apply(_ context.Context, sh *shard) {
	d := sh.runs[in.id]
	if d == nil || d.gone || d.closed || d.run.TenantID != in.tenant {
		in.reply(nil, errElsewhere)
		return
	}
	d.next.replies = append(d.next.replies, in.reply)
	sh.cancelRun(d, "")
}
