package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// TestAnyDefinitionRunsToItsEnd draws definitions of every behaviour, with forks
// in forks, and gives them random inputs. The world checks after each what must
// always hold. Then the same inputs must lead to the same again, and a patient
// world that answers everything must bring the case to its end.
func TestAnyDefinitionRunsToItsEnd(t *testing.T) {
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		snapshot := compiled(t, drawDefinition(t))
		w := newWorld(snapshot)
		var inputs []timedInput
		do := func(in Input) {
			inputs = append(inputs, timedInput{w.now, in})
			count(reached, w.do(t, in))
			w.countForks(reached)
		}
		mode := rapid.SampledFrom([]rondo.Mode{rondo.ModeActive, rondo.ModeClientDriven}).Draw(t, "mode")
		created := w.inbound(event.TypeCaseCreated, w.caseID, json.RawMessage(fmt.Sprintf(`{"orchestration_mode":%q,"metadata":{"n":1,"tags":["a"]}}`, mode)))
		do(Event{Envelope: created, Raw: created.Encode()})
		for range rapid.IntRange(0, 30).Draw(t, "inputs") {
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 5, 30, 600}).Draw(t, "seconds")) * time.Second)
			do(w.drawInput(t))
		}
		again := newWorld(snapshot)
		for _, in := range inputs {
			again.now = in.at
			again.do(t, in.input)
		}
		if diff := cmp.Diff(w.everything(), again.everything()); diff != "" {
			t.Fatalf("the same inputs led elsewhere (-first +again):\n%s", diff)
		}
		w.finishPatiently(t)
	})
	for _, way := range []string{"completed", "halted", "cancelled", "retried", "timed_out", "skipped", "parked", "stale", "repeated", "resumed", "nested", "forked", "joined"} {
		if reached[way] == 0 {
			t.Errorf("no run ever reached %q: %v", way, reached)
		}
	}
}

func (w *world) countForks(reached map[string]int) {
	if w.state.Instance == nil {
		return
	}
	for _, fork := range w.state.Instance.Machine.Forks {
		reached["forked"]++
		if fork.Attempt.Fork != "" {
			reached["nested"]++
		}
		reached["joined"] += countJoined(&fork)
	}
}

// drawing is a definition being drawn.
type drawing struct {
	t     *rapid.T
	steps map[string]any
}

// drawDefinition draws a definition that publishing accepts.
func drawDefinition(t *rapid.T) []byte {
	d := &drawing{t: t, steps: map[string]any{"done": step("emit_final", nil, map[string]string{"on_complete": "TERMINAL"})}}
	start := d.chain(0, "done")
	source, err := json.Marshal(map[string]any{
		"name": "drawn", "start_step": start, "steps": d.steps, "workflow_timeout_seconds": 20000,
		"search": []string{"case.metadata.n"}, "sla": map[string]any{"warn_after_seconds": 100},
	})
	if err != nil {
		t.Fatalf("write definition: %v", err)
	}
	return source
}

func step(kind string, params map[string]any, transitions map[string]string) map[string]any {
	s := map[string]any{"kind": kind}
	if params != nil {
		s["params"] = params
	}
	if transitions != nil {
		s["transitions"] = transitions
	}
	return s
}

// chain draws steps that lead to target, and returns the first.
func (d *drawing) chain(depth int, target string) string {
	for range rapid.IntRange(1, 3).Draw(d.t, "length") {
		target = d.step(depth, target)
	}
	return target
}

