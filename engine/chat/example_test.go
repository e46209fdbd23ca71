package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store/memory"
)

// shippedOnly finds the definitions that come with Rondo.
type shippedOnly struct{}

func (shippedOnly) Named(_ context.Context, _, name string) (*turn.Definition, rondo.DefinitionRef, error) {
	d, err := turn.ShippedDefinition(name)
	return d, rondo.DefinitionRef{ID: name}, err
}

func (shippedOnly) Frozen(_ context.Context, _ string, ref rondo.DefinitionRef) (*turn.Definition, error) {
	return turn.ShippedDefinition(ref.ID)
}

// A payment, from the first word to the last, with the scripted demo agent.
func Example() {
	script, err := scripted.Demo()
	if err != nil {
		log.Fatal(err)
	}
	service, err := chat.New(chat.Config{
		Store:        memory.Open(memory.Options{}),
		Definitions:  shippedOnly{},
		Agents:       map[string]agent.Agent{"scripted": scripted.New(script)},
		DefaultAgent: "scripted",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ann := chat.Caller{Principal: rondo.Principal{Tenant: "acme", User: "ann"}}

	answer, err := service.Do(ctx, ann, chat.Request{Kind: chat.KindStart, Definition: "payment"})
	if err != nil {
		log.Fatal(err)
	}
	var started chat.Started
	if err := json.Unmarshal(answer.Body, &started); err != nil {
		log.Fatal(err)
	}
	fmt.Println(started.WorkflowState.Step)
	for _, text := range []string{"by card", "12.50", "yes"} {
		answer, err := service.Do(ctx, ann, chat.Request{Kind: chat.KindSend, ConversationID: started.ConversationID, Text: text})
		if err != nil {
			log.Fatal(err)
		}
		var r rondo.WorkflowResponse
		if err := json.Unmarshal(answer.Body, &r); err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.WorkflowState.Step, r.WorkflowState.Status, r.Messages[0].Text)
	}
	// Output:
	// gathering
	// gathering active By card. How much is it?
	// confirming active Shall I take 12.50 by card?
	// success completed Paid. Thank you!
}
