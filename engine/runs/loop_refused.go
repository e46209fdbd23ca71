package runs

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// refusedByStore reports whether an error of a commit is about what was to be
// written: the store is there, and trying again changes nothing.
func refusedByStore(err error) bool {
	e, explained := errors.AsType[*rondo.Error](err)
	return explained && e.Code != rondo.CodeUnavailable && !errors.Is(err, store.ErrAmbiguous) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// writeApart commits a batch in halves, which are halved again when they are
// refused: what cannot be stored ends up alone.
func (sh *shard) writeApart(ctx context.Context, batch []*driven) (written []*driven, results []store.RunResult) {
	half := len(batch) / 2
	for _, part := range [][]*driven{batch[:half], batch[half:]} {
		if part[0].gone { // everything was dropped meanwhile
			continue
		}
		done, met := sh.write(ctx, part)
		written, results = append(written, done...), append(results, met...)
	}
	return written, results
}

// refused lets a run go that the store does not let us write.
func (sh *shard) refused(d *driven, err error) {
	n := &d.next
	lost := errors.Is(err, store.ErrLeaseLost) || n.insert || n.resume != ""
	if !lost && !d.broken {
		// Something of it cannot be stored: say so in the run, rather than try for ever.
		sh.s.log.Error("a run could not be written; it fails", "run", d.run.ID, "error", err)
		sh.fail(d, err)
		return
	}
	if !lost {
		sh.s.log.Error("a run could not be written; it is left alone", "run", d.run.ID, "error", err)
	}
	sh.drop(d, err)
}

// fail ends a run whose write was refused. Of what was in that write only how its
// steps stand is kept: they failed, and the flights they held are given back.
func (sh *shard) fail(d *driven, refusal error) {
	now := sh.s.now()
	why := &rondo.StepError{Code: string(rondo.CodeRunInternal), Message: "the result cannot be stored"}
	if e, explained := errors.AsType[*rondo.Error](refusal); explained {
		why.Code, why.Message = codeOfRun(e.Code), "the result cannot be stored: "+e.Message
	}
	refused := d.next
	d.next = pending{replies: refused.replies, signals: refused.signals}
	d.broken = true
	for _, l := range refused.landings {
		d.next.landings = append(d.next.landings, store.Landing{Name: l.Name, Fence: l.Fence})
		d.next.manifests = append(d.next.manifests, nil)
	}
	told := &rondo.RunError{Code: why.Code, Message: why.Message}
	for i := range refused.steps {
		row := bare(&refused.steps[i])
		if row.Status != rondo.RunStepCancelled {
			row.Status, row.Error = rondo.RunStepFailed, why
			if told.FailedStepID == "" {
				told.FailedStepID = row.StepID
			}
		}
		row.CompletedAt, row.Seq = now, d.seq()
		d.next.steps = append(d.next.steps, row)
	}
	for i, st := range d.steps {
		if st == nil {
			continue
		}
		if st.phase == phaseWorking || st.phase == phaseRemote {
			row := d.row(i, rondo.RunStepCancelled)
			row.CompletedAt = now
			d.next.steps = append(d.next.steps, row)
		}
		if st.fence > 0 {
			sh.land(d, i, nil)
		}
		sh.letGo(d, i, st)
	}
	sh.endRun(d, rondo.RunFailed, told)
	sh.nudge()
}

// bare is a row without anything that a skill or a user wrote.
func bare(row *rondo.RunStep) rondo.RunStep {
	return rondo.RunStep{
		RunID: row.RunID, StepID: row.StepID, Attempt: row.Attempt, Skill: row.Skill, Status: row.Status,
		InputHash: row.InputHash, CacheKey: row.CacheKey, Reason: rondo.Reason{Code: row.Reason.Code},
		Correlation: row.Correlation, StartedAt: row.StartedAt,
	}
}
