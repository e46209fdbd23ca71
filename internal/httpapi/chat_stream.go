package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
)

// maybeStreamed streams a turn to whoever asks for that.
func (a *API) maybeStreamed(kind string, read chatReader, whole http.HandlerFunc) http.HandlerFunc {
	streamed := a.streamedTurn(kind, read)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if wantsStream(r.Header) {
			streamed(w, r)
			return
		}
		whole(w, r)
	}
}

// wantsStream reports whether the caller names server-sent events among what it
// takes.
func wantsStream(h http.Header) bool {
	for _, value := range h.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(part)
			refused := params["q"] != "" && strings.Trim(params["q"], "0.") == ""
			if err == nil && kind == eventStreamType && !refused {
				return true
			}
		}
	}
	return false
}

// streamedTurn tells of a turn as it is made. Nothing is written before the turn
// is admitted, so that what refuses it is plain HTTP. A reader who is slow or
// gone does not hold the turn up: what it says is queued here.
func (a *API) streamedTurn(kind string, read chatReader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		service, in, err := a.request(x, kind, read)
		if err != nil {
			a.refuse(w, x, err)
			return
		}
		out := &turnStream{eventStream: eventStream{w: w, connection: patient(w), now: a.cfg.Now}}
		queue := newTurnQueue()
		in.Stream = queue.put
		caller := x.call.chatCaller()
		go func() {
			queue.end(unbroken(func() (chat.Answer, error) { return service.Do(r.Context(), caller, in) }))
		}()
		answer, err := out.follow(r.Context(), queue)
		switch {
		case err != nil && !out.begun:
			a.refuse(w, x, err)
		case err != nil:
			out.tell("turn.failed", x.problem(err))
		default:
			markReplayed(w.Header(), answer.Replayed) // in time when nothing was written yet
			out.complete(answer)
		}
	}
}

// unbroken makes an error of a crash: it happens outside the goroutine whose
// crashes the edge answers.
func unbroken(do func() (chat.Answer, error)) (answer chat.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = crash(cause)
		}
	}()
	return do()
}

// turnQueue holds what a turn says until it is written. What it can hold is
// bounded by what agents may answer.
type turnQueue struct {
	mu     sync.Mutex
	events []chat.StreamEvent
	more   chan struct{} // has something when events has
	ended  chan turnEnd
}

type turnEnd struct {
	answer chat.Answer
	err    error
}

func newTurnQueue() *turnQueue {
	return &turnQueue{more: make(chan struct{}, 1), ended: make(chan turnEnd, 1)}
}

func (q *turnQueue) put(e chat.StreamEvent) {
	q.mu.Lock()
	q.events = append(q.events, e)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *turnQueue) take() []chat.StreamEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}

func (q *turnQueue) end(answer chat.Answer, err error) { q.ended <- turnEnd{answer, err} }

// turnStream writes the events of one turn. After a write has failed it writes
// nothing more: the reader is gone.
type turnStream struct {
	eventStream
	gone bool
}

// follow writes what a turn says, with heartbeats in between, until it has ended.
func (s *turnStream) follow(ctx context.Context, queue *turnQueue) (chat.Answer, error) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	left := ctx.Done()
	for {
		select {
		case <-queue.more:
			s.write(queue.take())
		case end := <-queue.ended:
			s.write(queue.take())
			return end.answer, end.err
		case <-left:
			s.gone, left = true, nil // the turn goes on
		case <-beats.C:
			if s.begun && !s.gone {
				s.gone = s.beat() != nil
			}
		}
	}
}

func (s *turnStream) write(events []chat.StreamEvent) {
	for _, e := range events {
		switch {
		case e.Started != nil:
			s.started(*e.Started)
		case e.Delta != nil:
			s.tell("message.delta", map[string]string{"id": e.Delta.ID, "text": e.Delta.Text})
		}
	}
}

func (s *turnStream) started(number int) {
	s.tell("turn.started", map[string]int{"turnNumber": number})
}

// complete writes the answer, the same bytes that a plain answer has. One that
// was given before is told as if the turn were made now.
func (s *turnStream) complete(answer chat.Answer) {
	if !s.begun {
		var body struct {
			TurnMeta rondo.TurnMeta `json:"turnMeta"`
		}
		_ = json.Unmarshal(answer.Body, &body) // an answer without a number has none to tell
		s.started(body.TurnMeta.TurnNumber)
	}
	if !s.gone {
		s.gone = s.send("turn.completed", "", answer.Body) != nil
	}
}

func (s *turnStream) tell(name string, v any) {
	if !s.gone {
		s.gone = s.sendJSON(name, "", v) != nil
	}
}
