package turn

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// recording takes turns and keeps their records as they are stored.
type recording struct {
	t       *testing.T
	d       *Definition
	state   rondo.ConversationState
	records []rondo.TurnRecord
	now     time.Time
}

func record(t *testing.T, d *Definition) *recording {
	t.Helper()
	r := &recording{t: t, d: d, now: noon}
	out, err := d.Start(r.now, talks("Hello"))
	r.keep(out, err)
	return r
}

func (r *recording) keep(out Outcome, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.state = stored(r.t, out.State)
	out.Record.Number = len(r.records) + 1
	if out.Record.Kind != rondo.TurnByTimer {
		out.Record.Response = json.RawMessage(js(r.t, rondo.WorkflowResponse{Messages: out.Parsed.DisplayMessages, WorkflowState: out.State.WorkflowState}))
	}
	var kept rondo.TurnRecord
	if err := json.Unmarshal([]byte(js(r.t, out.Record)), &kept); err != nil {
		r.t.Fatal(err)
	}
	r.records = append(r.records, kept)
}

func (r *recording) say(reply Reply) {
	r.t.Helper()
	r.now = r.now.Add(time.Minute)
	out, err := r.d.Decide(Input{Before: r.state, Kind: rondo.TurnByText, Reply: reply, Now: r.now})
	r.keep(out, err)
}

func (r *recording) fire() {
	r.t.Helper()
	timer := r.state.Timers[0]
	r.now = timer.DueAt.Add(time.Second)
	out, err := r.d.Fire(r.state, timer.ID, r.now)
	r.keep(out, err)
}

// steps is what was reached, now and then, with a mark where they differ.
func steps(r Replayed) string {
	var b strings.Builder
	for _, turn := range r.Turns {
		b.WriteString(turn.Kind + ":" + turn.Then.Step + "/" + turn.Now.Step)
		if turn.Differs {
			b.WriteString("!")
		}
		if turn.Refused {
			b.WriteString("-")
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

// paid is a conversation with a timer in it.
func paid(t *testing.T) *recording {
	t.Helper()
	r := record(t, shipped(t, "payment"))
	r.say(says(`{"data":{"amount":5}}`))
	r.fire()
	r.say(talks("hm"))
	r.say(says(`{"data":{"payment_method":"card"}}`))
	r.say(says(`{"data":{"confirmed":true}}`))
	return r
}

func TestReplayingThroughTheSameDefinitionIsTheSame(t *testing.T) {
	r := paid(t)
	replayed, err := Replay(r.d, r.records)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(replayed); got != "start:gathering/gathering text:gathering/gathering timer:retry/retry text:gathering/gathering text:confirming/confirming text:success/success" {
		t.Error(got)
	}
	if replayed.FirstDifference != nil {
		t.Errorf("the first difference is turn %d", *replayed.FirstDifference)
	}
	last := replayed.Turns[len(replayed.Turns)-1]
	if js(t, last.Then) != js(t, last.Now) {
		t.Errorf("then %s, now %s", js(t, last.Then), js(t, last.Now))
	}
}

func TestATimerThatFiredLateIsReplayedLate(t *testing.T) {
	r := record(t, shipped(t, "payment"))
	r.now = r.state.Timers[0].DueAt // due, but the next turn comes first
	r.say(talks("hm"))
	r.now = r.now.Add(time.Minute)
	out, err := r.d.Fire(r.state, r.state.Timers[0].ID, r.now)
	r.keep(out, err)
	replayed, err := Replay(r.d, r.records)
	if got := steps(replayed); err != nil || got != "start:gathering/gathering text:gathering/gathering timer:retry/retry" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestReplayingThroughAnotherDefinitionTellsTheDifference(t *testing.T) {
	r := paid(t)
	body := string(Shipped()["payment"])
	for _, test := range []struct{ name, from, to, want string }{
		{
			"it needs less", `context.collectedData.payment_method != null && `, ``,
			"start:gathering/gathering text:gathering/confirming! timer:retry/confirming! text:gathering/confirming! text:confirming/confirming text:success/success",
		},
		{
			"its timer comes earlier and ends it", `"600000": { "actions": { "type": "raise", "event": { "type": "TIMEOUT" } } }`, `"30000": "cancelled"`,
			"start:gathering/gathering text:gathering/cancelled!- timer:retry/cancelled! text:gathering/cancelled!- text:confirming/cancelled!- text:success/cancelled!-",
		},
		{
			"it ends at once", `"confirming": { "on": { "CONFIRM": "success" } }`, `"confirming": { "type": "final" }`,
			"start:gathering/gathering text:gathering/gathering timer:retry/retry text:gathering/gathering text:confirming/confirming! text:success/confirming!-",
		},
	} {
		changed := strings.Replace(body, test.from, test.to, 1)
		if changed == body {
			t.Fatalf("%s: nothing was changed", test.name)
		}
		replayed, err := Replay(compiled(t, changed), r.records)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := steps(replayed); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
		if replayed.FirstDifference == nil {
			t.Errorf("%s: no difference", test.name)
		}
	}
}

func TestTimersThatFireForEverEndTheReplay(t *testing.T) {
	r := paid(t)
	restless := compiled(t, `{"name":"restless","steps":["a"],"machine":{"initial":"a","states":{"a":{"after":{"0":"b"}},"b":{"after":{"0":"a"}}}}}`)
	replayed, err := Replay(restless, r.records)
	if err != nil || len(replayed.Turns) != 2 || !strings.Contains(replayed.Turns[1].Error, "timers") {
		t.Errorf("%s, %v", js(t, replayed), err)
	}
}

func TestARuleThatFailsEndsTheReplay(t *testing.T) {
	r := paid(t)
	failing := strings.Replace(string(Shipped()["payment"]), `context.collectedData.payment_method != null`, `context.collectedData.payment_method < 1`, 1)
	replayed, err := Replay(compiled(t, failing), r.records)
	if err != nil || len(replayed.Turns) != 2 || replayed.Turns[1].Error == "" || *replayed.FirstDifference != 2 {
		t.Errorf("%s, %v", js(t, replayed), err)
	}
}

func TestWhatWasNotRecordedIsNotReplayed(t *testing.T) {
	r := paid(t)
	lacking := append([]rondo.TurnRecord{}, r.records...)
	lacking[1].Reply = nil
	for name, records := range map[string][]rondo.TurnRecord{"no start": r.records[1:], "no reply": lacking} {
		if _, err := Replay(r.d, records); rondo.CodeOf(err) != rondo.CodeWrongState {
			t.Errorf("%s: %v", name, err)
		}
	}
	if replayed, err := Replay(r.d, nil); err != nil || js(t, replayed) != `{"turns":[],"firstDifference":null}` {
		t.Errorf("nothing: %s, %v", js(t, replayed), err)
	}
}

func TestReplaysSeeWhatWasShown(t *testing.T) {
	t.Parallel()
	d := compiled(t, `{"name":"shown","steps":["quiet","shown"],
		"signals":[{"when":"len(turn.displayMessages) == 1 && turn.citations == [] && turn.data.data == null","event":"SHOWN"}],
		"machine":{"id":"shown","initial":"quiet","states":{"quiet":{"on":{"SHOWN":"shown"}},"shown":{"type":"final"}}}}`)
	r := record(t, d)
	r.say(talks("look"))
	replayed, err := Replay(d, r.records)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(replayed); got != "start:quiet/quiet text:shown/shown" {
		t.Errorf("replayed %s", got)
	}
}
