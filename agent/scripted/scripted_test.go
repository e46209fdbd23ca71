package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/scripted"
)

func newAgent(t *testing.T, source string) *scripted.Agent {
	t.Helper()
	script, err := scripted.Parse("test.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(script)
}

func TestItIsAnAgent(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, func(t *testing.T) agent.Agent { return newWalk(t).agent })
}

func query(step, data, turn, text string) rondo.Activity {
	return rondo.Activity{Text: "[CONTEXT]\nPhase: " + step + "\nCollected data: " + data + "\nTurn number: " + turn + "\n[/CONTEXT]\n\n" + text}
}

func TestTheFirstRuleThatHoldsAnswers(t *testing.T) {
	t.Parallel()
	a := newAgent(t, `
rules:
  - {when: {text: '^go$', turn: [1, 3]}, reply: [{text: by turn}]}
  - {when: {contains: [HELP, hilfe]}, reply: [{text: by part}]}
  - {when: {step: [a, b], has: [x, y], lacks: z}, reply: [{text: by data}]}
  - {when: {step: a}, reply: [{text: by step}]}
  - {when: {lacks: q}, reply: [{text: by lack}]}
  - {when: {cardAction: [Action.Submit], submitted: {n: 1, deep: {a: [true, null]}}}, reply: [{text: by members}]}
  - {when: {cardAction: Action.Submit}, reply: [{text: by action}]}
  - {when: {cardAction: '*'}, reply: [{text: by card}]}
  - {reply: [{text: otherwise}]}
`)
	card := func(value string) rondo.Activity { return rondo.Activity{Value: json.RawMessage(value)} }
	for want, messages := range map[string][]rondo.Activity{
		"by turn":    {query("x", `{}`, "1", "go"), query("x", `{}`, "3", "go")},
		"by part":    {query("x", `{}`, "0", "please Help"), {Text: "HILFE"}},
		"by data":    {query("a", `{"x":1,"y":null}`, "0", "hi"), query("b", `["x","y"]`, "0", "hi")},
		"by step":    {query("a", `{"x":1,"y":1,"z":1}`, "0", "hi"), query("a", `{"x":1}`, "2", "go")},
		"by lack":    {query("c", `{}`, "0", "hi"), query("c", `"omitted"`, "0", "hi")},
		"by members": {card(`{"action":"Action.Submit","n": 1,"deep":{"a": [true, null]}}`)},
		"by action":  {card(`{"action":"Action.Submit","n":2}`), card(`{"action":"Action.Submit"}`)},
		"by card":    {card(`{"action":"Action.OpenUrl"}`), card(`{"action":7}`), card(`[1]`)},
		"otherwise":  {query("c", `{"q":1}`, "0", "hi"), {Text: "hi"}, {Text: "go"}, {}},
	} {
		for _, message := range messages {
			heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, message))
			if got := strings.Join(heard.Texts(), "|"); got != want || heard.Err != nil {
				t.Errorf("%+v is answered %q, %v, want %q", message, got, heard.Err, want)
			}
		}
	}
}

func TestPlaceholdersAreFilledInOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t, `
rules:
  - when: {text: '^(?P<first>\S+) (\S+)'}
    reply:
      - text: '${first} ${2} ${0} ${step} ${turn} ${data.name} ${data.none} $${text} $5 ${data.n}'
        value: {t: '${text}', n: '${data.n}', o: '${data.o}', none: '${data.none}', num: '${number:2}', nan: '${number:first}', mixed: 'x${data.n}', list: ['${turn}', 1.5, null], fixed: {a: true}}
        choices: ['${first}']
  - when: {cardAction: '*'}
    reply:
      - text: '${submitted.a} ${submitted.b}'
        card: {type: AdaptiveCard, data: '${submitted.b}'}
`)
	heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, query("s", `{"name":"${text} $& {}","n":1.50,"o":{"k":[1]}}`, "4", "${turn} 07 \"x\"\n<b>")))
	// 07 is no number to JSON, so it stays a text.
	const value = `{"t":"${turn} 07 \"x\"\n<b>","n":1.50,"o":{"k":[1]},"none":null,"num":"07","nan":"${turn}","mixed":"x1.50","list":[4,1.5,null],"fixed":{"a":true}}`
	const text = "${turn} 07 ${turn} 07 s 4 ${text} $& {}  ${text} $5 1.50"
	if heard.Err != nil || len(heard.Activities) != 1 {
		t.Fatalf("%+v, %v, want one activity", heard.Activities, heard.Err)
	}
	got := heard.Activities[0]
	if got.Text != text || string(got.Value) != value {
		t.Errorf("text  %s\nwant  %s\nvalue %s\nwant  %s", got.Text, text, got.Value, value)
	}
	if action := got.SuggestedActions.Actions[0]; action.Title != "${turn}" || string(action.Value) != `"${turn}"` {
		t.Errorf("the choice is %+v", action)
	}
	heard = agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Value: json.RawMessage(`{"a":"x","b":{"c":1}}`)}))
	if got := heard.Activities[0]; got.Text != `x {"c":1}` || string(got.Attachments[0].Content) != `{"type":"AdaptiveCard","data":{"c":1}}` {
		t.Errorf("a card is answered %q with %s", got.Text, got.Attachments[0].Content)
	}
}

func TestOtherActivitiesAndFailures(t *testing.T) {
	t.Parallel()
	a := newAgent(t, `
rules:
  - {when: {text: human}, reply: [{type: handoff}]}
  - {when: {text: bye}, reply: [{type: endOfConversation, code: completedSuccessfully}]}
  - {when: {text: half}, reply: [{text: half of it}], fail: {kind: malformed}}
  - {when: {text: busy}, fail: {kind: refused, status: 429, retryAfterMs: 1500}}
`)
	send := func(text string) *agenttest.Heard {
		return agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{Text: text}))
	}
	if got := send("human").Activities; len(got) != 1 || got[0].Type != rondo.ActivityHandoff {
		t.Errorf("%+v, want a handoff", got)
	}
	if got := send("bye").Activities; len(got) != 1 || got[0].Type != rondo.ActivityEndOfConversation || got[0].Code != "completedSuccessfully" {
		t.Errorf("%+v, want the end", got)
	}
	if got := send("half"); len(got.Texts()) != 1 || agent.KindOf(got.Err) != agent.KindMalformed {
		t.Errorf("%q, %v, want a text and then malformed", got.Texts(), got.Err)
	}
	if got, _ := errors.AsType[*agent.Error](send("busy").Err); got == nil || got.Status != 429 || got.RetryAfter != 1500*time.Millisecond {
		t.Errorf("%+v, want 429 and 1.5s", got)
	}
	if got := send("anything else"); agent.KindOf(got.Err) != agent.KindRefused || !strings.Contains(got.Err.Error(), "no rule") {
		t.Errorf("%v, want that no rule holds", got.Err)
	}
}

func TestADelayIsWaitedForUnlessTheCallIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, "rules: [{reply: [{text: slow, delayMs: 1500}]}]")
		began := time.Now()
		if heard := agenttest.Listen(t, a.Send(t.Context(), agent.Session{}, rondo.Activity{})); heard.Err != nil || time.Since(began) != 1500*time.Millisecond {
			t.Errorf("%v after %s, want an answer after 1.5s", heard.Err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if heard := agenttest.Listen(t, a.Send(ctx, agent.Session{}, rondo.Activity{})); !errors.Is(heard.Err, context.DeadlineExceeded) || heard.Activities != nil {
			t.Errorf("%v, want the context's own error and nothing said", heard.Err)
		}
	})
}
