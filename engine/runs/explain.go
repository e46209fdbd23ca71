package runs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Explain says of every step of a run why it did what it did, in the order of the
// file. What its key is made of is compared with the same step of the base run, or
// without one with the nearest entry: the youngest that was there when the step
// began. Of a step that gave something else when it was verified, what it gave is
// compared with what it had given before.
func (s *Service) Explain(ctx context.Context, p rondo.Principal, id rondo.ID) (Explanation, error) {
	run, w, rows, err := s.history(ctx, p.Tenant, id, true)
	if err != nil {
		return Explanation{}, err
	}
	base, err := s.baseRows(ctx, run)
	if err != nil {
		return Explanation{}, err
	}
	explanation := Explanation{RunID: id.String(), Steps: make([]StepExplain, 0, len(w.Steps))}
	last := lastAttempts(id, w, rows)
	for i, row := range last {
		step := StepExplain{
			StepID: row.StepID, Status: string(row.Status), Reason: row.Reason, Text: explainText(run, w, last, i),
			StaleInput: row.StaleInput, Deterministic: row.Deterministic, CacheKey: row.CacheKey, SourceRunID: idText(row.SourceRunID),
		}
		if row.Deterministic != nil && !*row.Deterministic {
			err = s.explainVerified(ctx, run, &row, &step)
		} else {
			err = s.explainKey(ctx, run, base, &row, &step)
		}
		if err != nil {
			return Explanation{}, err
		}
		explanation.Steps = append(explanation.Steps, step)
	}
	return explanation, nil
}

// explainKey says what a step's key differs in.
func (s *Service) explainKey(ctx context.Context, run *rondo.Run, base map[string]rondo.RunStep, row *rondo.RunStep, step *StepExplain) error {
	before, with, err := s.comparable(ctx, run, base, row)
	if err == nil && before != nil {
		step.ComparedWith = with.String()
		step.Changed = differences(before, row.Manifest)
	}
	return err
}

// baseRows reads the steps of a run's base; nil without one, or when it is not
// kept any more.
func (s *Service) baseRows(ctx context.Context, run *rondo.Run) (map[string]rondo.RunStep, error) {
	if run.BaseRunID.IsZero() {
		return nil, nil
	}
	rows, err := s.store.RunSteps(ctx, run.BaseRunID, 0, true)
	if err != nil {
		return nil, rondo.Op("read the steps of the base run", err)
	}
	return lastByStep(rows), nil
}

// comparable finds the manifest that a step's own is compared with, and the run it
// is of; nil when there is none, or nothing to compare.
func (s *Service) comparable(ctx context.Context, run *rondo.Run, base map[string]rondo.RunStep, row *rondo.RunStep) (json.RawMessage, rondo.ID, error) {
	if len(row.Manifest) == 0 {
		return nil, rondo.ID{}, nil
	}
	if before, here := base[row.StepID]; here && len(before.Manifest) > 0 {
		return before.Manifest, run.BaseRunID, nil
	}
	if row.Status == rondo.RunStepSkipped || row.StartedAt.IsZero() || !ofKey(row.Reason.Code) {
		return nil, rondo.ID{}, nil
	}
	// Two, because one that was computed in no time is its own.
	nearest, err := s.store.CacheList(ctx,
		store.CacheFilter{TenantID: run.TenantID, Workflow: run.WorkflowName, Step: row.StepID},
		store.CachePage{Before: row.StartedAt.Add(time.Microsecond), Limit: 2})
	if err != nil {
		return nil, rondo.ID{}, rondo.Op("find the nearest entry", err)
	}
	for i := range nearest {
		if nearest[i].RunID != run.ID && len(nearest[i].Manifest) > 0 {
			return nearest[i].Manifest, nearest[i].RunID, nil
		}
	}
	return nil, rondo.ID{}, nil
}

// ofKey reports whether a step ran for the sake of its key: it is not what it was.
func ofKey(why rondo.ReasonWord) bool {
	switch why {
	case rondo.ReasonInputChanged, rondo.ReasonSkillChanged, rondo.ReasonConfigChanged, rondo.ReasonPromptChanged, rondo.ReasonSaltRotated:
		return true
	}
	return false
}

// differences are the components of a key that are not as they were. A manifest
// that cannot be read says nothing.
func differences(before, after json.RawMessage) []Difference {
	was, err := plan.DecodeManifest(before)
	if err != nil {
		return nil
	}
	is, err := plan.DecodeManifest(after)
	if err != nil {
		return nil
	}
	var changed []Difference
	for _, d := range plan.Diff(was, is) {
		if d.Name == "salt" { // it is never shown
			d.After.Preview = "rotated"
		}
		changed = append(changed, Difference{Component: d.Name, Before: d.Before.Preview, After: d.After.Preview})
	}
	return changed
}
