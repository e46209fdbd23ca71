package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// startChat opens a conversation of the payment definition, with a card when the
// amount is said.
func startChat(t *testing.T, b *bench, say ...string) (id, card string) {
	t.Helper()
	rec := b.do("POST", "/api/chat/start", `{"definition":"payment"}`)
	id = member(rec.Body.Bytes(), "conversationId")
	for _, text := range say {
		rec = b.do("POST", "/api/chat/send", fmt.Sprintf(`{"conversationId":%q,"text":%q}`, id, text))
	}
	if rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if found := regexp.MustCompile(`"cardId":"([^"]+)"`).FindSubmatch(rec.Body.Bytes()); found != nil {
		card = string(found[1])
	}
	return id, card
}

// TestEveryRouteInEveryState holds what a conversation answers to each route in
// each state that it can be in.
func TestEveryRouteInEveryState(t *testing.T) {
	t.Parallel()
	const at = "/api/chat/conversations/{id}"
	routes := map[string]struct{ method, path, body string }{
		"send":        {"POST", "/api/chat/send", `{"conversationId":"{id}","text":"hello"}`},
		"card":        {"POST", "/api/chat/card-action", `{"conversationId":"{id}","cardId":"{card}","userSummary":"No","submitData":{"action":"Action.Submit","flow":"payment","decision":"no"}}`},
		"orchestrate": {"POST", "/api/chat/orchestrate", `{"conversationId":"{id}","query":"hello"}`},
		"end":         {"POST", at + "/end", ""},
		"get":         {"GET", at, ""},
		"turns":       {"GET", at + "/turns", ""},
		"turn":        {"GET", at + "/turns/1", ""},
		"replay":      {"POST", at + "/replay", `{"definition":"default"}`},
		"delete":      {"DELETE", at, ""},
	}
	end := func(outcome string) func(*testing.T, *bench, string, string) {
		return func(t *testing.T, b *bench, id, _ string) {
			t.Helper()
			if rec := b.do("POST", "/api/chat/conversations/"+id+"/end", `{"outcome":"`+outcome+`"}`); rec.Code != 200 {
				t.Fatal(rec.Body)
			}
		}
	}
	over := map[string]string{"send": "409 workflow_completed", "card": "409 workflow_completed", "orchestrate": "409 workflow_completed", "end": "409 workflow_completed"}
	none := map[string]string{}
	for name := range routes {
		none[name] = "404 conversation_not_found"
	}
	for state, s := range map[string]struct {
		bring func(t *testing.T, b *bench, id, card string)
		want  map[string]string // "" = it works
	}{
		"open":      {nil, nil},
		"abandoned": {end("abandoned"), over},
		"ended":     {end("completed"), over},
		"completed by its workflow": {func(t *testing.T, b *bench, id, card string) {
			t.Helper()
			if rec := b.do("POST", "/api/chat/send", fmt.Sprintf(`{"conversationId":%q,"text":"yes"}`, id)); !strings.Contains(rec.Body.String(), `"status":"completed"`) {
				t.Fatal(rec.Body)
			}
		}, over},
		"card submitted otherwise": {func(t *testing.T, b *bench, id, card string) {
			t.Helper()
			body := fmt.Sprintf(`{"conversationId":%q,"cardId":%q,"userSummary":"?","submitData":{"action":"Action.Submit","flow":"other"}}`, id, card)
			if rec := b.do("POST", "/api/chat/card-action", body); rec.Code != 200 {
				t.Fatal(rec.Body)
			}
		}, map[string]string{"card": "409 card_already_submitted"}},
		"erased": {func(t *testing.T, b *bench, id, _ string) {
			t.Helper()
			if rec := b.do("DELETE", "/api/chat/conversations/"+id, ""); rec.Code != 204 {
				t.Fatal(rec.Body)
			}
		}, none},
	} {
		for name, route := range routes {
			t.Run(state+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := realChat(t)
				id, card := startChat(t, b, "I pay 40 by card")
				if s.bring != nil {
					s.bring(t, b, id, card)
				}
				fill := strings.NewReplacer("{id}", id, "{card}", card)
				rec := b.do(route.method, fill.Replace(route.path), fill.Replace(route.body))
				want := s.want[name]
				if got := outcomeOf(rec); got != want {
					t.Errorf("got %q, want %q: %s", got, want, rec.Body)
				}
				if rec.Code != 204 {
					checkDocumented(t, b.OpenAPI(), route.method, strings.NewReplacer("/turns/1", "/turns/{number}").Replace(route.path), rec)
				}
			})
		}
	}
}