// step draws one step that leads to next.
func (d *drawing) step(depth int, next string) string {
	id := fmt.Sprintf("s%d", len(d.steps))
	d.steps[id] = nil // taken
	kinds := []string{"no_op", "no_op", "credit_check", "condition", "delay", "wait_for_event", "manual", "emit_webhook"}
	if depth < 3 {
		kinds = append(kinds, "parallel", "parallel", "parallel")
	}
	kind := rapid.SampledFrom(kinds).Draw(d.t, "kind")
	var drawn map[string]any
	switch kind {
	case "credit_check":
		drawn = step(kind, nil, map[string]string{"on_good": next, "on_bad": d.elsewhere(next)})
	case "condition":
		drawn = step(kind, nil, map[string]string{"on_true": next, "on_false": d.elsewhere(next)})
		drawn["expr"] = rapid.SampledFrom([]string{"true", "case.metadata.n == 1", "sample(0.5)", "case.metadata.x < 1", "now() > 1767323100000"}).Draw(d.t, "expr")
	case "delay":
		drawn = step(kind, map[string]any{"seconds": rapid.IntRange(1, 50).Draw(d.t, "delay")}, map[string]string{"on_complete": next})
	case "wait_for_event":
		params := map[string]any{"event_type": rapid.SampledFrom([]string{"ext.paid", "ext.noop.completed"}).Draw(d.t, "type")}
		if rapid.Bool().Draw(d.t, "match") {
			params["match"] = "event.payload.go == true || event.payload.score > 50"
		}
		drawn = step(kind, params, map[string]string{"on_event": next})
	case "manual":
		drawn = step(kind, map[string]any{"title": "t", "outcomes": []string{"yes"}}, map[string]string{"yes": next})
	case "emit_webhook":
		drawn = step(kind, map[string]any{"event_name": "n"}, map[string]string{"on_complete": next})
	case "parallel":
		branches := map[string]string{}
		for i := range rapid.IntRange(1, 3).Draw(d.t, "branches") {
			branches[fmt.Sprintf("b%d", i)] = d.chain(depth+1, "JOIN")
		}
		need := rapid.IntRange(1, len(branches)).Draw(d.t, "need")
		drawn = step(kind, map[string]any{"branches": branches, "join": map[string]int{"at_least": need}}, map[string]string{"on_complete": next})
	default:
		drawn = step(kind, nil, map[string]string{"on_complete": next})
	}
	d.timing(drawn, kind, next)
	d.steps[id] = drawn
	return id
}

// elsewhere is another way: past what comes next, or to a halt.
func (d *drawing) elsewhere(next string) string {
	if rapid.Bool().Draw(d.t, "same") {
		return next
	}
	id := fmt.Sprintf("s%d", len(d.steps))
	d.steps[id] = step("halt", map[string]any{"reason_code": "step_failed"}, nil)
	return id
}

// timing draws timeouts and retries for what can have them.
func (d *drawing) timing(drawn map[string]any, kind, next string) {
	switch kind {
	case "condition", "emit_webhook", "delay":
		return
	}
	if rapid.Bool().Draw(d.t, "retries") {
		drawn["max_retries"], drawn["retry_backoff"] = 1, "fixed"
	}
	if !rapid.Bool().Draw(d.t, "times out") {
		return
	}
	drawn["timeout_seconds"] = rapid.SampledFrom([]int{5, 30, 60, 600}).Draw(d.t, "timeout")
	drawn["sla"] = map[string]any{"breach_after_seconds": 40}
	if drawn["max_retries"] != nil {
		drawn["retry_on_timeout"] = true
	}
	if rapid.Bool().Draw(d.t, "handled") {
		drawn["transitions"].(map[string]string)["on_timeout"] = next
	}
}

