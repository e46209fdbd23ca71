package httpapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

const (
	sendBody = `{"conversationId":"` + chatID + `","text":"hello"}`
	cardBody = `{"conversationId":"` + chatID + `","cardId":"c","userSummary":"Yes","submitData":{"action":"Action.Submit","n":1.50}}`
	chatAt   = "/api/chat/conversations/" + chatID
)

func TestChatRequestsReachTheServiceWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path, body string
		want       chat.Request
	}{
		"start":                     {"/api/chat/start", "", chat.Request{Kind: chat.KindStart}},
		"start, an empty object":    {"/api/chat/start", "{}", chat.Request{Kind: chat.KindStart}},
		"start with a definition":   {"/api/chat/start", `{"definition":"payment"}`, chat.Request{Kind: chat.KindStart, Definition: "payment"}},
		"start, null":               {"/api/chat/start", `{"definition":null}`, chat.Request{Kind: chat.KindStart}},
		"send":                      {"/api/chat/send", sendBody, chat.Request{Kind: chat.KindSend, ConversationID: chatID, Text: "hello"}},
		"send, more than is needed": {"/api/chat/send", `{"colour":[1],"conversationId":"` + chatID + `","text":" ","workflowContext":7}`, chat.Request{Kind: chat.KindSend, ConversationID: chatID, Text: " "}},
		"card":                      {"/api/chat/card-action", cardBody, chat.Request{Kind: chat.KindCard, ConversationID: chatID, CardID: "c", UserSummary: "Yes", SubmitData: json.RawMessage(`{"action":"Action.Submit","n":1.50}`)}},
		"card, empty words":         {"/api/chat/card-action", `{"conversationId":"` + chatID + `","cardId":"","userSummary":"","submitData":{}}`, chat.Request{Kind: chat.KindCard, ConversationID: chatID, SubmitData: json.RawMessage(`{}`)}},
		"query":                     {"/api/chat/orchestrate", `{"query":"q"}`, chat.Request{Kind: chat.KindOrchestrate, Text: "q"}},
		"query with everything": {
			"/api/chat/orchestrate", `{"query":"q","conversationId":"` + chatID + `","workflowContext":{"step":"s","constraints":["a","b"],"collectedData":{"n":1.50},"more":1}}`,
			chat.Request{Kind: chat.KindOrchestrate, ConversationID: chatID, Text: "q", Context: &rondo.WorkflowContext{Step: "s", Constraints: []string{"a", "b"}, CollectedData: map[string]json.RawMessage{"n": json.RawMessage("1.50")}}},
		},
		"query, nulls":      {"/api/chat/orchestrate", `{"query":"q","conversationId":null,"workflowContext":null}`, chat.Request{Kind: chat.KindOrchestrate, Text: "q"}},
		"end":               {chatAt + "/end", "", chat.Request{Kind: chat.KindEnd, ConversationID: chatID}},
		"end with a reason": {chatAt + "/end", `{"outcome":"completed","reason":"done"}`, chat.Request{Kind: chat.KindEnd, ConversationID: chatID, Outcome: "completed", Reason: "done"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", test.path, test.body, "X-Request-Id", "r1", "Authorization", "bearer  secret")
			if rec.Code != 200 || rec.Body.String() != string(b.chat.answer.Body) || rec.Header().Get("Content-Type") != "application/json" {
				t.Errorf("got %d %s %s", rec.Code, rec.Header(), rec.Body)
			}
			test.want.RequestID = "r1"
			if diff := cmp.Diff(test.want, b.chat.request, cmp.Comparer(func(a, b func(chat.StreamEvent)) bool { return a == nil && b == nil })); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if b.chat.caller.Token != "secret" || b.chat.caller.User != "ann" {
				t.Errorf("the caller is %+v", b.chat.caller)
			}
			if strings.Contains(b.log.String(), "secret") || strings.Contains(b.log.String(), "hello") {
				t.Errorf("the log shows too much: %s", b.log)
			}
		})
	}
}

func TestBadChatBodiesAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	tests := map[string]struct {
		path, body string
		status     int
		pointers   []string
	}{
		"send nothing":            {"send", "", 400, []string{""}},
		"send an empty object":    {"send", "{}", 400, []string{"/conversationId", "/text"}},
		"send a list":             {"send", "[]", 400, []string{""}},
		"send null":               {"send", `{"conversationId":null,"text":null}`, 400, []string{"/conversationId", "/text"}},
		"send no text":            {"send", `{"conversationId":"` + chatID + `","text":""}`, 400, []string{"/text"}},
		"send a number":           {"send", `{"conversationId":"` + chatID + `","text":7}`, 400, []string{"/text"}},
		"send NUL":                {"send", `{"conversationId":"` + chatID + `","text":"a\u0000"}`, 400, []string{"/text"}},
		"send to no UUID":         {"send", `{"conversationId":"c-1","text":"x"}`, 400, []string{"/conversationId"}},
		"send to an empty id":     {"send", `{"conversationId":"","text":"x"}`, 400, []string{"/conversationId"}},
		"send in another case":    {"send", `{"ConversationId":"` + chatID + `","text":"x"}`, 400, []string{"/conversationId"}},
		"send twice the same":     {"send", `{"conversationId":"` + chatID + `","text":"x","text":"y"}`, 400, []string{"/text"}},
		"send too deep":           {"send", `{"conversationId":"` + chatID + `","text":"x","a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 400, []string{"*"}},
		"send too much":           {"send", `{"a":"` + strings.Repeat("x", 256<<10) + `"}`, 413, nil},
		"send no JSON":            {"send", `{"text"`, 400, []string{"*"}},
		"card without members":    {"card-action", "{}", 400, []string{"/conversationId", "/cardId", "/userSummary", "/submitData"}},
		"card with a list":        {"card-action", strings.Replace(cardBody, `{"action":"Action.Submit","n":1.50}`, "[]", 1), 400, []string{"/submitData"}},
		"card of no UUID":         {"card-action", strings.Replace(cardBody, chatID, "x", 1), 400, []string{"/conversationId"}},
		"no query":                {"orchestrate", `{}`, 400, []string{"/query"}},
		"an empty query":          {"orchestrate", `{"query":""}`, 400, []string{"/query"}},
		"context that is a text":  {"orchestrate", `{"query":"q","workflowContext":"s"}`, 400, []string{"/workflowContext"}},
		"context without a step":  {"orchestrate", `{"query":"q","workflowContext":{}}`, 400, []string{"/workflowContext/step"}},
		"context, all wrong":      {"orchestrate", `{"query":"q","workflowContext":{"step":"","constraints":[1],"collectedData":[]}}`, 400, []string{"/workflowContext/step", "/workflowContext/constraints", "/workflowContext/collectedData"}},
		"start with a number":     {"start", `{"definition":1}`, 400, []string{"/definition"}},
		"start with nothing":      {"start", `{"definition":""}`, 400, []string{"/definition"}},
		"end as something":        {"conversations/" + chatID + "/end", `{"outcome":"won"}`, 400, []string{"/outcome"}},
		"replay through nothing":  {"conversations/" + chatID + "/replay", `{}`, 400, []string{""}},
		"replay through two":      {"conversations/" + chatID + "/replay", `{"definition":"default","body":{}}`, 400, []string{""}},
		"replay, unknown name":    {"conversations/" + chatID + "/replay", `{"definition":"nobody"}`, 400, []string{"/definition"}},
		"replay, no UUID":         {"conversations/" + chatID + "/replay", `{"definitionId":"7"}`, 400, []string{"/definitionId"}},
		"replay, unknown id":      {"conversations/" + chatID + "/replay", `{"definitionId":"` + instanceID.String() + `"}`, 400, []string{"/definitionId"}},
		"replay through a case":   {"conversations/" + chatID + "/replay", `{"definitionId":"` + definitionID.String() + `"}`, 400, []string{"/definitionId"}},
		"replay through nonsense": {"conversations/" + chatID + "/replay", `{"body":{"name":7}}`, 422, []string{"*"}},
		"a long id":               {"send", `{"conversationId":"` + long + `","text":"x"}`, 400, []string{"/conversationId"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", "/api/chat/"+test.path, test.body)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			said := olderProblem(t, rec.Body.Bytes())
			problemIn(t, rec)
			if test.status != 400 {
				if said.Details != nil {
					t.Errorf("details are of 400 alone: %s", rec.Body)
				}
				return
			}
			var got []string
			for _, d := range said.Details {
				got = append(got, d.Pointer)
				if d.Message == "" || d.Code == "" {
					t.Errorf("an incomplete detail: %+v", d)
				}
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" && test.pointers[0] != "*" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
			if b.chat.request.Kind != "" {
				t.Error("the service was called")
			}
		})
	}
}

// saidToOlder is what clients read that know nothing of problems.
type saidToOlder struct {
	Error   string
	Details []rondo.FieldError
}

// olderProblem reads a problem as those clients do.
func olderProblem(t *testing.T, raw []byte) (said saidToOlder) {
	t.Helper()
	if err := json.Unmarshal(raw, &said); err != nil {
		t.Fatal(err)
	}
	if said.Error == "" {
		t.Errorf("no error for older clients: %s", raw)
	}
	return said
}

func TestIdsOfClientsOwnMaking(t *testing.T) {
	t.Parallel()
	own := newBench(t, func(c *httpapi.Config) { c.ChatAnyID = true })
	for id, status := range map[string]int{"c 1": 404, strings.Repeat("x", 255): 404, strings.Repeat("x", 256): 400, "": 400, chatID: 200} {
		if rec := own.do("POST", "/api/chat/send", `{"conversationId":"`+id+`","text":"x"}`); rec.Code != status {
			t.Errorf("%.10q: %d %s", id, rec.Code, rec.Body)
		}
		if rec := own.do("POST", "/api/chat/orchestrate", `{"conversationId":"`+id+`","query":"x"}`); rec.Code != status {
			t.Errorf("orchestrate %.10q: %d %s", id, rec.Code, rec.Body)
		}
	}
}

func TestErrorsOfTurnsBecomeProblems(t *testing.T) {
	t.Parallel()
	const secret = "what the user said"
	tests := map[string]struct {
		err    error
		status int
		code   string
		detail string
		retry  string
	}{
		"invalid":             {rondo.Invalid("too long"), 400, "invalid", "too long", ""},
		"card refused":        {&rondo.Error{Code: rondo.CodeCardRefused, Message: "Missing action type"}, 403, "card_refused", "Missing action type", ""},
		"unknown":             {&rondo.Error{Code: rondo.CodeConversationNotFound, Message: secret}, 404, "conversation_not_found", "no such conversation", ""},
		"busy":                {&rondo.Error{Code: rondo.CodeConversationBusy, Message: "busy", Err: &store.BusyError{RetryAfter: 2500 * time.Millisecond}}, 409, "conversation_busy", "busy", "3"},
		"busy, nobody knows":  {&rondo.Error{Code: rondo.CodeConversationBusy, Message: "busy"}, 409, "conversation_busy", "busy", "1"},
		"lease lost":          {&rondo.Error{Code: rondo.CodeLeaseLost, Message: "lost"}, 409, "lease_lost", "lost", "1"},
		"completed":           {&rondo.Error{Code: rondo.CodeWorkflowCompleted, Message: "over"}, 409, "workflow_completed", "over", ""},
		"key in progress":     {&rondo.Error{Code: rondo.CodeKeyInProgress, Message: "wait", Err: &store.BusyError{RetryAfter: 30 * time.Second}}, 409, "idempotency_in_progress", "wait", "30"},
		"card submitted":      {&rondo.Error{Code: rondo.CodeCardSubmitted, Message: "again"}, 409, "card_already_submitted", "again", ""},
		"key reused":          {&rondo.Error{Code: rondo.CodeKeyReused, Message: "another body"}, 422, "idempotency_key_reused", "another body", ""},
		"overloaded":          {&rondo.Error{Code: rondo.CodeOverloaded, Message: "later"}, 429, "overloaded", "later", "1"},
		"state corrupt":       {&rondo.Error{Code: rondo.CodeStateCorrupt, Message: secret}, 500, "state_corrupt", "what is stored of the conversation cannot be read", ""},
		"workflow logic":      {&rondo.Error{Code: rondo.CodeWorkflowLogic, Message: "a guard failed", Err: errors.New(secret)}, 500, "workflow_logic", "a guard failed", ""},
		"internal":            {errors.New(secret), 500, "internal", "something went wrong inside the server", ""},
		"agent failed":        {&rondo.Error{Code: rondo.CodeAgentFailed, Message: "the agent failed", Err: &agent.Error{Message: secret}}, 502, "agent_failed", "the agent failed", ""},
		"agent asks for time": {&rondo.Error{Code: rondo.CodeAgentFailed, Message: "the agent failed", Err: &agent.Error{RetryAfter: time.Minute}}, 502, "agent_failed", "the agent failed", "60"},
		"store down":          {&rondo.Error{Code: rondo.CodeUnavailable, Message: "down", Err: errors.New(secret)}, 503, "unavailable", "down", "5"},
		"agent too slow":      {&rondo.Error{Code: rondo.CodeAgentTimeout, Message: "too slow"}, 504, "agent_timeout", "too slow", ""},
	}
	for name, test := range tests {
		for _, accept := range []string{"application/json", "text/event-stream"} { // before a turn has started both are plain
			t.Run(name+"/"+accept, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.engine.err = test.err
				rec := b.do("POST", "/api/chat/send", sendBody, "Accept", accept)
				p := problemIn(t, rec)
				if rec.Code != test.status || p.Code != test.code || p.Detail != test.detail || rec.Header().Get("Retry-After") != test.retry {
					t.Errorf("got %d %s %q, Retry-After %q", rec.Code, p.Code, p.Detail, rec.Header().Get("Retry-After"))
				}
				if said := olderProblem(t, rec.Body.Bytes()); said.Error != p.Detail {
					t.Errorf("older clients read %q", said.Error)
				}
				if strings.Contains(rec.Body.String(), secret) {
					t.Errorf("the answer shows too much: %s", rec.Body)
				}
				checkDocumented(t, b.OpenAPI(), "POST", "/api/chat/send", rec)
			})
		}
	}
}

func TestAStartWithAnUnknownDefinition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.err = rondo.NotFound("definition")
	rec := b.do("POST", "/api/chat/start", `{"definition":"nobody"}`)
	if said := olderProblem(t, rec.Body.Bytes()); rec.Code != 400 || len(said.Details) != 1 || said.Details[0].Pointer != "/definition" {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}

func TestEveryProblemOfTheChatAPIServesOlderClients(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	verifier, _ := tokenBench(t)
	none := newBench(t, func(c *httpapi.Config) { c.Chat = nil })
	for name, test := range map[string]struct {
		on           *bench
		method, path string
		status       int
	}{
		"no route":    {b, "GET", "/api/chat/nowhere", 404},
		"not clean":   {b, "GET", "/api/chat/../chat//x", 404},
		"no method":   {b, "PUT", "/api/chat/send", 405},
		"no token":    {verifier, "POST", "/api/chat/start", 401},
		"bad query":   {b, "GET", "/api/chat/conversations?limit=0", 400},
		"no agent":    {none, "POST", "/api/chat/start", 503},
		"no list":     {none, "GET", "/api/chat/conversations", 503},
		"no deletion": {none, "DELETE", chatAt, 503},
		"no turn":     {b, "GET", chatAt + "/turns/9", 404},
		"bad number":  {b, "GET", chatAt + "/turns/-1", 404},
		"long number": {b, "GET", chatAt + "/turns/99999999999", 404},
	} {
		rec := test.on.do(test.method, test.path, "")
		if rec.Code != test.status {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
		olderProblem(t, rec.Body.Bytes())
	}
	b.engine.panic = "broken"
	if rec := b.do("POST", "/api/chat/start", ""); rec.Code != 500 {
		t.Errorf("a crash: %d", rec.Code)
	} else {
		olderProblem(t, rec.Body.Bytes())
	}
	if rec := newBench(t).do("GET", "/nowhere", ""); strings.Contains(rec.Body.String(), `"error"`) {
		t.Errorf("the case API speaks to older clients: %s", rec.Body)
	}
}

func TestHealthTellsOfTheAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*httpapi.Config)
		want   string
	}{
		"agent and Redis": {func(c *httpapi.Config) { c.ChatRedis = true }, `"provider":"scripted","model":"demo","authRequired":true,"redis":true}`},
		"no agent":        {func(c *httpapi.Config) { c.Chat = nil }, `"provider":null,"model":null,"authRequired":true,"redis":false}`},
		"no token":        {func(c *httpapi.Config) { c.Auth = auth.Stub{AnyHost: true} }, `"authRequired":false,`},
	} {
		if rec := newBench(t, test.change).do(http.MethodGet, "/health", ""); !strings.Contains(rec.Body.String(), test.want) {
			t.Errorf("%s: %s", name, rec.Body)
		}
	}
}
