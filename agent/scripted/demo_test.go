package scripted_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
)

// walk keeps what Rondo would, and asks the demo as Rondo does.
type walk struct {
	t     *testing.T
	agent *scripted.Agent
	data  map[string]json.RawMessage
	turn  int
	last  rondo.Activity
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	return &walk{t: t, agent: scripted.New(script), data: map[string]json.RawMessage{}}
}

// say sends a text at a step and checks what the agent wants next.
func (w *walk) say(step, text, action string) {
	w.t.Helper()
	data, err := json.Marshal(w.data)
	if err != nil {
		w.t.Fatal(err)
	}
	query := fmt.Sprintf("[CONTEXT]\nPhase: %s\nCollected data: %s\nTurn number: %d\n[/CONTEXT]\n\n%s", step, data, w.turn, text)
	w.send(rondo.Activity{Type: rondo.ActivityMessage, Text: query}, action)
}

func (w *walk) submit(value, action string) {
	w.t.Helper()
	w.send(rondo.Activity{Type: rondo.ActivityMessage, Value: json.RawMessage(value)}, action)
}

func (w *walk) send(message rondo.Activity, action string) {
	w.t.Helper()
	w.last = rondo.Activity{}
	var pieces string
	for chunk, err := range w.agent.Send(w.t.Context(), agent.Session{ConversationID: "c"}, message) {
		switch {
		case err != nil:
			w.t.Fatal(err)
		case chunk.Delta != nil:
			pieces += chunk.Delta.Text
		case chunk.Activity != nil:
			w.last = *chunk.Activity
		}
	}
	if pieces != "" && pieces != w.last.Text {
		w.t.Errorf("the pieces are %q, the whole is %q", pieces, w.last.Text)
	}
	var got struct {
		Action string
		Data   map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.last.Value, &got); err != nil {
		w.t.Fatalf("%q is no structured answer: %v", w.last.Text, err)
	}
	if got.Action != action {
		w.t.Fatalf("after %q it says %q with action %q, want %q", message.Text, w.last.Text, got.Action, action)
	}
	maps.Copy(w.data, got.Data)
	w.turn++
}

func (w *walk) collected(want string) {
	w.t.Helper()
	if got, err := json.Marshal(w.data); err != nil || string(got) != want {
		w.t.Errorf("collected %s (%v), want %s", got, err, want)
	}
}

func TestTheDemoWalksTheDefaultDefinition(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.say("initial", "hello", "ask")
	w.say("gather_info", "I'm Zoë, hi", "ask")
	if w.last.SuggestedActions == nil || len(w.last.SuggestedActions.Actions) != 3 {
		t.Error("it offers no topics to choose from")
	}
	w.say("gather_info", "Billing {}\n$& \"quoted\"", "confirm")
	if len(w.last.Attachments) != 1 || !json.Valid(w.last.Attachments[0].Content) {
		t.Error("it sends no card to confirm")
	}
	w.say("confirm", "no, change it", "ask")
	w.say("gather_info", "Delivery", "confirm")
	w.say("confirm", "hm", "confirm")
	w.say("confirm", "yes", "complete")
	w.collected(`{"confirmed":true,"name":"Zoë","topic":"Delivery"}`)
}

func TestTheDemoTakesACardForAnAnswer(t *testing.T) {
	t.Parallel()
	for value, action := range map[string]string{
		`{"action":"Action.Submit","flow":"default","decision":"yes","cardId":"1"}`:    "complete",
		`{"action":"Action.Submit", "flow": "default", "decision":"no","cardId":"1"}`:  "ask",
		`{"action":"Action.Submit","flow":"payment","decision":"yes","cardId":"1"}`:    "complete",
		`{"action":"Action.Submit", "flow": "payment", "decision":"no", "cardId":"1"}`: "error",
	} {
		newWalk(t).submit(value, action)
	}
}

func TestTheDemoWalksThePaymentDefinition(t *testing.T) {
	t.Parallel()
	for name, said := range map[string][]string{
		"method first":  {"hello", "by card", "it is 12.50"},
		"amount first":  {"12.50 please", "card"},
		"both at once":  {"card, 12.50"},
		"both reversed": {"12.50 by card"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t)
			for i, text := range said {
				action := "ask"
				if i == len(said)-1 {
					action = "confirm"
				}
				w.say("gathering", text, action)
			}
			w.say("confirming", "yes", "complete")
			w.collected(`{"amount":12.50,"confirmed":true,"payment_method":"card"}`)
		})
	}
	w := newWalk(t)
	w.say("gathering", "card 5", "confirm")
	w.say("confirming", "no", "error")
	w.collected(`{"amount":5,"declined":true,"payment_method":"card"}`)
}

func TestTheDemoGreets(t *testing.T) {
	t.Parallel()
	var session string
	var greeting []string
	for chunk, err := range newWalk(t).agent.Start(t.Context(), agent.Session{ConversationID: "c1"}) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Activity != nil {
			greeting = append(greeting, chunk.Activity.Text)
		}
		session += chunk.Session
	}
	if session != "scripted-c1" || len(greeting) != 1 {
		t.Errorf("session %q, greeting %q, want scripted-c1 and one text", session, greeting)
	}
}
