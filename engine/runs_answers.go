package engine

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// OnRunAnswer says who takes what workers answer to the steps of runs, wherever
// it is published. The function returns when the answer is durable; an answer
// that comes twice counts once. Nil takes it back.
func (e *Engine) OnRunAnswer(deliver func(context.Context, *event.Envelope) error) {
	if deliver == nil {
		e.runAnswer.Store(nil)
		return
	}
	e.runAnswer.Store(&deliver)
}

// answerRun hands a worker's answer to whoever drives runs.
func (e *Engine) answerRun(ctx context.Context, answer *event.Envelope) error {
	deliver := e.runAnswer.Load()
	if deliver == nil {
		return &rondo.Error{
			Code: rondo.CodeUnavailable, Message: "no runs are driven here, so that nobody can take an answer to one",
			Hint: "answer where the runs are driven, or try again when this server has started",
		}
	}
	return rondo.Op("deliver the answer to a step of a run", (*deliver)(ctx, answer))
}

// endOfRun reports whether events of a type say how a run ended.
func endOfRun(eventType string) bool {
	switch eventType {
	case event.TypeRunCompleted, event.TypeRunFailed, event.TypeRunCancelled:
		return true
	}
	return false
}
