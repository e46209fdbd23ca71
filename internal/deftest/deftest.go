// Package deftest plays definitions without modules, store or bus: it is what
// tests of a definition and backtests of a draft run on.
//
// A test says what the modules answer and when (Given) and what must come of it
// (Expect). Run plays it on the real case machine with a clock that jumps from
// one event to the next, so that a month passes in microseconds and nothing
// leaves the process. Backtest plays what a finished case recorded through
// another definition and says whether the case would have gone another way.
//
// It is pure: no I/O, clock or randomness; equal input gives equal output. It
// imports the case machine and what that stands on.
package deftest

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Test is one test of a definition.
type Test struct {
	Name   string `json:"name"`
	Given  Given  `json:"given"`
	Expect Expect `json:"expect"`
}

// Given is the world that a case meets.
type Given struct {
	Case      json.RawMessage   `json:"case,omitempty"`       // payload of case.created; default: {"patient_id": "patient"}
	CaseID    string            `json:"case_id,omitempty"`    // default "case": sample() depends on it
	ProductID string            `json:"product_id,omitempty"` // default "product"
	Mode      rondo.Mode        `json:"mode,omitempty"`       // default: the definition's
	Start     time.Time         `json:"start,omitzero"`       // default 2026-01-01T00:00:00Z
	Steps     map[string]Script `json:"steps,omitempty"`      // what becomes of each step that waits
	Events    []Arrival         `json:"events,omitempty"`     // other events of the case
	Actions   []Action          `json:"actions,omitempty"`    // what people do meanwhile
}

// Script is what becomes of the attempts at one step, first to last; the last
// answer holds for all later attempts too. In a file it is one answer or a list.
type Script []Answer

// Answer is what becomes of one attempt. Exactly one of Complete, Fail, Choose
// and Silent is given.
type Answer struct {
	After    Duration        `json:"after,omitzero"`     // since the attempt began
	Complete json.RawMessage `json:"complete,omitempty"` // the module's output, or the payload of the awaited event
	Fail     json.RawMessage `json:"fail,omitempty"`     // {reason_code?, retryable?, error?}
	Choose   string          `json:"choose,omitempty"`   // manual: the outcome that a person chooses
	Form     json.RawMessage `json:"form,omitempty"`     // manual: what the person fills in
	Silent   bool            `json:"silent,omitempty"`   // nobody answers: the step times out

	skip   string          // backtest: a person skipped the step with this outcome
	output json.RawMessage // backtest: the output given with the skip
	at     time.Time       // backtest: when it happened
	began  time.Time       // backtest: when the attempt began
}

// Arrival is an event that comes by itself, After the start of the case.
type Arrival struct {
	After   Duration        `json:"after,omitzero"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Action is what a person does, After the start of the case.
type Action struct {
	After      Duration        `json:"after,omitzero"`
	Action     string          `json:"action"` // halt, resume, cancel, retry_step, skip_step, set_mode
	Reason     string          `json:"reason,omitempty"`
	ReasonCode string          `json:"reason_code,omitempty"`
	StepID     string          `json:"step_id,omitempty"`
	Outcome    string          `json:"outcome,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Mode       rondo.Mode      `json:"mode,omitempty"`
}

// Expect is what must come of a case. What is absent is not checked.
type Expect struct {
	Path       []string                   `json:"path,omitempty"`         // every step that ended, in order
	Status     rondo.Status               `json:"status,omitempty"`       // how it stands at the end
	HaltReason string                     `json:"halt_reason,omitempty"`  //
	HaltStepID string                     `json:"halt_step_id,omitempty"` //
	Events     []string                   `json:"events,omitempty"`       // event types that must be sent, in this order, others may be between
	Context    map[string]json.RawMessage `json:"context,omitempty"`      // dotted path → value
	Waiting    []string                   `json:"waiting,omitempty"`      // steps still in flight at the end
	Took       *Duration                  `json:"took,omitempty"`         // from start to end
}

// Report is what a run of tests showed.
type Report struct {
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Results  []Result `json:"results"`
	Coverage Coverage `json:"coverage"`
}

// Result is what became of one test.
type Result struct {
	Name     string   `json:"name"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"` // what was expected and what was seen
	Seen     Seen     `json:"seen"`
}

// Seen is what a case did.
type Seen struct {
	Path       []string     `json:"path"`
	Status     rondo.Status `json:"status"`
	HaltReason string       `json:"halt_reason,omitempty"`
	HaltStepID string       `json:"halt_step_id,omitempty"`
	Waiting    []string     `json:"waiting,omitempty"`
	Events     []string     `json:"events"`
	Took       Duration     `json:"took"`
	Refused    []string     `json:"refused,omitempty"` // what people were not allowed to do

	steps   []rondo.Step
	context rondo.Context
}

// Coverage says which ways through the definition the tests took.
type Coverage struct {
	Steps             int      `json:"steps"`
	StepsTaken        int      `json:"steps_taken"`
	Transitions       int      `json:"transitions"`
	TransitionsTaken  int      `json:"transitions_taken"`
	Percent           float64  `json:"percent"` // of transitions
	StepsMissing      []string `json:"steps_missing"`
	TransitionsMissed []string `json:"transitions_missing"` // "step.outcome"
}
