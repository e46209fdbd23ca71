// Package agenttest holds the conformance suite of agents: Run for every driver,
// RunHTTP for those that speak HTTP, which it plays the server of, in the formats
// that real ones speak. NewCopilot and NewOpenAI are such servers to try things
// with; they need no test.
//
// It imports the root package and the agent port.
package agenttest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// What the suite says. None of it may show up in an error.
const (
	Secret   = "Zm9vYmFy-secret-token"
	UserText = "my medical history"
)

// session is a conversation that was opened before.
func session() agent.Session {
	return agent.Session{
		ConversationID: "5f0e4f0e-6f43-4a3e-9d8e-0a1b2c3d4e5f", AgentSession: "conversation-1",
		TenantID: "tenant", UserID: "user", UserToken: Secret,
	}
}

func userSays(text string) rondo.Activity {
	return rondo.Activity{Type: rondo.ActivityMessage, Text: text}
}

// Heard is an answer, collected.
type Heard struct {
	Activities []rondo.Activity
	Deltas     map[string]string // by message
	Session    string
	Err        error
}

// Texts are the texts of the messages.
func (h *Heard) Texts() []string {
	var texts []string
	for _, activity := range h.Activities {
		if activity.Type == rondo.ActivityMessage {
			texts = append(texts, activity.Text)
		}
	}
	return texts
}

// Listen collects an answer and checks that it keeps to the port's form.
func Listen(t *testing.T, answer iter.Seq2[agent.Chunk, error]) *Heard {
	t.Helper()
	heard := &Heard{Deltas: map[string]string{}}
	for chunk, err := range answer {
		if heard.Err != nil {
			t.Error("the answer goes on after an error")
		}
		members := 0
		if chunk.Activity != nil {
			members++
			heard.Activities = append(heard.Activities, *chunk.Activity)
		}
		if chunk.Delta != nil {
			members++
			heard.Deltas[chunk.Delta.ID] += chunk.Delta.Text
			if chunk.Delta.ID == "" || chunk.Delta.Text == "" {
				t.Errorf("a delta is %+v, want an id and a text", *chunk.Delta)
			}
		}
		if chunk.Session != "" {
			members++
			heard.Session = chunk.Session
		}
		if err != nil {
			heard.Err = err
			checkError(t, err)
		}
		if want := map[bool]int{true: 0, false: 1}[err != nil]; members != want {
			t.Errorf("a chunk %+v with error %v has %d members, want %d", chunk, err, members, want)
		}
	}
	return heard
}

// checkError holds errors to the port's promise.
func checkError(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{Secret, UserText} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error %q tells a secret", err)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	failure, ok := errors.AsType[*agent.Error](err)
	if !ok {
		t.Errorf("the error %v (%T) is neither an *agent.Error nor the context's own", err, err)
		return
	}
	if failure.Kind == "" || failure.Provider == "" || failure.Message == "" {
		t.Errorf("the error %+v lacks kind, provider or message", failure)
	}
}

// Run holds an agent to what every driver guarantees. The agent must answer a text
// with at least one message.
func Run(t *testing.T, newAgent func(t *testing.T) agent.Agent) {
	t.Helper()
	tests := map[string]func(*testing.T, agent.Agent){
		"it says who it is":                           testInfo,
		"it answers a text with a message of a bot":   testAnswers,
		"it can be started":                           testStarts,
		"a call that is over gives the context's own": testCancelled,
		"a reader may stop at any chunk":              testStops,
		"one agent serves many at once":               testConcurrent,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newAgent(t))
		})
	}
}

func testInfo(t *testing.T, a agent.Agent) {
	if info := a.Info(); info.Provider == "" || info.Model == "" {
		t.Errorf("info = %+v, want provider and model", info)
	}
}

func testAnswers(t *testing.T, a agent.Agent) {
	heard := Listen(t, a.Send(t.Context(), session(), userSays("hello")))
	if heard.Err != nil || len(heard.Texts()) == 0 {
		t.Fatalf("it answers %q, %v, want a message", heard.Texts(), heard.Err)
	}
	for _, activity := range heard.Activities {
		if activity.Type == rondo.ActivityMessage && (activity.From == nil || activity.From.Role != "bot") {
			t.Errorf("a message is from %+v, want the role bot", activity.From)
		}
	}
	whole := strings.Join(heard.Texts(), "\n")
	for id, text := range heard.Deltas {
		if !strings.Contains(whole, text) {
			t.Errorf("the pieces of %s come to %q, which no message has", id, text)
		}
	}
}

func testStarts(t *testing.T, a agent.Agent) {
	fresh := session()
	fresh.AgentSession = ""
	if heard := Listen(t, a.Start(t.Context(), fresh)); heard.Err != nil {
		t.Errorf("start fails: %v", heard.Err)
	}
}

func testCancelled(t *testing.T, a agent.Agent) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, answer := range map[string]iter.Seq2[agent.Chunk, error]{
		"start": a.Start(ctx, session()),
		"send":  a.Send(ctx, session(), userSays("hello")),
	} {
		heard := Listen(t, answer)
		if !errors.Is(heard.Err, context.Canceled) || len(heard.Activities) > 0 {
			t.Errorf("%s: %d activities and %v, want none and the context's own error", name, len(heard.Activities), heard.Err)
		}
	}
}

func testStops(t *testing.T, a agent.Agent) {
	chunks := 0
	for range a.Send(t.Context(), session(), userSays("hello")) {
		chunks++
	}
	for stop := range chunks {
		seen := 0
		for range a.Send(t.Context(), session(), userSays("hello")) {
			if seen++; seen > stop {
				break
			}
		}
	}
	if heard := Listen(t, a.Send(t.Context(), session(), userSays("hello"))); heard.Err != nil {
		t.Errorf("after readers that stopped it fails: %v", heard.Err)
	}
}

func testConcurrent(t *testing.T, a agent.Agent) {
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if heard := Listen(t, a.Send(t.Context(), session(), userSays("hello"))); heard.Err != nil {
				t.Errorf("one of many calls fails: %v", heard.Err)
			}
		})
	}
	all.Wait()
}
