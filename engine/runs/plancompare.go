package runs

import "github.com/rondo-engine/rondo"

// Deviation is a step that did not do what the plan said.
type Deviation struct {
	StepID   string       `json:"stepId"`
	Planned  string       `json:"planned"`  // a decision, with its reason when it was reuse
	Happened string       `json:"happened"` // a status of the step, or "absent"
	Reason   rondo.Reason `json:"reason"`   // why it did what it did
}

// ComparePlan says where a run did not keep to its plan, in the order of the plan;
// steps are the last attempts of the run. What the plan said would run was
// attempted, what it said would be reused was skipped, from the base when it said
// so and from the cache when it said that; which tier of the cache is no matter.
// What it said would fail failed, and what it said is never reached did nothing.
// What it left open may have gone any way.
func ComparePlan(plan Plan, steps []rondo.RunStep) []Deviation {
	happened := make(map[string]*rondo.RunStep, len(steps))
	for i := range steps {
		happened[steps[i].StepID] = &steps[i]
	}
	var deviations []Deviation
	for i := range plan.Steps {
		planned := &plan.Steps[i]
		step, here := happened[planned.StepID]
		switch {
		case !here:
			deviations = append(deviations, Deviation{StepID: planned.StepID, Planned: planned.words(), Happened: "absent"})
		case !planned.kept(step):
			deviations = append(deviations, Deviation{StepID: planned.StepID, Planned: planned.words(), Happened: string(step.Status), Reason: step.Reason})
		}
		delete(happened, planned.StepID)
	}
	for i := range steps {
		if step, extra := happened[steps[i].StepID]; extra {
			deviations = append(deviations, Deviation{StepID: step.StepID, Planned: "absent", Happened: string(step.Status), Reason: step.Reason})
			delete(happened, step.StepID)
		}
	}
	return deviations
}

func (p *PlanStep) words() string {
	if p.Decision == WouldReuse && p.Reason.Code != "" {
		return p.Decision + ": " + p.Reason.String()
	}
	return p.Decision
}

// kept reports whether a step did what was planned. An attempt that failed ran as
// planned.
func (p *PlanStep) kept(step *rondo.RunStep) bool {
	ran := step.Status == rondo.RunStepCompleted || step.Status == rondo.RunStepFailed || step.Status == rondo.RunStepRunning
	skipped := step.Status == rondo.RunStepSkipped
	switch p.Decision {
	case WouldRun:
		return ran
	case WouldReuse:
		return skipped && (p.Reason.Code == rondo.ReasonBase) == (step.Reason.Code == rondo.ReasonBase)
	case WouldFail:
		return step.Status == rondo.RunStepFailed
	case NeverReached:
		return !ran && !skipped
	}
	return true
}
