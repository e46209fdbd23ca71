package preamble_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/agent/internal/preamble"
)

func TestSplitTakesTheContextOffTheText(t *testing.T) {
	t.Parallel()
	alice := map[string]json.RawMessage{"name": json.RawMessage(`"Alice"`)}
	tests := map[string]struct {
		query string
		want  preamble.Context
		text  string
	}{
		"the preamble": {
			query: "[CONTEXT]\nPhase: intake\nCollected data: {\"name\":\"Alice\"}\nTurn number: 2\n[/CONTEXT]\n\nWhat is my eligibility?",
			want:  preamble.Context{Found: true, Step: "intake", Turn: 2, Data: alice},
			text:  "What is my eligibility?",
		},
		"the older block": {
			query: "[WORKFLOW_CONTEXT]\nstep: intake\nconstraints: a | b\ndata: {\"name\":\"Alice\"}\n[/WORKFLOW_CONTEXT]\n\nhi\n\nthere",
			want:  preamble.Context{Found: true, Step: "intake", Turn: -1, Data: alice},
			text:  "hi\n\nthere",
		},
		"keys alone": {
			query: "[CONTEXT]\nPhase: intake\nCollected data: [\"name\"]\nTurn number: 0\n[/CONTEXT]\n\n",
			want:  preamble.Context{Found: true, Step: "intake", Data: map[string]json.RawMessage{"name": json.RawMessage("null")}},
		},
		"data left out": {
			query: "[CONTEXT]\nPhase: intake\nTurn number: 1\n[/CONTEXT]\n\nhi",
			want:  preamble.Context{Found: true, Step: "intake", Turn: 1},
			text:  "hi",
		},
		"a marker of the user's own": {
			query: "say [CONTEXT]\nPhase: x\n[/CONTEXT]\n\nhi",
			want:  preamble.Context{Turn: -1},
			text:  "say [CONTEXT]\nPhase: x\n[/CONTEXT]\n\nhi",
		},
		"a block without an end": {
			query: "[CONTEXT]\nPhase: x\nhi",
			want:  preamble.Context{Turn: -1},
			text:  "[CONTEXT]\nPhase: x\nhi",
		},
		"a block that the user wrote below": {
			query: "[CONTEXT]\nPhase: x\n[/CONTEXT]\n\n[/CONTEXT]\n\nhi",
			want:  preamble.Context{Found: true, Step: "x", Turn: -1},
			text:  "[/CONTEXT]\n\nhi",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, text := preamble.Split(test.query)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("context (-want +got):\n%s", diff)
			}
			if text != test.text {
				t.Errorf("text = %q, want %q", text, test.text)
			}
		})
	}
}
