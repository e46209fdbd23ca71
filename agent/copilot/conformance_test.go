package copilot_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/copilot"
	"github.com/rondo-engine/rondo/agent/echo"
)

// connect is an agent at an address, with the bounds and the token of the suite.
func connect(t *testing.T, url string, client *http.Client) *copilot.Agent {
	t.Helper()
	a, err := copilot.New(copilot.Config{
		DirectConnectURL: url, SchemaName: "contoso_help", Tokens: copilot.StaticToken(agenttest.Secret), HTTP: client,
		MaxEvent: agenttest.MaxEvent, MaxEvents: agenttest.MaxEvents, MaxBytes: agenttest.MaxBytes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// encode is the JSON of a value that has one.
func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestItIsAnAgent(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]agent.Agent{"recorded": nil, "echo": echo.Agent{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agenttest.Run(t, func(t *testing.T) agent.Agent {
				t.Helper()
				server := httptest.NewServer(agenttest.NewCopilot(inner))
				t.Cleanup(server.Close)
				return connect(t, server.URL, nil)
			})
		})
	}
}

func TestItSpeaksHTTP(t *testing.T) {
	t.Parallel()
	message := func(text string) string {
		return encode(t, rondo.Activity{Type: rondo.ActivityMessage, ID: "1", From: &rondo.Account{ID: "b", Role: "bot"}, Text: text})
	}
	agenttest.RunHTTP(t, agenttest.Driver{
		New: func(t *testing.T, url string, client *http.Client) agent.Agent {
			t.Helper()
			return connect(t, url, client)
		},
		Events: func(text string) []agenttest.Event {
			return []agenttest.Event{{Name: "activity", Data: message(text)}, {Name: "end", Data: "end"}}
		},
		JSON:  func(text string) string { return `{"activities":[` + message(text) + `]}` },
		Piece: func() agenttest.Event { return agenttest.Event{Name: "activity", Data: `{"type":"typing"}`} },
	})
}
