package flow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// failure is why an attempt did not succeed. Code and message are Rondo's or
// the module's own words; detail is the module's error as it came.
type failure struct {
	code      string
	message   string
	retryable bool
	detail    json.RawMessage
	violation bool // Rondo found it: a request or an answer breaks the kind's contract
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
		m.retry(i, step, ending{status: rondo.StepFailed, failure: f.json()})
		return
	}
	att := m.take(i)
	m.follow(tokenOf(&att), m.fail(att, step, f))
}

// timeout ends a live attempt that nobody answered in time.
func (m *move) timeout(i int) {
	step := m.snap.Steps[m.inst.Machine.Live[i].StepID]
	end := ending{status: rondo.StepTimedOut, failure: failure{code: haltStepTimeout}.json()}
	if step.RetryOnTimeout && m.retriesLeft(step) {
		m.retry(i, step, end)
		return
	}
	target := step.Transitions[definition.OnTimeout]
	if target != "" {
		end.outcome = definition.OnTimeout
	}
	att := m.end(i, end)
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

// retry ends a live attempt and puts the next one in its place. In active mode
// it waits out its backoff; a client that drives the case itself may go on at
// once.
func (m *move) retry(i int, step *definition.Step, end ending) {
	att := m.end(i, end)
	life := m.inst.Machine.Steps[step.ID]
	life.Retries++
	m.setLife(step.ID, life)
	next := m.mint(step, tokenOf(&att))
	if m.inst.Mode == rondo.ModeClientDriven {
		m.start(i, next, step)
		return
	}
	next.Status = rondo.StepPending
	next.DueAt = m.now.Add(m.backoff(step, life.Retries))
	m.inst.Machine.Live = slices.Insert(m.inst.Machine.Live, i, next)
}

// start runs an attempt in the place of a live one that has just left.
func (m *move) start(i int, att rondo.Attempt, step *definition.Step) {
	tok := m.tokenBefore(&att)
	before := len(m.inst.Machine.Live)
	next, target := m.run(att, step, tok)
	if live := m.inst.Machine.Live; len(live) > before && i < before {
		entered := live[before]
		copy(live[i+1:before+1], live[i:before])
		live[i] = entered
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
