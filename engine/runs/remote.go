package runs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// Deliver takes a remote worker's answer in: run.step.completed or run.step.failed.
// Nil means that it is durable, or that nothing waits for it any more; delivering
// again changes nothing. CodeNotFound and CodeInvalid: it never will be taken.
func (s *Service) Deliver(ctx context.Context, e *event.Envelope) error {
	id, err := rondo.ParseID(e.RunID)
	if err != nil || !event.RunAnswer(e.Type) {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "not the answer to a step of a run", Hint: "send run.step.completed or run.step.failed with the run_id of the request"}
	}
	run, err := s.store.Run(ctx, e.OrgID, id)
	if err != nil {
		return rondo.Op("deliver a worker's answer", err)
	}
	if run.Status.Ended() {
		return nil
	}
	signal := store.RunSignal{ID: e.EventID, RunID: id, Kind: store.SignalResult, Body: e.Encode(), At: s.now()}
	if err := s.store.PutSignals(ctx, []store.RunSignal{signal}); err != nil {
		return rondo.Op("deliver a worker's answer", err)
	}
	s.shardOf(id).post(heard{signal})
	return nil
}

// heard is a signal to a run. Of a run that is not here it is left to its owner.
type heard struct{ store.RunSignal }

func (in heard) apply(ctx context.Context, sh *shard) {
	d := sh.runs[in.RunID]
	if d == nil || d.gone || d.heard[in.ID] {
		return
	}
	if d.heard == nil {
		d.heard = map[rondo.ID]bool{}
	}
	d.heard[in.ID] = true
	switch in.Kind {
	case store.SignalCancel:
		sh.obey(d, in.ID)
		sh.cancelRun(d, "")
	case store.SignalResult:
		sh.answered(ctx, d, in.RunSignal)
	default:
		sh.obey(d, in.ID)
	}
}

// obey removes a signal with the next commit.
func (sh *shard) obey(d *driven, id rondo.ID) {
	d.next.signals = append(d.next.signals, id)
	sh.mark(d)
}

// answered takes a worker's answer: it is checked and its artifacts are stored by
// the way, and then it ends the attempt. An answer to an attempt that is over is
// forgotten.
func (sh *shard) answered(ctx context.Context, d *driven, signal store.RunSignal) {
	e, err := event.Parse(signal.Body)
	if err != nil {
		sh.obey(d, signal.ID)
		return
	}
	correlation, err := rondo.ParseID(e.CorrelationID)
	step, waits := d.remote[correlation]
	if err != nil || !waits || d.closed || e.OrgID != d.run.TenantID {
		sh.obey(d, signal.ID)
		return
	}
	keyed := d.steps[step].keyed
	sh.s.attempts.Go(func() {
		in := remoteEnd{d: d, step: step, correlation: correlation, signal: signal.ID, end: sh.s.remoteOutcome(ctx, d, step, keyed, e)}
		in.end.ended = sh.s.now()
		sh.post(in)
	})
}

// remoteEnd is the end of an attempt by a remote worker.
type remoteEnd struct {
	d           *driven
	step        int
	correlation rondo.ID
	signal      rondo.ID
	end         outcome
}

func (in remoteEnd) apply(_ context.Context, sh *shard) {
	if in.d.gone {
		return
	}
	sh.obey(in.d, in.signal)
	if _, waits := in.d.remote[in.correlation]; waits && !in.d.closed {
		sh.attemptEnded(in.d, in.step, &in.end)
	}
}

// remoteOutcome is what an answer says.
func (s *Service) remoteOutcome(ctx context.Context, d *driven, step int, keyed plan.Keyed, e *event.Envelope) outcome {
	var result skill.Result
	if err := json.Unmarshal(e.Payload, &result); err != nil {
		return outcome{err: &rondo.StepError{Code: string(rondo.CodeSkillError), Message: "the worker's answer is not what an answer looks like"}}
	}
	var said struct {
		OK *bool `json:"ok"`
	}
	_ = json.Unmarshal(e.Payload, &said) // it was readable as a result
	if e.Type == event.TypeRunStepFailed || said.OK != nil && !*said.OK {
		return outcome{err: refusal(result)}
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DefaultTimeout)
	defer cancel()
	return s.accept(ctx, d, step, keyed, result)
}

// awaitRemote waits for a remote worker, until its time is over.
func (sh *shard) awaitRemote(d *driven, i int, deadline time.Time) {
	st := d.steps[i]
	st.phase = phaseRemote
	st.alarm = sh.alarms.set(deadline, d, i)
	if d.remote == nil {
		d.remote = map[rondo.ID]int{}
	}
	d.remote[st.correlation] = i
}

// endRemote stops waiting for a remote worker or for the next attempt.
func (sh *shard) endRemote(d *driven, st *stepState) {
	sh.alarms.drop(st.alarm)
	st.alarm = nil
	delete(d.remote, st.correlation)
}

// resumeRemote takes the flight of an attempt again that a remote worker was asked
// for when another process had the run: its answer is still waited for.
func (sh *shard) resumeRemote(d *driven, i int) {
	if !sh.resolve(d, i) {
		return
	}
	st := d.steps[i]
	st.asked, st.phase = true, phaseTaking
	st.tries++
	sh.flying[flight{d.run.TenantID, st.name}] = true
	d.sched.Start(i)
	d.next.takeoffs = append(d.next.takeoffs, store.Takeoff{Name: st.name, Key: st.name == st.keyed.Key, Again: true, Step: d.row(i, rondo.RunStepRunning)})
	d.next.taking = append(d.next.taking, i)
	sh.mark(d)
}
