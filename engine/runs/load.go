package runs

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// loadBase reads a base run whole.
func (s *Service) loadBase(ctx context.Context, tenant string, id rondo.ID) (*baseRun, error) {
	run, err := s.store.Run(ctx, tenant, id)
	if err != nil {
		return nil, rondo.Op("read the base run", err)
	}
	rows, err := s.store.RunSteps(ctx, id, 0, true)
	if err != nil {
		return nil, rondo.Op("read the base run", err)
	}
	base := &baseRun{run: *run, steps: lastByStep(rows)}
	for step, row := range base.steps {
		if !row.Status.Done() {
			delete(base.steps, step)
		}
	}
	base.artifacts, err = s.runArtifacts(ctx, tenant, id)
	return base, rondo.Op("read the base run", err)
}

func (s *Service) runArtifacts(ctx context.Context, tenant string, id rondo.ID) (map[rondo.ID]rondo.Artifact, error) {
	list, err := s.store.RunArtifacts(ctx, tenant, id, "")
	if err != nil {
		return nil, err
	}
	artifacts := make(map[rondo.ID]rondo.Artifact, len(list))
	for _, a := range list {
		artifacts[a.ID] = a
	}
	return artifacts, nil
}

// load reads a stored run so that it can be driven. With retried, what failed is
// tried again, as a person wants it.
func (s *Service) load(ctx context.Context, run rondo.Run, retried bool) (*driven, error) {
	w, err := s.cfg.Definitions.Frozen(ctx, run.TenantID, run.DefinitionHash)
	if err != nil {
		return nil, rondo.Op("read the workflow of a run", err)
	}
	rows, err := s.store.RunSteps(ctx, run.ID, 0, true)
	if err != nil {
		return nil, rondo.Op("read the steps of a run", err)
	}
	artifacts, err := s.runArtifacts(ctx, run.TenantID, run.ID)
	if err != nil {
		return nil, rondo.Op("read the artifacts of a run", err)
	}
	var base *baseRun
	if !run.BaseRunID.IsZero() {
		if base, err = s.loadBase(ctx, run.TenantID, run.BaseRunID); err != nil {
			return nil, err
		}
	}
	d := newDriven(run, w, base)
	d.restore(rows, artifacts, retried, s.now())
	d.lighten()
	return d, nil
}

// restore puts the stored rows of a run into memory. Rows that change are in the
// next commit.
func (d *driven) restore(rows []rondo.RunStep, artifacts map[rondo.ID]rondo.Artifact, retried bool, now time.Time) {
	byStep := make(map[string][]rondo.RunStep, len(d.steps))
	for i := range rows {
		byStep[rows[i].StepID] = append(byStep[rows[i].StepID], rows[i])
	}
	for id, attempts := range byStep {
		i, ok := d.w.Index(id)
		if !ok {
			continue
		}
		byAttempt(attempts)
		d.restoreStep(i, attempts, artifacts, retried, now)
	}
}

func (d *driven) restoreStep(i int, attempts []rondo.RunStep, artifacts map[rondo.ID]rondo.Artifact, retried bool, now time.Time) {
	st := d.step(i)
	for k := range attempts {
		row := &attempts[k]
		st.attempt = max(st.attempt, row.Attempt)
		switch {
		case row.Status != rondo.RunStepFailed:
		case manually(row) || row.RetryAt.IsZero():
			st.tries = 0
		default:
			st.tries++
		}
	}
	last := attempts[len(attempts)-1]
	st.reason = last.Reason
	switch last.Status {
	case rondo.RunStepCompleted, rondo.RunStepSkipped:
		st.phase = phaseDone
		st.ran = last.Status == rondo.RunStepCompleted
		st.out = plan.Output{Data: last.Data, Artifacts: pick(artifacts, last.ArtifactIDs), Hash: last.OutputHash}
	case rondo.RunStepFailed:
		switch {
		case retried && !last.RetryAt.IsZero():
		case retried:
			last.RetryAt = last.CompletedAt
			d.rewrite(last)
		case last.RetryAt.IsZero():
			st.phase, st.failure = phaseFailed, &last
		default:
			st.phase, st.retryAt = phaseBackoff, last.RetryAt
		}
	case rondo.RunStepRunning:
		if d.remoteStep(i) && !retried {
			st.phase, st.started, st.correlation = phaseRemote, last.StartedAt, last.Correlation
			return
		}
		last.Status, last.CompletedAt = rondo.RunStepCancelled, now
		last.Error = &rondo.StepError{Code: string(rondo.CodeRunLeaseLost), Message: "the process that worked on it stopped", Retryable: true}
		d.rewrite(last)
	}
}

// manually reports whether a failed attempt is followed by one that a person asked
// for: attempts count anew then.
func manually(row *rondo.RunStep) bool {
	return !row.RetryAt.IsZero() && !row.RetryAt.After(row.CompletedAt)
}

// rewrite stores a row again.
func (d *driven) rewrite(row rondo.RunStep) {
	row.Seq = d.seq()
	d.next.steps = append(d.next.steps, row)
}

// resume begins to drive a run where its rows say.
func (sh *shard) resume(d *driven) {
	ready := d.sched.Resume(func(i int) (done, ran bool) {
		st := d.steps[i]
		return st != nil && st.phase == phaseDone, st != nil && st.ran
	})
	var failed []int
	for _, i := range ready {
		if d.closed { // one of them could not go on, and that ended the run
			return
		}
		st := d.step(i)
		switch st.phase {
		case phaseFailed:
			failed = append(failed, i)
		case phaseBackoff:
			d.sched.Start(i)
			st.alarm = sh.alarms.set(st.retryAt, d, i)
		case phaseRemote:
			sh.resumeRemote(d, i)
		default:
			sh.makeReady(d, i)
		}
	}
	slices.SortFunc(failed, func(a, b int) int { return cmp.Compare(d.steps[a].failure.Seq, d.steps[b].failure.Seq) })
	for _, i := range failed {
		st := d.steps[i]
		failure := st.failure.Error
		if failure == nil {
			failure = &rondo.StepError{Code: string(rondo.CodeSkillError), Message: "it failed"}
		}
		st.failure = nil
		sh.giveUp(d, i, failure)
	}
	sh.endIfOver(d)
}