// drawInput draws what happens next: mostly what the case waits for.
func (w *world) drawInput(t *rapid.T) Input {
	inst, snap := w.state.Instance, w.state.Snapshot
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0:
		return Command{Action: rapid.SampledFrom([]string{ActionHalt, ActionResume, ActionResume, "retry_step"}).Draw(t, "action"), By: "ann", Reason: "because"}
	case 1:
		if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
			return Timer{Heal: rapid.Bool().Draw(t, "heal")}
		}
		return Command{Action: ActionCancel, By: "ann"}
	case 2:
		mode := rapid.SampledFrom([]rondo.Mode{rondo.ModeActive, rondo.ModeClientDriven}).Draw(t, "mode")
		return Command{Action: "set_mode", By: "ann", Mode: mode}
	case 3:
		id := rapid.SampledFrom(snap.Order).Draw(t, "step")
		outcomes := slices.Sorted(maps.Keys(snap.Steps[id].Transitions))
		if len(outcomes) == 0 {
			return Timer{Resend: true}
		}
		return Command{Action: "skip_step", By: "ann", StepID: id, Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome")}
	case 4, 5:
		return Timer{}
	case 6:
		return w.randomEvent(t, rapid.SampledFrom([]string{"ext.paid", "ext.noop.completed", "ext.noop.failed", "ext.credit.completed", "ext.unheard"}).Draw(t, "type"), w.randomCorrelation(t))
	}
	if len(inst.Machine.Live) == 0 {
		return Command{Action: ActionResume, By: "ann"}
	}
	att := rapid.SampledFrom(inst.Machine.Live).Draw(t, "live")
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		if failed := snap.Steps[att.StepID].Contract.Failed; failed != "" {
			return w.randomEvent(t, failed, att.CorrelationID)
		}
	}
	return w.answerTo(&att)
}

// answerTo is what a live attempt waits for.
func (w *world) answerTo(att *rondo.Attempt) Input {
	step := w.state.Snapshot.Steps[att.StepID]
	tell := func(eventType, correlation, payload string) Input {
		e := w.inbound(eventType, correlation, json.RawMessage(payload))
		return Event{Envelope: e, Raw: e.Encode()}
	}
	switch {
	case att.Status == rondo.StepPending || step.Contract.Behaviour == definition.BehaviourDelay:
		return Timer{}
	case step.Contract.Behaviour == definition.BehaviourWait:
		return tell(step.WaitFor, "c-outside", `{"go":true,"score":60}`)
	case step.Contract.Behaviour == definition.BehaviourManual:
		return Command{Action: "complete_step", By: "ann", StepID: att.StepID, Outcome: step.Manual.Outcomes[0]}
	}
	correlation := att.CorrelationID
	payload := `{"score":60}`
	if w.state.Instance.Mode == rondo.ModeClientDriven {
		w.sent++
		correlation = fmt.Sprintf("fresh-%d", w.sent)
		payload = fmt.Sprintf(`{"score":60,"step_id":%q}`, att.StepID)
	}
	return tell(step.Contract.Completed, correlation, payload)
}

// finishPatiently answers whatever the case waits for and gets it past its halts,
// until it has ended. A way that always halts is given up at some time.
func (w *world) finishPatiently(t *rapid.T) {
	t.Helper()
	halts := 0
	for range 200 {
		inst := w.state.Instance
		if inst.Status == rondo.StatusHalted {
			halts++
		}
		switch {
		case inst.Status.Terminal():
			return
		case inst.Status == rondo.StatusHalted && (halts > 20 || inst.DeadlineExceeded || !w.now.Before(inst.DeadlineAt)):
			w.do(t, Command{Action: ActionCancel, By: "ann"})
		case inst.Status == rondo.StatusHalted:
			w.skipHalt(t, inst)
		default:
			att := inst.Machine.Live[0]
			in := w.answerTo(&att)
			if _, isTimer := in.(Timer); isTimer {
				w.now = Due(inst)
			}
			w.do(t, in)
		}
	}
	t.Fatalf("the case does not end: %+v", w.state.Instance.Machine)
}

// skipHalt goes the good way from where the case halted; what has only a bad way
// is tried again.
func (w *world) skipHalt(t *rapid.T, inst *rondo.Instance) {
	t.Helper()
	step := w.state.Snapshot.Steps[inst.HaltStepID]
	for _, outcome := range []string{"on_complete", "on_true", "on_good", "on_event", "yes"} {
		if step.Transitions[outcome] == "" {
			continue
		}
		if d := w.do(t, Command{Action: "skip_step", By: "ann", StepID: step.ID, Outcome: outcome}); d.Refused != nil {
			t.Fatalf("skip %s at %s: %v", outcome, step.ID, d.Refused)
		}
		return
	}
	t.Fatalf("halted at %s, which has no good way: %s", step.ID, strings.Join(slices.Sorted(maps.Keys(step.Transitions)), " "))
}
