package scripted_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/turn"
)

const examples = "../../examples"

// talk takes a script through a definition, as turns do.
type talk struct {
	t          *testing.T
	agent      *scripted.Agent
	definition *turn.Definition
	state      rondo.ConversationState
	heard      string // the last text
	effects    []turn.Effect
	now        time.Time
}

// talkBy begins a conversation of an example definition.
func talkBy(t *testing.T, name string, script *scripted.Script) *talk {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(examples, "definitions", "conversations", name))
	if err != nil {
		t.Fatal(err)
	}
	draft, err := definition.ParseDraftOf(rondo.KindConversation, source)
	if err != nil {
		t.Fatal(err)
	}
	compiled, problems := turn.Compile(draft.Body)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	talk := &talk{t: t, agent: scripted.New(script), definition: compiled, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	started, err := compiled.Start(talk.now, turn.Reply{})
	if err != nil {
		t.Fatal(err)
	}
	talk.state = started.State
	return talk
}

func demoTalk(t *testing.T) *talk {
	t.Helper()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	return talkBy(t, "intake-talk.yaml", script)
}

func pizzaTalk(t *testing.T) *talk {
	t.Helper()
	script, err := scripted.Load(filepath.Join(examples, "agents", "pizza.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return talkBy(t, "pizza.yaml", script)
}

// say is a turn by text, after which the conversation stands at step.
func (c *talk) say(text, step string) {
	c.t.Helper()
	query, _ := c.definition.Query(c.state, text)
	c.turn(rondo.TurnByText, rondo.Activity{Type: rondo.ActivityMessage, Text: query}, step)
}

// submit is a turn by card.
func (c *talk) submit(value, step string) {
	c.t.Helper()
	c.turn(rondo.TurnByCard, rondo.Activity{Type: rondo.ActivityMessage, Value: json.RawMessage(value)}, step)
}

func (c *talk) turn(kind string, message rondo.Activity, step string) {
	c.t.Helper()
	var answer []rondo.Activity
	for chunk, err := range c.agent.Send(c.t.Context(), agent.Session{ConversationID: "c"}, message) {
		if err != nil {
			c.t.Fatal(err)
		}
		if chunk.Activity != nil {
			answer = append(answer, *chunk.Activity)
			c.heard = chunk.Activity.Text
		}
	}
	ids := 0
	reply := turn.Normalize(answer, func() string { ids++; return strconv.Itoa(ids) })
	out, err := c.definition.Decide(turn.Input{Before: c.state, Kind: kind, Reply: reply, Now: c.now})
	if err != nil {
		c.t.Fatal(err)
	}
	c.take(out, step)
}

// silence lets the only open timer go off.
func (c *talk) silence(step string) {
	c.t.Helper()
	if len(c.state.Timers) != 1 {
		c.t.Fatalf("%d timers are open, want one", len(c.state.Timers))
	}
	c.now = c.state.Timers[0].DueAt
	out, err := c.definition.Fire(c.state, c.state.Timers[0].ID, c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	c.take(out, step)
}

func (c *talk) take(out turn.Outcome, step string) {
	c.t.Helper()
	c.state = out.State
	c.effects = append(c.effects, out.Effects...)
	if c.state.Step != step {
		c.t.Fatalf("after %q it stands at %s, want %s", c.heard, c.state.Step, step)
	}
}

func (c *talk) completed(data string) {
	c.t.Helper()
	got, err := json.Marshal(c.state.CollectedData)
	if err != nil || string(got) != data || c.state.Status != rondo.WorkflowCompleted {
		c.t.Errorf("%s with %s (%v), want completed with %s", c.state.Status, got, err, data)
	}
}

func TestTheDemoCompletesTheExampleConversation(t *testing.T) {
	t.Parallel()
	c := demoTalk(t)
	c.say("hello", "asking")
	c.say("Zoe", "asking")
	c.say("Billing", "confirming")
	c.say("yes", "done")
	c.completed(`{"confirmed":true,"name":"Zoe","topic":"Billing"}`)
}

func TestTheDemoLetsThePersonOfTheExampleChangeTheirMind(t *testing.T) {
	t.Parallel()
	c := demoTalk(t)
	c.say("I'm Zoe", "asking")
	c.say("Billing", "confirming")
	c.say("hm", "confirming")
	c.say("no", "asking")
	c.say("Delivery", "confirming")
	c.silence("asking")
	c.say("Yes!", "confirming")
	c.say("yes", "done")
	c.completed(`{"confirmed":true,"name":"Zoe","topic":"Delivery"}`)
}

func TestTheDemoSaysTheSameFarewellToACardAndToAText(t *testing.T) {
	t.Parallel()
	typed, byCard := demoTalk(t), demoTalk(t)
	for _, c := range []*talk{typed, byCard} {
		c.say("My name is Zoe", "asking")
		c.say("Billing", "confirming")
	}
	typed.say("yes", "done")
	byCard.submit(`{"action":"Action.Submit","flow":"default","decision":"yes","cardId":"1"}`, "done")
	if typed.heard != byCard.heard {
		t.Errorf("a typed yes is answered %q, the card %q", typed.heard, byCard.heard)
	}
}

func TestTheDemoSaysThatItKnowsNoOtherConversation(t *testing.T) {
	t.Parallel()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	c := talkBy(t, "pizza.yaml", script)
	c.say("funghi", "ordering")
	const want = "I am the demo agent and know only the conversations default, payment and intake-talk. " +
		"For others, write a script of your own: see docs/conversations.md."
	if c.heard != want {
		t.Errorf("it says %q, want %q", c.heard, want)
	}
}

func TestThePizzaScriptTakesAnOrder(t *testing.T) {
	t.Parallel()
	c := pizzaTalk(t)
	c.say("hello", "ordering")
	c.say("Table 7", "ordering")
	c.say("a funghi", "confirming")
	c.say("no", "ordering")
	c.say("Margherita", "confirming")
	c.silence("ordering")
	c.say("table 8", "confirming")
	c.say("what?", "confirming")
	if len(c.effects) != 0 {
		t.Fatalf("told before it was confirmed: %+v", c.effects)
	}
	c.say("yes", "ordered")
	c.completed(`{"confirmed":true,"pizza":"Margherita","table":"table-8"}`)
	if len(c.effects) != 1 || c.effects[0].EventType != "ext.pizza.ordered" || c.effects[0].CaseID != "table-8" ||
		string(c.effects[0].Payload) != `{"pizza":"Margherita"}` {
		t.Errorf("the case is told %+v", c.effects)
	}
}
