package flow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/cond"
	"github.com/rondo-engine/rondo/internal/definition"
)

// failure is why an attempt did not succeed. Code and message are Rondo's or
// the module's own words; detail is the module's error as it came.
type failure struct {
	code      string
	message   string
	retryable bool
	detail    json.RawMessage
	violation bool        // Rondo found it: a request or an answer breaks the kind's contract
	rule      string      // the outcome rule that could not be decided; "" = none
	trace     *cond.Trace // of that rule
}

// violated says that a contract was broken. Trying again would not help.
func violated(message string) failure {
	return failure{code: haltContractViolation, message: message, violation: true}
}

func (f failure) json() json.RawMessage {
	o := newObject(96).text("code", f.code).optional("message", f.message)
	if f.retryable {
		o.boolean("retryable", true)
	}
	if !isNull(f.detail) {
		o.raw("error", f.detail)
	}
	if f.trace != nil {
		o.text("expr", f.rule)
		(&evaluation{trace: f.trace}).explain(o)
	}
	return o.done()
}

// haltCode is the reason a case halts with when nothing handles the failure:
// what breaks a contract says so, all else is the kind's own code.
func (f failure) haltCode(step *definition.Step) string {
	switch {
	case f.violation:
		return haltContractViolation
	case step.Contract.FailureHaltCode == "":
		return haltStepFailed
	}
	return step.Contract.FailureHaltCode
}

// fail ends an attempt that is not in flight yet and returns where to go.
func (m *move) fail(att rondo.Attempt, step *definition.Step, f failure) string {
	target := step.Transitions[definition.OnFailure]
	end := ending{status: rondo.StepFailed, failure: f.json()}
	if target != "" {
		end.outcome = definition.OnFailure
	}
	m.record(att, end)
	if target == "" {
		m.halt(f.haltCode(step), "", step.ID)
	}
	return target
}

// failLive ends a live attempt that failed: another one if it may be tried
// again, else on_failure, else the case halts.
func (m *move) failLive(i int, step *definition.Step, f failure) {
	if f.retryable && m.retriesLeft(step) {
		m.end(i, ending{status: rondo.StepFailed, failure: f.json()})
		m.retry(i, step)
		return
	}
	att := m.take(i)
	m.follow(tokenOf(&att), m.fail(att, step, f))
}

// timeout ends a live attempt that nobody answered in time.
func (m *move) timeout(i int) {
	step := m.snap.Steps[m.inst.Machine.Live[i].StepID]
	m.timedOut(step, func(end ending) (rondo.Attempt, int) { return m.end(i, end), i })
}

// timedOut ends an attempt at a step, live or a fork, and goes on: another
// attempt if the step says so, else on_timeout, else the case halts.
func (m *move) timedOut(step *definition.Step, endWith func(ending) (att rondo.Attempt, place int)) {
	end := ending{status: rondo.StepTimedOut, failure: failure{code: haltStepTimeout}.json()}
	if step.RetryOnTimeout && m.retriesLeft(step) {
		_, place := endWith(end)
		m.retry(place, step)
		return
	}
	target := step.Transitions[definition.OnTimeout]
	if target != "" {
		end.outcome = definition.OnTimeout
	}
	att, _ := endWith(end)
	if target == "" {
		m.halt(haltStepTimeout, "", step.ID)
		return
	}
	m.follow(tokenOf(&att), target)
}

// retriesLeft reports whether the step's automatic budget, which is counted over
// its whole life in the instance, has anything left.
func (m *move) retriesLeft(step *definition.Step) bool {
	return m.inst.Machine.Steps[step.ID].Retries < step.MaxRetries
}

// retry puts the next attempt in the place of one that has just ended. In active
// mode it waits out its backoff; a client that drives the case itself may go on
// at once.
func (m *move) retry(place int, step *definition.Step) {
	life := m.inst.Machine.Steps[step.ID]
	life.Retries++
	m.setLife(step.ID, life)
	next := m.mint(step)
	if m.inst.Mode == rondo.ModeClientDriven {
		m.start(place, next, step)
		return
	}
	next.Status = rondo.StepPending
	next.DueAt = m.now.Add(m.backoff(step, life.Retries))
	m.inst.Machine.Live = slices.Insert(m.inst.Machine.Live, place, next)
}

// start runs an attempt in the place of a live one that has just left.
func (m *move) start(place int, att rondo.Attempt, step *definition.Step) {
	tok := m.tokenBefore(&att)
	before := len(m.inst.Machine.Live)
	next, target := m.run(att, step, tok)
	if live := m.inst.Machine.Live; len(live) > before && place < before {
		m.inst.Machine.Live = slices.Concat(live[:place], live[before:], live[place:before])
	}
	m.follow(next, target)
}

// take removes a live attempt without writing its row.
func (m *move) take(i int) rondo.Attempt {
	m.own()
	att := m.inst.Machine.Live[i]
	m.inst.Machine.Live = slices.Delete(m.inst.Machine.Live, i, i+1)
	return att
}

// backoff is how long the n-th automatic retry waits.
func (m *move) backoff(step *definition.Step, n int) time.Duration {
	wait := step.RetryBase
	switch step.Backoff {
	case definition.BackoffExponential:
		for range n - 1 {
			if wait == 0 || wait >= step.RetryCap {
				break
			}
			wait *= 2
		}
	case definition.BackoffLinear:
		if wait > 0 && time.Duration(n) > step.RetryCap/wait {
			wait = step.RetryCap
		} else {
			wait *= time.Duration(n)
		}
	}
	wait = min(wait, step.RetryCap)
	if step.RetryJitter && m.env.Jitter != nil {
		wait = time.Duration(float64(wait) * m.env.Jitter())
	}
	return wait.Truncate(time.Microsecond)
}
