package turn_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
)

// BenchmarkDecide is what deciding one structured turn costs, from activities to
// outcome.
func BenchmarkDecide(b *testing.B) {
	d, err := turn.ShippedDefinition("default")
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	begun, err := d.Start(now, turn.Reply{})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	ids := func() string { n++; return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	activities := []rondo.Activity{{
		Type: rondo.ActivityMessage, From: &rondo.Account{Role: "bot"}, Text: "What is it about?",
		Value: json.RawMessage(`{"action":"ask","prompt":"What is it about?","data":{"name":"Alice","topic":"weather"},"confidence":0.9}`),
	}}
	b.ReportAllocs()
	for b.Loop() {
		reply := turn.Normalize(activities, ids)
		if _, err := d.Decide(turn.Input{Before: begun.State, Kind: rondo.TurnByText, Reply: reply, Now: now}); err != nil {
			b.Fatal(err)
		}
	}
}
