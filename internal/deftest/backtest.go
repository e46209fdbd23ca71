package deftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// Verdict says whether a recorded case would have gone another way.
type Verdict string

// The verdicts of a backtest.
const (
	Same         Verdict = "same"
	Differs      Verdict = "differs"
	Inconclusive Verdict = "inconclusive" // what was recorded cannot be played again, so nothing can be said
)

// Sizes of a backtest.
const (
	DefaultBacktest = 1000
	MaxBacktest     = 10_000
)

// BacktestRequest says which finished cases to play through a draft.
type BacktestRequest struct {
	Last         int      // how many, newest first; 0 = DefaultBacktest
	DefinitionID rondo.ID // those of this definition only; zero = of every definition of the draft's product
}

// BacktestReport says which cases would have gone another way.
type BacktestReport struct {
	Compared     int
	Same         int
	Differs      int
	Inconclusive int
	Cases        []Comparison // those that differ or are inconclusive, newest first
}

// Recorded is one finished case.
type Recorded struct {
	Instance *rondo.Instance
	Snapshot *definition.Snapshot // what drove it
	Steps    []rondo.Step         // every finished attempt, by Seq
}

// Comparison is what a backtest found out about one case.
type Comparison struct {
	InstanceID rondo.ID
	CaseID     string
	Verdict    Verdict
	// DivergesAt is the first step that goes another way, or that only the draft
	// has; "" when none does.
	DivergesAt string
	Recorded   string   // what became of that step: an outcome, or "not reached"
	Draft      string   // the same under the draft
	Path       []string // the steps that the case takes under the draft
	Ends       string   // how it ends there: completed, halted: reason, or waiting at a step
	Detail     string   // one sentence for a person
}

// Backtest plays a recorded case through a draft: modules answer what they
// answered, when they did, people do what they did. Nothing is asked of anyone.
// A step of the draft that never ran in the recorded case has no answer: the
// case waits there, which is a difference, and what comes after is unknown.
//
// The case is played through its own definition first. When even that does not
// lead where the record does, the verdict is inconclusive.
func Backtest(draft *definition.Snapshot, recorded Recorded) Comparison {
	inst := recorded.Instance
	out := Comparison{InstanceID: inst.ID, CaseID: inst.CaseID, Verdict: Same}
	given, err := replayOf(recorded)
	if err != nil {
		out.Verdict, out.Detail = Inconclusive, err.Error()
		return out
	}
	was := way(recorded.Steps)
	control := newReplay(recorded.Snapshot, inst.DefinitionID, given).run()
	if at, _, _ := diverges(was, way(control.steps)); at != "" || control.ends() != endOf(inst) {
		out.Verdict = Inconclusive
		out.Detail = "played through its own definition the case does not go the way it went: an event or an intervention moved it that its steps do not show"
		return out
	}
	seen := newReplay(draft, inst.DefinitionID, given).run()
	out.Path, out.Ends = seen.Path, seen.ends()
	out.DivergesAt, out.Recorded, out.Draft = diverges(was, way(seen.steps))
	switch {
	case out.DivergesAt != "":
		out.Verdict = Differs
		out.Detail = fmt.Sprintf("at %s it went %s, the draft goes %s and ends %s", out.DivergesAt, out.Recorded, out.Draft, out.Ends)
	case out.Ends != endOf(inst):
		out.Verdict = Differs
		out.Detail = fmt.Sprintf("it ended %s, under the draft it ends %s", endOf(inst), out.Ends)
	}
	return out
}

// newReplay is a play in which people come back to a halted case when they did.
func newReplay(snap *definition.Snapshot, definitionID rondo.ID, given *Given) *play {
	p := newPlay(snap, definitionID, given)
	p.comeback = func(p *play) {
		halted := p.state.Instance.HaltStepID
		script := p.given.Steps[halted]
		if used := p.used[halted]; used < len(script) && !script[used].at.IsZero() {
			p.now = later(p.now, script[used].began)
			p.decide(flow.Command{Action: string(rondo.ActionResume), By: tester, Reason: "as recorded"})
		}
	}
	return p
}

