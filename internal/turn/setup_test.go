package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// compiled compiles a definition that must be right.
func compiled(t testing.TB, body string) *Definition {
	t.Helper()
	d, problems := Compile([]byte(body))
	if len(problems) > 0 {
		t.Fatalf("the definition does not compile: %v", problems)
	}
	return d
}

// shipped compiles one that comes with Rondo.
func shipped(t testing.TB, name string) *Definition {
	t.Helper()
	d, err := ShippedDefinition(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// counted gives ids 1, 2, 3…
func counted() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(n) }
}

// says is the answer of an agent that gives this object as value.
func says(value string) Reply {
	return Normalize([]rondo.Activity{{Type: "message", From: bot(), Text: "…", Value: json.RawMessage(value)}}, counted())
}

// talks is the answer of an agent that only talks.
func talks(text string) Reply {
	return Normalize([]rondo.Activity{{Type: "message", From: bot(), Text: text}}, counted())
}

func bot() *rondo.Account { return &rondo.Account{ID: "b", Role: "bot"} }

// begun is the state after the start.
func begun(t testing.TB, d *Definition) rondo.ConversationState {
	t.Helper()
	out, err := d.Start(noon, Reply{})
	if err != nil {
		t.Fatal(err)
	}
	return out.State
}

// decided takes one turn that must not fail. The state goes through JSON before,
// as it does when it is stored.
func decided(t testing.TB, d *Definition, before rondo.ConversationState, reply Reply) Outcome {
	t.Helper()
	out, err := d.Decide(Input{Before: stored(t, before), Kind: rondo.TurnByText, Reply: reply, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stored writes a state and reads it again.
func stored(t testing.TB, s rondo.ConversationState) rondo.ConversationState {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read rondo.ConversationState
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// js writes a value for comparing.
func js(t testing.TB, v any) string {
	t.Helper()
	raw, err := compact(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// small is a definition with one state and whatever else.
func small(members ...string) string {
	return `{"name":"small","steps":["a"],"machine":{"initial":"a","states":{"a":{}}}` + strings.Join(append([]string{""}, members...), ",") + `}`
}
