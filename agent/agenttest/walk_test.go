package agenttest_test

import (
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/copilot"
	"github.com/rondo-engine/rondo/agent/openai"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/internal/turn"
)

func demo(t *testing.T) agent.Agent {
	t.Helper()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	return scripted.New(script)
}

// agents are the demo itself, and the demo behind each wire format.
func agents(t *testing.T) map[string]agent.Agent {
	t.Helper()
	overCopilot := httptest.NewServer(agenttest.NewCopilot(demo(t)))
	t.Cleanup(overCopilot.Close)
	overOpenAI := httptest.NewServer(agenttest.NewOpenAI(demo(t)))
	t.Cleanup(overOpenAI.Close)
	studio, err := copilot.New(copilot.Config{DirectConnectURL: overCopilot.URL + "/demo", Tokens: copilot.StaticToken("t")})
	if err != nil {
		t.Fatal(err)
	}
	model, err := openai.New(openai.Config{BaseURL: overOpenAI.URL, Key: "k", Model: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]agent.Agent{"scripted": demo(t), "copilot": studio, "openai": model}
}

// conversation is one that is decided as Rondo decides it.
type conversation struct {
	t          *testing.T
	agent      agent.Agent
	definition *turn.Definition
	state      rondo.ConversationState
	session    agent.Session
	ids        int
}

func open(t *testing.T, a agent.Agent, definition string) *conversation {
	t.Helper()
	compiled, err := turn.ShippedDefinition(definition)
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t, agent: a, definition: compiled, session: agent.Session{ConversationID: "c"}}
	heard := agenttest.Listen(t, a.Start(t.Context(), c.session))
	if heard.Err != nil {
		t.Fatal(heard.Err)
	}
	c.session.AgentSession = heard.Session
	outcome, err := compiled.Start(time.Unix(0, 0), turn.Normalize(heard.Activities, c.id))
	if err != nil {
		t.Fatal(err)
	}
	c.state = outcome.State
	return c
}

func (c *conversation) id() string {
	c.ids++
	return "id-" + strconv.Itoa(c.ids)
}

func (c *conversation) says(text, step string) {
	c.t.Helper()
	query, _ := c.definition.Query(c.state, text)
	c.decide(turn.Input{Kind: rondo.TurnByText}, rondo.Activity{Type: rondo.ActivityMessage, Text: query}, step)
}

func (c *conversation) submits(data, step string) {
	c.t.Helper()
	c.decide(turn.Input{Kind: rondo.TurnByCard}, rondo.Activity{Type: rondo.ActivityMessage, Value: json.RawMessage(data)}, step)
}

func (c *conversation) decide(in turn.Input, message rondo.Activity, step string) {
	c.t.Helper()
	heard := agenttest.Listen(c.t, c.agent.Send(c.t.Context(), c.session, message))
	if heard.Err != nil {
		c.t.Fatal(heard.Err)
	}
	in.Before, in.Reply, in.Now = c.state, turn.Normalize(heard.Activities, c.id), time.Unix(0, 0)
	outcome, err := c.definition.Decide(in)
	if err != nil {
		c.t.Fatal(err)
	}
	if outcome.Parsed.Kind != rondo.TurnStructured || outcome.State.Step != step {
		c.t.Fatalf("%q is answered %q (%s %v) and leads to %s, want %s",
			message.Text, heard.Texts(), outcome.Parsed.Kind, outcome.Parsed.ParseErrors, outcome.State.Step, step)
	}
	c.state = outcome.State
}

func (c *conversation) ends(status rondo.WorkflowStatus, data string) {
	c.t.Helper()
	collected, err := json.Marshal(c.state.CollectedData)
	if err != nil || c.state.Status != status || string(collected) != data {
		c.t.Errorf("it ends %s with %s (%v), want %s with %s", c.state.Status, collected, err, status, data)
	}
}

func TestTheDemoWalksTheShippedDefinitionsOverEveryWire(t *testing.T) {
	t.Parallel()
	for name, a := range agents(t) {
		t.Run(name+" default", func(t *testing.T) {
			c := open(t, a, "default")
			c.says("hello", "gather_info")
			c.says("I am Zoë", "gather_info")
			c.says("Billing", "confirm")
			c.says("no", "gather_info")
			c.says("look it up", "research")
			c.says("error", "research")
			if c.state.Status != rondo.WorkflowError {
				t.Errorf("after an error the status is %s", c.state.Status)
			}
			c.says("Delivery", "confirm")
			c.says("yes", "complete")
			c.ends(rondo.WorkflowCompleted, `{"confirmed":true,"name":"Zoë","topic":"Delivery"}`)
		})
		t.Run(name+" default by card", func(t *testing.T) {
			c := open(t, a, "default")
			c.says("hello", "gather_info")
			c.says("Zoë", "gather_info")
			c.says("Billing", "confirm")
			c.submits(`{"action":"Action.Submit","flow":"default","decision":"yes","cardId":"1"}`, "complete")
			c.ends(rondo.WorkflowCompleted, `{"confirmed":true,"name":"Zoë","topic":"Billing"}`)
		})
		t.Run(name+" payment", func(t *testing.T) {
			c := open(t, a, "payment")
			c.says("I want to pay", "gathering")
			c.says("by card", "gathering")
			c.says("12.50", "confirming")
			c.says("yes", "success")
			c.ends(rondo.WorkflowCompleted, `{"amount":12.50,"confirmed":true,"payment_method":"card"}`)
		})
		t.Run(name+" payment declined", func(t *testing.T) {
			c := open(t, a, "payment")
			c.says("transfer 5", "confirming")
			c.submits(`{"action":"Action.Submit","flow":"payment","decision":"no","cardId":"1"}`, "cancelled")
			c.ends(rondo.WorkflowCompleted, `{"amount":5,"declined":true,"payment_method":"transfer"}`)
		})
	}
}