// replayOf turns a record into the world that it met.
func replayOf(r Recorded) (*Given, error) {
	inst := r.Instance
	var about struct {
		Images   json.RawMessage `json:"images"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(inst.Context["case"], &about); err != nil {
		return nil, fmt.Errorf("its context has no case: %w", err)
	}
	created := map[string]json.RawMessage{"orchestration_mode": json.RawMessage(`"` + string(inst.Mode) + `"`)}
	for name, value := range map[string]json.RawMessage{"images": about.Images, "metadata": about.Metadata, "patient_id": inst.Context["patient_id"]} {
		if len(value) > 0 && string(value) != "null" {
			created[name] = value
		}
	}
	payload, err := json.Marshal(created)
	if err != nil {
		return nil, fmt.Errorf("its case cannot be written: %w", err)
	}
	given := &Given{Case: payload, CaseID: inst.CaseID, ProductID: inst.ProductID, Start: inst.StartedAt, Steps: map[string]Script{}}
	if inst.Status == rondo.StatusCancelled {
		given.Actions = []Action{{After: Duration(inst.CompletedAt.Sub(inst.StartedAt)), Action: string(rondo.ActionCancel)}}
	}
	rows := slices.Clone(r.Steps)
	slices.SortStableFunc(rows, func(a, b rondo.Step) int { return cmp.Compare(a.Attempt, b.Attempt) })
	for i := range rows {
		row := &rows[i]
		if step := r.Snapshot.Steps[row.StepID]; step == nil || !waits(step) {
			continue
		}
		if answer, ok := answerOf(row); ok {
			given.Steps[row.StepID] = append(given.Steps[row.StepID], answer)
		}
	}
	return given, nil
}

// answerOf is what became of a recorded attempt; false when it says nothing: the
// attempt was given up in favour of another.
func answerOf(row *rondo.Step) (Answer, bool) {
	a := Answer{at: row.CompletedAt, began: row.StartedAt}
	switch row.Status {
	case rondo.StepCompleted:
		a.Complete = orEmpty(row.Output)
	case rondo.StepFailed:
		a.Fail = failureOf(row.Error)
	case rondo.StepTimedOut:
		a.Silent = true
	case rondo.StepSkipped:
		if row.Outcome == "" {
			return Answer{}, false
		}
		a.skip, a.output = row.Outcome, row.Output
	default:
		return Answer{}, false
	}
	return a, true
}

// failureOf turns the error of a row back into what the module said.
func failureOf(raw json.RawMessage) json.RawMessage {
	var said struct {
		Code      string          `json:"code"`
		Retryable bool            `json:"retryable"`
		Error     json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return json.RawMessage("{}")
	}
	failed, err := json.Marshal(struct {
		ReasonCode string          `json:"reason_code,omitempty"`
		Retryable  bool            `json:"retryable"`
		Error      json.RawMessage `json:"error,omitempty"`
	}{said.Code, said.Retryable, said.Error})
	if err != nil {
		return json.RawMessage("{}")
	}
	return failed
}

// taken is one step and the transition that was followed from it.
type taken struct{ step, outcome string }

// way is the decisions of a case, in order: retries and halts on the way to an
// outcome do not count.
func way(rows []rondo.Step) []taken {
	var steps []taken
	for i := range rows {
		if rows[i].Outcome != "" {
			steps = append(steps, taken{rows[i].StepID, rows[i].Outcome})
		}
	}
	return steps
}

// diverges finds the first step of either way that the other takes differently,
// or not at all. Branches run side by side, so only what became of each step
// counts, not the order among them.
func diverges(was, is []taken) (at, recorded, draft string) {
	before, after := outcomes(was), outcomes(is)
	for _, t := range slices.Concat(was, is) {
		if before[t.step] != after[t.step] {
			return t.step, or(before[t.step], "not there"), or(after[t.step], "not there")
		}
	}
	return "", "", ""
}

// outcomes are the last outcomes of each step.
func outcomes(way []taken) map[string]string {
	last := make(map[string]string, len(way))
	for _, t := range way {
		last[t.step] = t.outcome
	}
	return last
}

// ends says how a played case ends.
func (s *Seen) ends() string {
	if s.Status == rondo.StatusRunning {
		return "waiting at " + strings.Join(s.Waiting, ", ")
	}
	if s.Status == rondo.StatusHalted {
		return "halted: " + s.HaltReason
	}
	return string(s.Status)
}

// endOf says how a recorded case ended.
func endOf(inst *rondo.Instance) string {
	if inst.Status == rondo.StatusHalted {
		return "halted: " + inst.HaltReason
	}
	return string(inst.Status)
}
