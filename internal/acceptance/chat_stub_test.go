package acceptance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// stubAgent speaks the wire format of Copilot Studio, and holds its tongue where a
// test wants it to.
type stubAgent struct {
	server *httptest.Server

	mu       sync.Mutex
	sessions int
	asked    []asked
	held     map[string]*hold // by what the user says
}

// asked is one message that the agent was given.
type asked struct{ session, text string }

// hold keeps one answer back.
type hold struct{ arrived, release chan struct{} }

func newStubAgent(t *testing.T) *stubAgent {
	t.Helper()
	a := &stubAgent{held: map[string]*hold{}}
	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)
	return a
}

// flags make a server talk to the stub.
func (a *stubAgent) flags() []string {
	return []string{"--llm-provider", "copilot", "--copilot-direct-connect-url", a.server.URL + "/agent/conversations", "--copilot-token", "trial"}
}

// holdBack makes the agent wait before it answers a text, once.
func (a *stubAgent) holdBack(text string) *hold {
	h := &hold{arrived: make(chan struct{}), release: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[text] = h
	return h
}

// heard is what was said so far in one of the agent's conversations.
func (a *stubAgent) heard(session string) (texts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, each := range a.asked {
		if each.session == session {
			texts = append(texts, each.text)
		}
	}
	return texts
}

// ServeHTTP answers "Fact: value" by reporting the value as data, and everything
// else by asking on.
func (a *stubAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Activity struct {
			Text string `json:"text"`
		} `json:"activity"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	session := path.Base(r.URL.Path)
	if session == "conversations" {
		a.mu.Lock()
		a.sessions++
		session = fmt.Sprintf("session-%d", a.sessions)
		a.mu.Unlock()
		a.say(w, session, "Hello.", nil)
		return
	}
	_, said, _ := strings.Cut(body.Activity.Text, "[/CONTEXT]\n\n")
	a.mu.Lock()
	a.asked = append(a.asked, asked{session, body.Activity.Text})
	h := a.held[said]
	delete(a.held, said)
	a.mu.Unlock()
	if h != nil {
		close(h.arrived)
		select {
		case <-h.release:
		case <-r.Context().Done():
			return
		}
	}
	value := map[string]any{"action": "ask", "prompt": "Go on."}
	if fact, what, ok := strings.Cut(said, ": "); ok {
		value["data"] = map[string]string{fact: what}
	}
	a.say(w, session, "Go on.", value)
}

func (a *stubAgent) say(w http.ResponseWriter, session, text string, value any) {
	activity := map[string]any{
		"type": "message", "id": "a-1", "text": text, "from": map[string]string{"id": "bot", "role": "bot"},
		"conversation": map[string]string{"id": session},
	}
	if value != nil {
		activity["value"] = value
	}
	raw, err := json.Marshal(activity)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("x-ms-conversationid", session)
	_, _ = fmt.Fprintf(w, "event: activity\ndata: %s\n\nevent: end\ndata: end\n\n", raw)
}

// chatGround is where conversations of a real process are kept.
type chatGround struct{ flags []string }

// chatStores are those that keep conversations in different ways.
func chatStores() []pair { return []pair{{store: "sqlite"}, {store: "sqlite", redis: true}} }

// newChatGround makes an empty one.
func newChatGround(t *testing.T, p pair) chatGround {
	t.Helper()
	g := newGround(t, p)
	flags := []string{"--database", g.database}
	if p.redis {
		flags = append(flags, "--redis", g.redisURL)
	}
	return chatGround{flags: flags}
}

// serveChat runs a real server that talks to the stub.
func serveChat(t *testing.T, g chatGround, agent *stubAgent, more ...string) *program {
	t.Helper()
	args := slices.Concat([]string{"serve", "--migrate", "--no-auth-required"}, g.flags, agent.flags(), more)
	return startProgram(t, args...)
}

// chatState is what the tests look at in a conversation.
type chatState struct {
	ConversationID string `json:"conversationId"`
	WorkflowState  struct {
		Step          string            `json:"step"`
		TurnCount     int               `json:"turnCount"`
		CollectedData map[string]string `json:"collectedData"`
	} `json:"workflowState"`
	History []struct {
		Role string `json:"role"`
		Text string `json:"text"`
	} `json:"history"`
}

func (s chatState) texts() (texts []string) {
	for _, m := range s.History {
		texts = append(texts, m.Role+": "+m.Text)
	}
	return texts
}

// startChat opens a conversation and returns its id.
func (p *program) startChat(t *testing.T, definition string) string {
	t.Helper()
	body := []byte(`{}`)
	if definition != "" {
		body = fmt.Appendf(nil, `{"definition":%q}`, definition)
	}
	var started chatState
	p.chat(t, "/api/chat/start", body, http.StatusOK, &started)
	return started.ConversationID
}

// sendChat says something and returns the status and the answer.
func (p *program) sendChat(id, text string) (status int, answer []byte, err error) {
	body, err := json.Marshal(map[string]string{"conversationId": id, "text": text})
	if err != nil {
		return 0, nil, err
	}
	return p.call(http.MethodPost, "/api/chat/send", body)
}

// say is sendChat for a turn that must be answered.
func (p *program) say(t *testing.T, id, text string) {
	t.Helper()
	if status, answer, err := p.sendChat(id, text); err != nil || status != http.StatusOK {
		t.Fatalf("send %q: %d %s %v\n%s", text, status, answer, err, p.errors)
	}
}

// conversation reads one whole conversation.
func (p *program) conversation(t *testing.T, id string) chatState {
	t.Helper()
	var found chatState
	p.chat(t, "/api/chat/conversations/"+id, nil, http.StatusOK, &found)
	return found
}

func (p *program) chat(t *testing.T, path string, body []byte, want int, into any) {
	t.Helper()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	status, answer, err := p.call(method, path, body)
	if err != nil || status != want {
		t.Fatalf("%s %s: %d %s %v, want %d\n%s", method, path, status, answer, err, want, p.errors)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}
