package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestChatCallsAreMadeAsThePerson(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		call func(*client.Client) error
		want [3]string // method and address, key, body
	}{
		"start":       {func(c *client.Client) error { _, err := c.StartChat(t.Context(), ""); return err }, [3]string{"POST /api/chat/start", "", ""}},
		"start named": {func(c *client.Client) error { _, err := c.StartChat(t.Context(), "payment"); return err }, [3]string{"POST /api/chat/start", "", `{"definition":"payment"}`}},
		"send": {func(c *client.Client) error {
			_, err := c.SendChat(t.Context(), "c", "hi", client.WithKey("k"))
			return err
		}, [3]string{"POST /api/chat/send", "k", `{"conversationId":"c","text":"hi"}`}},
		"card": {func(c *client.Client) error {
			_, err := c.SubmitCard(t.Context(), client.CardAction{ConversationID: "c", CardID: "d", UserSummary: "Yes", SubmitData: json.RawMessage(`{"n":1.50}`)})
			return err
		}, [3]string{"POST /api/chat/card-action", "", `{"conversationId":"c","cardId":"d","userSummary":"Yes","submitData":{"n":1.50}}`}},
		"orchestrate": {func(c *client.Client) error {
			_, err := c.Orchestrate(t.Context(), client.ChatQuery{Query: "q"})
			return err
		}, [3]string{"POST /api/chat/orchestrate", "", `{"query":"q"}`}},
		"end": {func(c *client.Client) error {
			_, err := c.EndChat(t.Context(), "c/1", rondo.ConversationCompleted, "")
			return err
		}, [3]string{"POST /api/chat/conversations/c%2F1/end", "", `{"outcome":"completed"}`}},
		"delete": {func(c *client.Client) error { return c.DeleteChat(t.Context(), "c") }, [3]string{"DELETE /api/chat/conversations/c", "", ""}},
		"get":    {func(c *client.Client) error { _, err := c.Chat(t.Context(), "c", nil); return err }, [3]string{"GET /api/chat/conversations/c", "", ""}},
		"turn":   {func(c *client.Client) error { _, err := c.ChatTurnResponse(t.Context(), "c", 3); return err }, [3]string{"GET /api/chat/conversations/c/turns/3", "", ""}},
		"replay": {func(c *client.Client) error {
			_, err := c.ReplayChat(t.Context(), "c", client.ReplayThrough{Definition: "default"})
			return err
		}, [3]string{"POST /api/chat/conversations/c/replay", "", `{"definition":"default"}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, asked := answering(t, 200, "application/json", `{}`)
			if err := test.call(c); err != nil {
				t.Fatal(err)
			}
			sent, _ := io.ReadAll(asked.Body)
			got := [3]string{asked.Method + " " + asked.URL.RequestURI(), asked.Header.Get("Idempotency-Key"), string(sent)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamedTurns(t *testing.T) {
	t.Parallel()
	const begun = "event: turn.started\ndata: {\"turnNumber\":3}\n\n: alive\n\nevent: message.delta\ndata: {\"id\":\"m\",\"text\":\"Hi\"}\n\n"
	for name, test := range map[string]struct {
		status     int
		kind, body string
		code       rondo.Code
		said       int
	}{
		"whole":   {200, "text/event-stream", begun + "event: turn.completed\ndata: {\"conversationId\":\"c\"}\n\n", "", 2},
		"failed":  {200, "text/event-stream", begun + "event: turn.failed\ndata: {\"code\":\"agent_failed\",\"detail\":\"the agent failed\",\"hint\":\"again\"}\n\n", rondo.CodeAgentFailed, 2},
		"cut":     {200, "text/event-stream", begun, rondo.CodeUnavailable, 2},
		"refused": {409, "application/problem+json", `{"code":"conversation_busy","detail":"busy"}`, rondo.CodeConversationBusy, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, asked := answering(t, test.status, test.kind, test.body)
			said := 0
			turn, err := c.SendChat(t.Context(), "c", "hi", client.WithStream(func(e client.ChatEvent) {
				said++
				if e.Started != nil && e.Started.TurnNumber != 3 || e.Delta != nil && e.Delta.Text != "Hi" {
					t.Errorf("told of %+v", e)
				}
			}))
			if rondo.CodeOf(err) != test.code || said != test.said || err == nil && turn.ConversationID != "c" {
				t.Errorf("got %+v, %v after %d events", turn, err, said)
			}
			if asked.Header.Get("Accept") != "text/event-stream" {
				t.Errorf("it asks for %q", asked.Header.Get("Accept"))
			}
		})
	}
}

func TestListsOfConversationsFollowTheCursor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/api/chat/conversations":
			_, _ = io.WriteString(w, `{"items":[{"externalId":"a"}],"nextCursor":"n"}`)
		case "/api/chat/conversations?cursor=n":
			_, _ = io.WriteString(w, `{"items":[{"externalId":"b"}],"nextCursor":null}`)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL, OrgID: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for found, err := range c.Chats(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, found.ExternalID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, err := range c.ChatTurns(t.Context(), "c") {
		if rondo.CodeOf(err) != rondo.CodeInternal {
			t.Errorf("an answer that is none: %v", err)
		}
	}
}
