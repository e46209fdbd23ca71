package turn_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
)

// One turn: what the agent is sent, and what its answer does.
func Example() {
	definition, err := turn.ShippedDefinition("default")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	started, err := definition.Start(now, turn.Reply{})
	if err != nil {
		fmt.Println(err)
		return
	}
	query, _ := definition.Query(started.State, "I need a loan.")
	fmt.Println(query)

	answer := turn.Normalize([]rondo.Activity{{
		Type: "message", From: &rondo.Account{Role: "bot"}, Text: "How much?",
		Value: json.RawMessage(`{"action":"ask","data":{"product":"loan"}}`),
	}}, func() string { return "id" })
	out, err := definition.Decide(turn.Input{Before: started.State, Kind: rondo.TurnByText, Reply: answer, Now: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.State.Step, out.State.Status, string(out.State.CollectedData["product"]), out.Record.Event)
	// Output:
	// [CONTEXT]
	// Phase: initial
	// Collected data: {}
	// Turn number: 0
	// [/CONTEXT]
	//
	// I need a loan.
	// gather_info active "loan" ASK
}
