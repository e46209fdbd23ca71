package httpapi

import (
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
)

// chatReader reads the body of one kind of request.
type chatReader func(body []byte, into *chat.Request) error

func (a *API) registerTurns(r *registrar) {
	for _, t := range []struct {
		id, kind string
		streams  bool
		body     any
		answer   any
		read     chatReader
	}{
		{"start-chat", chat.KindStart, false, chatStart{}, startedView{}, a.readStart},
		{"send-chat", chat.KindSend, true, chatSend{}, WorkflowResponse{}, a.readSend},
		{"submit-card", chat.KindCard, true, chatCard{}, WorkflowResponse{}, a.readCard},
		{"orchestrate-chat", chat.KindOrchestrate, true, chatQuery{}, orchestrated{}, a.readQueryBody},
		{"end-conversation", chat.KindEnd, false, chatEnd{}, endedView{}, a.readEnd},
	} {
		handler := a.turn(t.kind, t.read)
		if t.streams {
			handler = a.maybeStreamed(t.kind, t.read, handler)
		}
		r.exact(t.id, t.body, t.answer, handler)
		if t.streams {
			r.alsoStreams(t.id)
		}
	}
}

// exact registers a handler that writes its own JSON: bytes that were stored are
// answered as they are. body and answer are examples, for their schemas.
func (r *registrar) exact(id string, body, answer any, handler http.HandlerFunc) {
	r.plain(id, "application/json", handler)
	row, ok := r.row(id)
	if !ok {
		return
	}
	if body != nil {
		r.describeBody(row, body)
	}
	schema := r.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(answer), true, "")
	good := r.described(row).Responses["200"]
	good.Content["application/json"].Schema = schema
}

// alsoStreams documents that a turn can be followed as it is made.
func (r *registrar) alsoStreams(id string) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	op := r.described(row)
	op.Responses["200"].Content[eventStreamType] = &huma.MediaType{}
	op.Description += " With \"Accept: text/event-stream\" the answer is a stream of turn.started, message.delta and turn.completed or turn.failed."
}

// request is what a call asks of the turn service.
func (a *API) request(x *exchange, kind string, read chatReader) (Chat, chat.Request, error) {
	c := &x.call
	in := chat.Request{Kind: kind, ConversationID: c.chat.id, RequestID: x.requestID}
	if err := read(c.body, &in); err != nil {
		return nil, in, err
	}
	if c.chat.key != "" {
		fingerprint, err := c.fingerprint()
		if err != nil {
			return nil, in, err
		}
		in.Key, in.Route, in.Fingerprint = c.chat.key, c.chat.route, fingerprint
	}
	service, err := a.chatService()
	return service, in, err
}

// turn answers when the turn is done.
func (a *API) turn(kind string, read chatReader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		service, in, err := a.request(x, kind, read)
		if err != nil {
			a.refuse(w, x, err)
			return
		}
		connection := patient(w)
		answer, err := service.Do(r.Context(), x.call.chatCaller(), in)
		_ = connection.SetWriteDeadline(time.Now().Add(streamPatience))
		if err != nil {
			a.refuse(w, x, refusal(kind, err))
			return
		}
		markReplayed(w.Header(), answer.Replayed)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body) // a client that is gone reads the turn
	}
}

// refusal says that a start asks for a definition which is not there: of all that
// a turn looks for, this alone is named by the caller and has no id.
func refusal(kind string, err error) error {
	if kind == chat.KindStart && rondo.CodeOf(err) == rondo.CodeNotFound {
		return unknownDefinition()
	}
	return err
}

// patient lifts the limits of an ordinary exchange: how long a turn may take is
// the turn service's business. A connection that knows no deadlines has none to
// lift.
func patient(w http.ResponseWriter) *http.ResponseController {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{})
	_ = connection.SetWriteDeadline(time.Time{})
	return connection
}
