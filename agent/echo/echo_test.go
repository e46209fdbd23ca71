package echo_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/echo"
)

func TestEchoAnswersWithWhatItWasTold(t *testing.T) {
	t.Parallel()
	const query = "[CONTEXT]\nPhase: intake\nCollected data: {}\nTurn number: 0\n[/CONTEXT]\n\nhello {}"
	tests := map[string]struct {
		agent   echo.Agent
		message rondo.Activity
		want    string
	}{
		"the user's own text": {echo.Agent{}, rondo.Activity{Text: query}, "hello {}"},
		"the whole query":     {echo.Agent{Verbatim: true}, rondo.Activity{Text: query}, query},
		"a submitted card":    {echo.Agent{}, rondo.Activity{Value: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for chunk, err := range test.agent.Send(t.Context(), agent.Session{}, test.message) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, chunk.Activity.Text)
				if chunk.Activity.From.Role != "bot" {
					t.Errorf("it speaks as %q, want bot", chunk.Activity.From.Role)
				}
			}
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("it answers %q, want %q", got, test.want)
			}
		})
	}
}

func TestEchoSaysNothingOnceTheCallIsOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for chunk, err := range (echo.Agent{}).Send(ctx, agent.Session{}, rondo.Activity{Text: "hello"}) {
		if !errors.Is(err, context.Canceled) || chunk.Activity != nil {
			t.Errorf("it answers %v, %v, want the context's own error", chunk.Activity, err)
		}
	}
	for range (echo.Agent{}).Start(t.Context(), agent.Session{}) {
		t.Error("it greets, want silence")
	}
}