// outcomeOf is the status and code of a refusal, "" for a good answer.
func outcomeOf(rec *httptest.ResponseRecorder) string {
	if rec.Code < 300 {
		return ""
	}
	return fmt.Sprintf("%d %s", rec.Code, member(rec.Body.Bytes(), "code"))
}

func TestConversationsOfOthersLookUnknown(t *testing.T) {
	t.Parallel()
	kept := memory.Open(memory.Options{})
	ann := realChat(t, func(c *chat.Config) { c.Store = kept })
	id, card := startChat(t, ann, "I pay 40 by card")
	for name, p := range map[string]as{"another user": {Tenant: "acme", User: "bob"}, "another tenant": {Tenant: "beta", User: "ann"}} {
		other := realChatAs(t, p, kept)
		for _, ask := range [][3]string{
			{"POST", "/api/chat/send", `{"conversationId":"` + id + `","text":"x"}`},
			{"POST", "/api/chat/orchestrate", `{"conversationId":"` + id + `","query":"x"}`},
			{"POST", "/api/chat/card-action", `{"conversationId":"` + id + `","cardId":"` + card + `","userSummary":"","submitData":{"action":"Action.Submit"}}`},
			{"GET", "/api/chat/conversations/" + id, ""},
			{"GET", "/api/chat/conversations/" + id + "/turns", ""},
			{"GET", "/api/chat/conversations/" + id + "/turns/1", ""},
			{"POST", "/api/chat/conversations/" + id + "/end", ""},
			{"POST", "/api/chat/conversations/" + id + "/replay", `{"definition":"default"}`},
			{"DELETE", "/api/chat/conversations/" + id, ""},
		} {
			got := other.do(ask[0], ask[1], ask[2], "X-Request-Id", "r")
			unknown := strings.NewReplacer(id, "00000000-0000-4000-8000-000000000000")
			want := other.do(ask[0], unknown.Replace(ask[1]), unknown.Replace(ask[2]), "X-Request-Id", "r")
			if got.Code != 404 || got.Body.String() != want.Body.String() {
				t.Errorf("%s, %s %s: %d %s, an unknown one %s", name, ask[0], ask[1], got.Code, got.Body, want.Body)
			}
		}
		if rec := other.do("GET", "/api/chat/conversations", ""); rec.Body.String() != `{"items":[],"nextCursor":null}`+"\n" {
			t.Errorf("%s sees %s", name, rec.Body)
		}
	}
	if rec := ann.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"no"}`); rec.Code != 200 {
		t.Errorf("the owner afterwards: %d %s", rec.Code, rec.Body)
	}
}

func realChatAs(t *testing.T, p as, kept store.Conversations) *bench {
	t.Helper()
	b := realChat(t, func(c *chat.Config) { c.Store = kept })
	return newBench(t, func(c *httpapi.Config) { c.Chat, c.Auth = b.service, p })
}

func TestKeysOnTheRealService(t *testing.T) {
	t.Parallel()
	kept := memory.Open(memory.Options{})
	b := realChat(t, func(c *chat.Config) { c.Store = kept })
	first := b.do("POST", "/api/chat/start", "", "Idempotency-Key", "k")
	again := b.do("POST", "/api/chat/start", "{}", "X-Idempotency-Key", "k")
	if first.Code != 200 || first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" || again.Header().Get("X-Idempotency-Cache-Hit") != "true" || first.Header().Get("Idempotent-Replayed") != "" {
		t.Errorf("first %s, again %s %v", first.Body, again.Body, again.Header())
	}
	if rec := b.do("POST", "/api/chat/start", `{"definition":"payment"}`, "Idempotency-Key", "k"); outcomeOf(rec) != "422 idempotency_key_reused" {
		t.Errorf("another body: %s", rec.Body)
	}
	id := member(first.Body.Bytes(), "conversationId")
	send := `{"conversationId":"` + id + `","text":"hello"}`
	one := b.do("POST", "/api/chat/send", send, "Idempotency-Key", "k") // another route: another key
	two := b.do("POST", "/api/chat/send", send, "Idempotency-Key", "k")
	if one.Code != 200 || one.Body.String() != two.Body.String() {
		t.Errorf("one %s, two %s", one.Body, two.Body)
	}
	streamed := b.do("POST", "/api/chat/send", send, "Idempotency-Key", "k", "Accept", "text/event-stream").Body.String()
	if !strings.Contains(streamed, "event: turn.started\ndata: {\"turnNumber\":1}\n\nevent: turn.completed\ndata: "+one.Body.String()+"\n\n") {
		t.Errorf("streamed again: %s", streamed)
	}
	if read := b.do("GET", "/api/chat/conversations/"+id+"/turns/1", ""); read.Body.String() != one.Body.String() {
		t.Errorf("read again: %s", read.Body)
	}
	bob := realChatAs(t, as{Tenant: "acme", User: "bob"}, kept)
	if rec := bob.do("POST", "/api/chat/start", "", "Idempotency-Key", "k"); rec.Code != 200 || rec.Body.String() == first.Body.String() {
		t.Errorf("another user has the same key: %s", rec.Body)
	}
	if rec := b.do("POST", "/api/chat/send", strings.Replace(send, "hello", "fail", 1), "Idempotency-Key", "f"); outcomeOf(rec) != "502 agent_failed" {
		t.Errorf("a failure: %s", rec.Body)
	}
	if rec := b.do("POST", "/api/chat/send", send, "Idempotency-Key", "f"); rec.Code != 200 {
		t.Errorf("the key after a failure: %s", rec.Body)
	}
}

// slowAgent answers when it is let.
type slowAgent struct {
	agent.Agent
	asked chan struct{}
	let   chan struct{}
}

func (s slowAgent) Send(ctx context.Context, session agent.Session, message rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		s.asked <- struct{}{}
		select {
		case <-s.let:
		case <-ctx.Done():
			yield(agent.Chunk{}, ctx.Err())
			return
		}
		s.Agent.Send(ctx, session, message)(yield)
	}
}

func slowly(t *testing.T) slowAgent {
	t.Helper()
	script, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	return slowAgent{Agent: scripted.New(script), asked: make(chan struct{}, 8), let: make(chan struct{})}
}

func TestWhileATurnIsUnderWay(t *testing.T) {
	t.Parallel()
	thinking := slowly(t)
	b := realChat(t, func(c *chat.Config) { c.Agents = map[string]agent.Agent{"scripted": thinking} })
	id, _ := startChat(t, b)
	send := `{"conversationId":"` + id + `","text":"hello"}`
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- b.do("POST", "/api/chat/send", send, "Idempotency-Key", "k") }()
	<-thinking.asked
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		want               string
	}{
		"send":          {"POST", "/api/chat/send", send, nil, "409 conversation_busy"},
		"send, a key":   {"POST", "/api/chat/send", send, []string{"Idempotency-Key", "k"}, "409 idempotency_in_progress"},
		"another body":  {"POST", "/api/chat/send", strings.Replace(send, "hello", "x", 1), []string{"Idempotency-Key", "k"}, "422 idempotency_key_reused"},
		"streamed":      {"POST", "/api/chat/send", send, []string{"Accept", "text/event-stream"}, "409 conversation_busy"},
		"orchestrate":   {"POST", "/api/chat/orchestrate", `{"conversationId":"` + id + `","query":"x"}`, nil, "409 conversation_busy"},
		"end":           {"POST", "/api/chat/conversations/" + id + "/end", "", nil, "409 conversation_busy"},
		"delete":        {"DELETE", "/api/chat/conversations/" + id, "", nil, "409 conversation_busy"},
		"get":           {"GET", "/api/chat/conversations/" + id, "", nil, ""},
		"turns":         {"GET", "/api/chat/conversations/" + id + "/turns", "", nil, ""},
		"not there yet": {"GET", "/api/chat/conversations/" + id + "/turns/1", "", nil, "404 not_found"},
		"another start": {"POST", "/api/chat/start", "", nil, ""},
	} {
		rec := b.do(test.method, test.path, test.body, test.headers...)
		if got := outcomeOf(rec); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if strings.HasPrefix(test.want, "409") && rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", name)
		}
	}
	close(thinking.let)
	if rec := <-first; rec.Code != 200 {
		t.Errorf("the turn: %d %s", rec.Code, rec.Body)
	}
}

func TestAgentsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	b := realChat(t, func(c *chat.Config) {
		c.Agents, c.AgentTimeout = map[string]agent.Agent{"scripted": slowly(t)}, time.Millisecond
	})
	id, _ := startChat(t, b)
	if rec := b.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"x"}`); outcomeOf(rec) != "504 agent_timeout" {
		t.Errorf("got %s", rec.Body)
	}
	rec := b.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"x"}`, "Accept", "text/event-stream")
	if _, failed, _ := strings.Cut(rec.Body.String(), "event: turn.failed\ndata: "); rec.Code != 200 || member([]byte(strings.TrimSpace(failed)), "code") != "agent_timeout" {
		t.Errorf("streamed: %s", rec.Body)
	}
}

// downStore cannot be reached.
type downStore struct{ store.Conversations }

func (downStore) Acquire(context.Context, store.AcquireConversation) error {
	return errors.New("connection refused")
}

func TestAStoreThatIsDownIs503(t *testing.T) {
	t.Parallel()
	kept := memory.Open(memory.Options{})
	id, _ := startChat(t, realChat(t, func(c *chat.Config) { c.Store = kept }))
	b := realChat(t, func(c *chat.Config) { c.Store = downStore{kept} })
	rec := b.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"x"}`)
	if outcomeOf(rec) != "503 unavailable" || rec.Header().Get("Retry-After") == "" || strings.Contains(rec.Body.String(), "refused") {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	b := realChat(t)
	id, _ := startChat(t, b)
	for _, test := range []struct {
		text   string
		status int
	}{{strings.Repeat("é", 4000), 200}, {strings.Repeat("é", 4001), 400}, {strings.Repeat("😀", 2000), 200}, {strings.Repeat("😀", 2001), 400}} {
		rec := b.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"`+test.text+`"}`)
		if rec.Code != test.status {
			t.Errorf("%d bytes: %d %.300s", len(test.text), rec.Code, rec.Body)
		}
		if test.status == 400 && olderProblem(t, rec.Body.Bytes()).Details[0].Pointer != "/text" {
			t.Errorf("details: %s", rec.Body)
		}
	}
}

func TestStreamsOfTheRealService(t *testing.T) {
	t.Parallel()
	b := realChat(t)
	id, _ := startChat(t, b)
	rec := b.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"I pay 40 by card"}`, "Accept", "text/event-stream")
	said := rec.Body.String()
	_, last, _ := strings.Cut(said, "event: turn.completed\ndata: ")
	if !strings.HasPrefix(said, "event: turn.started\ndata: {\"turnNumber\":1}\n\nevent: message.delta\n") {
		t.Errorf("got %s", said)
	}
	var spoken strings.Builder
	for _, data := range regexp.MustCompile(`event: message.delta\ndata: (.*)\n`).FindAllStringSubmatch(said, -1) {
		spoken.WriteString(member([]byte(data[1]), "text"))
	}
	if spoken.String() != "Shall I take 40 by card?" {
		t.Errorf("the pieces are %q", spoken.String())
	}
	if read := b.do("GET", "/api/chat/conversations/"+id+"/turns/1", ""); read.Body.String()+"\n\n" != last {
		t.Errorf("streamed %s, read %s", last, read.Body)
	}
}

func TestUnknownIdsCanBeginAConversation(t *testing.T) {
	t.Parallel()
	b := realChat(t, func(c *chat.Config) { c.Unknown = chat.UnknownInitialise })
	for n := range 2 {
		rec := b.do("POST", "/api/chat/send", `{"conversationId":"my own: id","text":"hello"}`)
		var turn rondo.WorkflowResponse
		if err := json.Unmarshal(rec.Body.Bytes(), &turn); err != nil || rec.Code != 200 || turn.ConversationID != "my own: id" || turn.WorkflowState.TurnCount != n+1 {
			t.Errorf("turn %d: %d %s", n+1, rec.Code, rec.Body)
		}
	}
	if rec := b.do("GET", "/api/chat/conversations/my%20own:%20id", ""); rec.Code != 200 {
		t.Errorf("reading it: %d %s", rec.Code, rec.Body)
	}
}
