package agenttest

import (
	"crypto/rand"
	_ "embed" // the recordings
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// What an agent of Copilot Studio streams: a greeting, and an answer with pieces of
// text, a structured value, suggested answers, citations and a card. Both are written
// by hand in its format, not taken from a live service.
var (
	//go:embed testdata/copilot_start.sse
	copilotStart []byte
	//go:embed testdata/copilot_turn.sse
	copilotTurn []byte
)

// CopilotSession is what the recordings call their conversation.
const CopilotSession = "54f40ada-1972-4728-a9a3-b13f8f32f495"

// Stub is a server of agents to try drivers with. Its zero number of Calls rises
// with every request that it took for a call.
type Stub struct {
	handler http.HandlerFunc
	calls   atomic.Int64
}

// Calls is how many calls were made.
func (s *Stub) Calls() int { return int(s.calls.Load()) }

// ServeHTTP answers a call.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler(w, r) }

const maxRequest = 1 << 20

// NewCopilot speaks as an agent of Copilot Studio does, direct to engine, below any
// path that ends in /conversations or /conversations/{id}. What it says is another
// agent's, or the recordings when that is nil. Any bearer token will do.
func NewCopilot(inner agent.Agent) *Stub {
	stub := &Stub{}
	stub.handler = func(w http.ResponseWriter, r *http.Request) {
		_, id, found := strings.Cut(r.URL.Path+"/", "/conversations/")
		id = strings.TrimSuffix(id, "/")
		if !found || strings.Contains(id, "/") || r.URL.Query().Get("api-version") == "" {
			refuse(w, http.StatusNotFound, "NotFound")
			return
		}
		var body struct {
			Emit     *bool           `json:"emitStartConversationEvent"`
			Activity *rondo.Activity `json:"activity"`
		}
		if !accept(w, r, &body) {
			return
		}
		if body.Activity == nil && (body.Emit == nil || id != "") {
			refuse(w, http.StatusBadRequest, "InvalidRequest")
			return
		}
		stub.calls.Add(1)
		if inner == nil {
			w.Header().Set("X-Ms-Conversationid", CopilotSession)
			w.Header().Set("Content-Type", "text/event-stream")
			recording := copilotStart
			if body.Activity != nil {
				recording = copilotTurn
			}
			_, _ = w.Write(recording)
			return
		}
		if id == "" {
			id = rand.Text()
		}
		session := agent.Session{ConversationID: id, AgentSession: id}
		answer := inner.Start(r.Context(), session)
		if body.Activity != nil {
			answer = inner.Send(r.Context(), session, *body.Activity)
		}
		w.Header().Set("X-Ms-Conversationid", id)
		streamActivities(w, id, answer)
	}
	return stub
}

// streamActivities writes an answer as events. An answer that fails at once is a
// status; later the stream breaks off.
func streamActivities(w http.ResponseWriter, id string, answer iter.Seq2[agent.Chunk, error]) {
	w.Header().Set("Content-Type", "text/event-stream")
	sequence, begun := 0, false
	for chunk, err := range answer {
		switch {
		case err != nil && !begun:
			refuse(w, http.StatusBadGateway, "AgentFailed")
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		case chunk.Activity != nil:
			activity := *chunk.Activity
			activity.Conversation = &rondo.Account{ID: id}
			writeEvent(w, "activity", activity)
			begun = true
		case chunk.Delta != nil:
			sequence++
			writeEvent(w, "activity", typing(id, sequence, chunk.Delta))
			begun = true
		}
	}
	writeEvent(w, "end", "end")
}

// typing is a piece of a text, as Copilot Studio sends it.
func typing(id string, sequence int, piece *agent.Delta) map[string]any {
	return map[string]any{
		"type": rondo.ActivityTyping, "id": rand.Text(), "text": piece.Text,
		"from":         map[string]string{"id": "stub", "role": "bot"},
		"conversation": map[string]string{"id": id},
		"entities": []any{map[string]any{
			"type": "streaminfo", "streamId": piece.ID, "streamType": "streaming", "streamSequence": sequence,
		}},
		"channelData": map[string]any{"streamType": "streaming", "chunkType": "delta", "streamId": piece.ID, "streamSequence": sequence},
	}
}

// accept checks what all servers of agents ask for, and reads the body.
func accept(w http.ResponseWriter, r *http.Request, into any) bool {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
		return false
	case !bearer || token == "":
		refuse(w, http.StatusUnauthorized, "Unauthorized")
		return false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil || json.Unmarshal(body, into) != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest")
		return false
	}
	return true
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":{"code":"`+code+`","message":"see the code"}}`)
}

// writeEvent writes one event and sends it on its way.
func writeEvent(w http.ResponseWriter, name string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if text, plain := data.(string); plain {
		encoded = []byte(text)
	}
	if name != "" {
		_, _ = io.WriteString(w, "event: "+name+"\n")
	}
	_, _ = w.Write(append(append([]byte("data: "), encoded...), "\n\n"...))
	// A writer that cannot flush sends everything at the end.
	_ = http.NewResponseController(w).Flush()
}
