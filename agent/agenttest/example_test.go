package agenttest_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/breaker"
	"github.com/rondo-engine/rondo/agent/copilot"
)

// A recorded agent of Copilot Studio answers behind a breaker.
func Example() {
	server := httptest.NewServer(agenttest.NewCopilot(nil))
	defer server.Close()
	studio, err := copilot.New(copilot.Config{DirectConnectURL: server.URL, Tokens: copilot.StaticToken("for a trial")})
	if err != nil {
		fmt.Println(err)
		return
	}
	guarded := breaker.New(studio, breaker.Config{})
	session := agent.Session{ConversationID: "c1"}
	for chunk, err := range guarded.Start(context.Background(), session) {
		switch {
		case err != nil:
			fmt.Println(err)
		case chunk.Session != "":
			session.AgentSession = chunk.Session
		case chunk.Activity != nil && chunk.Activity.Type == rondo.ActivityMessage:
			fmt.Println(chunk.Activity.Text)
		}
	}
	for chunk, err := range guarded.Send(context.Background(), session, rondo.Activity{Text: "Can I return this?"}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case chunk.Delta != nil:
			fmt.Printf("%q\n", chunk.Delta.Text)
		case chunk.Activity != nil && len(chunk.Activity.Value) > 0 && chunk.Activity.Type == rondo.ActivityMessage:
			fmt.Println(chunk.Activity.Text)
		}
	}
	// Output:
	// Hello, I'm **Contoso Help**. What can I do for you?
	// "You can return "
	// "an item within "
	// "**30 days** [1]. "
	// "May I have your name?"
	// You can return an item within **30 days** [1]. May I have your name?
}
