package httpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
)

func TestConversationsArePaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n := range 3 {
		b.chat.listed = append(b.chat.listed, knownConversation(n))
	}
	rec := b.do("GET", "/api/chat/conversations?limit=2", "")
	checkDocumented(t, b.OpenAPI(), "GET", "/api/chat/conversations", rec)
	var page struct {
		Items      []rondo.Conversation
		NextCursor string
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 2 || b.chat.page != (store.ConversationPage{Limit: 3}) {
		t.Errorf("%d items of a page %+v", len(page.Items), b.chat.page)
	}
	b.chat.listed = b.chat.listed[:1]
	rec = b.do("GET", "/api/chat/conversations?limit=2&cursor="+page.NextCursor, "")
	if want := (store.ConversationPage{Before: start.Add(-time.Second), BeforeID: chatID, Limit: 3}); b.chat.page != want {
		t.Errorf("the next page is %+v, want %+v", b.chat.page, want)
	}
	if want := `{"items":[{"externalId":"` + chatID + `","tenantId":"acme","userId":"ann","status":"active","definition":{"id":"default","version":0,"hash":"abc"},"createdAt":"2026-03-01T12:00:00.123456Z","updatedAt":"2026-03-01T12:00:00.123456Z"}],"nextCursor":null}` + "\n"; rec.Body.String() != want {
		t.Errorf("the last page is %s", rec.Body)
	}
}

func TestOneConversationIsShownWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.chat.view = chat.View{
		Conversation: knownConversation(0),
		State: rondo.WorkflowState{Step: "s", Status: rondo.WorkflowActive, TurnCount: 1, CollectedData: map[string]json.RawMessage{
			"n": json.RawMessage("1.50"),
		}},
		Timers:  []rondo.ConversationTimer{{ID: "t", Kind: rondo.TimerAfter, DueAt: start}},
		History: []rondo.NormalizedMessage{{ID: chatID, Role: rondo.RoleUser, Kind: rondo.MessageText, Text: "<hi>"}}, First: 41,
	}
	rec := b.do("GET", chatAt+"?limit=7", "")
	checkDocumented(t, b.OpenAPI(), "GET", "/api/chat/conversations/{id}", rec)
	const want = `{"externalId":"` + chatID + `","tenantId":"acme","userId":"ann","status":"active","definition":{"id":"default","version":0,"hash":"abc"},"createdAt":"2026-03-01T12:00:00.123456Z","updatedAt":"2026-03-01T12:00:00.123456Z",` +
		`"history":[{"id":"` + chatID + `","role":"user","kind":"text","text":"<hi>"}],"nextCursor":"TSk",` +
		`"workflowState":{"step":"s","collectedData":{"n":1.50},"turnCount":1,"status":"active"},"timers":[{"id":"t","kind":"after","dueAt":"2026-03-01T12:00:00.123456Z"}]}` + "\n"
	if diff := cmp.Diff(want, rec.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.chat.view.First, b.chat.view.History, b.chat.view.Timers = 0, nil, nil
	rec = b.do("GET", chatAt+"?cursor=TSk", "")
	if diff := cmp.Diff([]int{41, 50}, b.chat.numbers); diff != "" {
		t.Errorf("before and limit (-want +got):\n%s", diff)
	}
	checkDocumented(t, b.OpenAPI(), "GET", "/api/chat/conversations/{id}", rec)
	if rec := b.do("GET", chatAt+"/turns?cursor=TSk", ""); rec.Code != 400 {
		t.Errorf("another list took the cursor: %d", rec.Code)
	}
}

func TestTurnRecordsArePaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.chat.turns = []rondo.TurnRecord{{Number: 0, Kind: rondo.TurnByStart, At: start}, {Number: 1, Kind: rondo.TurnByTimer, At: start}}
	rec := b.do("GET", chatAt+"/turns?limit=1", "")
	checkDocumented(t, b.OpenAPI(), "GET", "/api/chat/conversations/{id}/turns", rec)
	var page struct {
		Items      []rondo.TurnRecord
		NextCursor string
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("%s: %v", rec.Body, err)
	}
	if diff := cmp.Diff([]int{-1, 2}, b.chat.numbers); diff != "" {
		t.Errorf("the first page begins after, limit (-want +got):\n%s", diff)
	}
	b.do("GET", chatAt+"/turns?limit=1&cursor="+page.NextCursor, "")
	if diff := cmp.Diff([]int{0, 2}, b.chat.numbers); diff != "" {
		t.Errorf("the second page begins after, limit (-want +got):\n%s", diff)
	}
}

func TestAResponseIsReadAgainByteForByte(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if rec := b.do("GET", chatAt+"/turns/1", ""); rec.Code != 200 || rec.Body.String() != `{"n": 1.50}` {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
	b.chat.turns = append(b.chat.turns, rondo.TurnRecord{Number: 2, Kind: rondo.TurnByTimer})
	if rec := b.do("GET", chatAt+"/turns/2", ""); rec.Code != 404 { // nobody asked for it
		t.Errorf("a timer's response: %d %s", rec.Code, rec.Body)
	}
}

func TestErasingAnswersNothing(t *testing.T) {
	t.Parallel()
	rec := newBench(t).do("DELETE", chatAt, "")
	if rec.Code != 204 || rec.Body.Len() != 0 {
		t.Errorf("got %d %q", rec.Code, rec.Body)
	}
}

func TestReplaysFindTheirDefinition(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rec := b.do("POST", chatAt+"/replay", `{"definition":"payment"}`)
	checkDocumented(t, b.OpenAPI(), "POST", "/api/chat/conversations/{id}/replay", rec)
	if b.chat.through == nil || b.chat.through.Name != "payment" {
		t.Errorf("by name: %+v", b.chat.through)
	}
	rec = b.do("POST", chatAt+"/replay", fmt.Sprintf(`{"body":%s}`, turn.Shipped()["default"]))
	if rec.Code != 200 || b.chat.through.Name != "default" || rec.Body.String() != `{"turns":[],"firstDifference":null}`+"\n" {
		t.Errorf("by body: %d %s", rec.Code, rec.Body)
	}
}
