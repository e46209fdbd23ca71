package invariant

import "github.com/rondo-engine/rondo"

// budget: automatic retries never exceed what the definition allows over the
// life of a step (I11). Every intervention that starts or skips a step allows one
// attempt more, and every attempt at a parallel step one at each step within. A
// migration may change the budget, so it is not held against a case that had one.
func (k *checker) budget() {
	if len(k.migrations) > 0 {
		return
	}
	manual := 0
	for _, i := range k.Interventions {
		switch rondo.ActionName(i.Action) {
		case rondo.ActionResume, rondo.ActionRetryStep, rondo.ActionSkipStep:
			manual++
		default:
		}
	}
	attempts := map[string]int{}
	for _, row := range k.Steps {
		attempts[row.StepID] = max(attempts[row.StepID], row.Attempt)
	}
	for _, att := range k.open() {
		attempts[att.StepID] = max(attempts[att.StepID], att.Number)
	}
	for id, n := range attempts {
		step := k.Snapshot.Steps[id]
		if step == nil {
			continue
		}
		entered := 1
		if step.Fork != "" {
			entered = attempts[step.Fork]
		}
		if n > entered+step.MaxRetries+manual {
			k.broken("I11", "step %s had %d attempts: it was entered %d times, its budget is %d and people asked for %d", id, n, entered, step.MaxRetries, manual)
		}
	}
}
