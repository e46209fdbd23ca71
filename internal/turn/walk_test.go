package turn

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// described tells where a turn led in one line.
func described(o Outcome) string {
	s := o.State
	return fmt.Sprintf("%s %s %d%% %s", s.Step, s.Status, o.Progress.PercentComplete, s.SuggestedInputType)
}

func TestDefaultFollowsTheActions(t *testing.T) {
	d := shipped(t, "default")
	start, err := d.Start(noon, talks("Hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(start); got != "initial active 0% text" || start.State.TurnCount != 0 || js(t, start.State.CollectedData) != "{}" {
		t.Errorf("it starts at %s", js(t, start.State))
	}
	reached := map[string]string{
		"ask": "gather_info active 20% text", "research": "research active 40% text", "confirm": "confirm active 60% confirmation",
		"complete": "complete completed 100% none",
	}
	states := map[string]rondo.ConversationState{"start": start.State}
	for action, want := range reached { // every action from every step, with and without an error before
		if action == "complete" {
			continue
		}
		out := decided(t, d, start.State, says(`{"action":"`+action+`"}`))
		if got := described(out); got != want {
			t.Errorf("%s leads to %s, want %s", action, got, want)
		}
		states[action] = out.State
	}
	for from, state := range states {
		failed := decided(t, d, state, says(`{"action":"error"}`))
		if failed.State.Status != rondo.WorkflowError || failed.State.Step != state.Step || failed.Status != rondo.ConversationActive {
			t.Errorf("an error after %s leads to %s", from, described(failed))
		}
		again := decided(t, d, decided(t, d, failed.State, says(`{"action":"error"}`)).State, talks("sorry"))
		if again.State.Status != rondo.WorkflowError {
			t.Errorf("an error ends by itself after %s: %s", from, described(again))
		}
		for action, want := range reached {
			for name, before := range map[string]rondo.ConversationState{"sound": state, "failed": failed.State, "still failed": again.State} {
				out := decided(t, d, before, says(`{"action":"`+action+`"}`))
				if got := described(out); got != want || !out.Record.Handled {
					t.Errorf("%s after %s (%s) leads to %s, want %s", action, from, name, got, want)
				}
				if (out.Status == rondo.ConversationCompleted) != (action == "complete") {
					t.Errorf("%s makes the conversation %s", action, out.Status)
				}
			}
		}
		if out := decided(t, d, state, talks("hm")); out.State.Step != state.Step || out.Record.Handled || out.State.TurnCount != state.TurnCount+1 {
			t.Errorf("talk after %s leads to %s", from, described(out))
		}
	}
}

func TestPaymentWalksEveryWay(t *testing.T) {
	const (
		both     = `{"data":{"payment_method":"card","amount":5.00}}`
		hasty    = `{"data":{"payment_method":"card","amount":5.00,"confirmed":true}}`
		amount   = `{"data":{"amount":5.00}}`
		method   = `{"data":{"payment_method":"card"}}`
		confirm  = `{"data":{"confirmed":true}}`
		named    = `{"signal":"CONFIRM"}`
		decline  = `{"signal":"USER_DECLINED"}`
		declined = `{"data":{"declined":true}}`
		timeout  = `{"signal":"TIMEOUT"}`
		talk     = ``
	)
	for name, walk := range map[string]struct {
		said []string
		want string
	}{
		"at the start":                   {nil, "gathering active"},
		"talk":                           {[]string{talk}, "gathering active"},
		"all at once":                    {[]string{both}, "confirming active"},
		"amount first":                   {[]string{amount}, "gathering active"},
		"amount then method":             {[]string{amount, talk, method}, "confirming active"},
		"null is not there":              {[]string{`{"data":{"payment_method":"card","amount":null}}`}, "gathering active"},
		"confirm is not for gathering":   {[]string{confirm}, "gathering active"},
		"all at once, confirmed too":     {[]string{hasty}, "confirming active"},
		"hasty in retry":                 {[]string{timeout, hasty}, "confirming active"},
		"hasty and confirmed again":      {[]string{hasty, confirm}, "success completed"},
		"confirmed":                      {[]string{both, confirm}, "success completed"},
		"confirmed by name":              {[]string{both, named}, "success completed"},
		"declined at once":               {[]string{decline}, "cancelled completed"},
		"declined in retry":              {[]string{timeout, declined}, "cancelled completed"},
		"declined in confirming":         {[]string{both, declined}, "cancelled completed"},
		"timeout":                        {[]string{timeout}, "retry active"},
		"timeout in the third turn":      {[]string{talk, talk, timeout}, "retry active"},
		"timeout after three turns":      {[]string{talk, talk, talk, timeout}, "gathering active"},
		"timeout is not for confirming":  {[]string{both, timeout}, "confirming active"},
		"all in retry":                   {[]string{timeout, both}, "confirming active"},
		"the rest in retry":              {[]string{amount, timeout, method}, "confirming active"},
		"some in retry":                  {[]string{timeout, amount}, "gathering active"},
		"talk in retry":                  {[]string{timeout, talk}, "gathering active"},
		"again from retry":               {[]string{timeout, talk, timeout}, "retry active"},
		"a timeout in retry is too late": {[]string{timeout, timeout}, "retry active"},
	} {
		d := shipped(t, "payment")
		state := begun(t, d)
		for _, said := range walk.said {
			reply := talks("hm")
			if said != talk {
				reply = says(said)
			}
			state = decided(t, d, state, reply).State
		}
		if got := state.Step + " " + string(state.Status); got != walk.want {
			t.Errorf("%s: reached %s, want %s", name, got, walk.want)
		}
		if waits := len(state.Timers) == 1; waits != (state.Step == "gathering") {
			t.Errorf("%s: the timers are %v", name, state.Timers)
		}
	}
}

func TestPaymentTimesOutByItsTimer(t *testing.T) {
	d := shipped(t, "payment")
	state := begun(t, d)
	if len(state.Timers) != 1 || state.Timers[0].Kind != rondo.TimerAfter || !state.Timers[0].DueAt.Equal(noon.Add(10*time.Minute)) {
		t.Fatalf("timers are %v", state.Timers)
	}
	deadline := rondo.ConversationTimer{ID: "deadline", Kind: rondo.TimerDeadline, DueAt: noon.Add(time.Hour)}
	state.Timers = append(state.Timers, deadline)
	fired, err := d.Fire(stored(t, state), state.Timers[0].ID, noon.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if got := described(fired); got != "retry active 0% text" || fired.State.TurnCount != 0 || !fired.Record.Handled || !fired.Meta.StateChanged {
		t.Errorf("the timer leads to %s, record %s", got, js(t, fired.Record))
	}
	if len(fired.State.Timers) != 1 || fired.State.Timers[0] != deadline {
		t.Errorf("timers left are %v", fired.State.Timers)
	}
	gone, err := d.Fire(fired.State, state.Timers[0].ID, noon.Add(time.Hour))
	if err != nil || gone.Record.Handled || gone.Meta.StateChanged {
		t.Errorf("a timer that does not wait any more: %s, %v", js(t, gone.Record), err)
	}
	late := state
	late.TurnCount = 3
	stays, err := d.Fire(late, state.Timers[0].ID, noon.Add(10*time.Minute))
	if err != nil || stays.State.Step != "gathering" || len(stays.State.Timers) != 1 {
		t.Errorf("after three turns the timer leads to %s, timers %v, %v", described(stays), stays.State.Timers, err)
	}
	done := decided(t, d, fired.State, says(`{"signal":"USER_DECLINED"}`))
	if done.State.Timers != nil {
		t.Errorf("what is completed still waits for %v", done.State.Timers)
	}
}
