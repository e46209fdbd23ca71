package turn

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

func TestClientsAreAdvisedWhatToShow(t *testing.T) {
	d := shipped(t, "default")
	for _, test := range []struct {
		value, want string
		suggested   []string
	}{
		{value: `{"action":"confirm"}`, want: `["confirmation",null]`},
		{value: `{"action":"confirm","choices":["a"]}`, want: `["confirmation",["a"]]`},
		{value: `{"action":"ask","choices":["a","b"]}`, want: `["choice",["a","b"]]`},
		{value: `{"action":"ask","data":{"choices":["c"]}}`, want: `["choice",["c"]]`},
		{value: `{"action":"ask"}`, suggested: []string{"s"}, want: `["choice",["s"]]`},
		{value: `{"choices":["a"]}`, suggested: []string{"s"}, want: `["choice",["a"]]`},
		{value: `{"choices":[1]}`, want: `["text",null]`},
		{value: `{"choices":[]}`, want: `["text",null]`},
		{value: `{"action":"complete"}`, want: `["none",null]`},
		{value: `{"action":"dance","choices":["a"]}`, want: `["text",null]`},
		{value: `null`, want: `["text",null]`},
	} {
		reply := says(test.value)
		reply.Suggested = test.suggested
		state := decided(t, d, begun(t, d), reply).State
		var choices any = state.Choices
		if len(state.Choices) == 0 {
			choices = nil
		}
		if got := js(t, []any{state.SuggestedInputType, choices}); got != test.want {
			t.Errorf("%s %v: got %s, want %s", test.value, test.suggested, got, test.want)
		}
	}
	if start, err := d.Start(noon, says(`{"action":"ask","choices":["a"]}`)); err != nil || js(t, start.State.Choices) != `["a"]` || start.State.Step != "initial" {
		t.Errorf("a greeting that offers choices gives %s, %v", js(t, start.State), err)
	}
	start, err := d.Start(noon, Reply{Suggested: []string{"Hi"}})
	if err != nil || start.State.SuggestedInputType != rondo.InputChoice {
		t.Errorf("a greeting with suggestions gives %q, %v", start.State.SuggestedInputType, err)
	}
}

func TestProgressCountsAlongTheSteps(t *testing.T) {
	steps := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	d := &Definition{Steps: steps}
	for _, test := range []struct {
		step           string
		status         rondo.WorkflowStatus
		index, percent int
	}{
		{"a", "active", 0, 0},
		{"b", "active", 1, 13},
		{"c", "error", 2, 25},
		{"d", "active", 3, 38},
		{"h", "active", 7, 88},
		{"h", "completed", 7, 100},
		{"x", "active", 0, 0},
		{"x", "completed", 0, 100},
	} {
		p := d.progress(test.step, test.status)
		if p.StepIndex != test.index || p.PercentComplete != test.percent || p.TotalSteps != 8 || p.CurrentStep != test.step {
			t.Errorf("%s %s: %+v", test.step, test.status, p)
		}
	}
	state := begun(t, shipped(t, "default"))
	if state.Progress == nil || *state.Progress != 0 {
		t.Error("there is no progress at the start")
	}
	state = decided(t, shipped(t, "default"), state, says(`{"action":"confirm"}`)).State
	if *state.Progress != 0.6 || state.CurrentPhase != "confirm" || state.LastRecommendation != `{"action":"confirm"}` {
		t.Errorf("progress %v, phase %q, recommendation %s", *state.Progress, state.CurrentPhase, state.LastRecommendation)
	}
	state = decided(t, shipped(t, "default"), state, talks("hm")).State
	if state.LastRecommendation != `{"action":"confirm"}` {
		t.Errorf("talk changed the last recommendation to %q", state.LastRecommendation)
	}
}
