package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-engine/rondo/engine/runs"
)

// The events of a stream of a run.
const (
	runEventName  = "run"
	stepEventName = "step"
)

func (a *API) registerRunStream(r *registrar) {
	r.plain("stream-run", eventStreamType, a.streamRun)
	if row, ok := r.row("stream-run"); ok {
		op := r.described(row)
		op.Responses[statusText(http.StatusNoContent)] = described("Last-Event-ID is the end of a run that has ended: nothing follows")
		op.Description += " Events are run and step, each the record as it is after a change; their id is its seq. Last-Event-ID resumes after that. The stream ends after the run has."
	}
}

// streamRun answers 204 to a reader who knows the end already, so that browsers
// do not come again.
func (a *API) streamRun(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	service, err := a.runService()
	var found runs.RunView
	if err == nil {
		found, err = service.Run(r.Context(), x.call.principal, x.call.id)
	}
	if err != nil {
		a.refuse(w, x, err)
		return
	}
	after := lastSeq(r.Header)
	if found.Status.Ended() && after >= found.Seq {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	a.stream(func(ctx context.Context, c *call, _ *http.Request, out *eventStream) error {
		var failed error // of the watch itself, whatever becomes of the reader
		err := out.followRun(ctx, after, func(ctx context.Context, tell func(runs.Event) error) error {
			failed = unbrokenWatch(func() error { return service.Watch(ctx, c.principal, c.id, after, tell) })
			return failed
		})
		if failed != nil && !errors.Is(failed, context.Canceled) {
			x.failure = failed // the status is sent: only the log can tell
		}
		return err
	})(w, r)
}

// lastSeq is where a reader is; 0 = at the beginning, also for what was never
// given out.
func lastSeq(h http.Header) int64 {
	seq, err := strconv.ParseInt(h.Get("Last-Event-ID"), 10, 64)
	if err != nil || seq < 0 {
		return 0
	}
	return seq
}

// followRun writes what watch tells, with heartbeats in between, until it has
// ended. Watch runs beside it, because a stream has one writer.
func (s *eventStream) followRun(ctx context.Context, after int64, watch func(context.Context, func(runs.Event) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	events, ended := make(chan runs.Event), make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel() // runs before the wait
	watching.Go(func() {
		ended <- watch(ctx, func(e runs.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	if err := s.beat(); err != nil { // the reader knows that it is heard
		return err
	}
	known := after
	for {
		var err error
		select {
		case e := <-events:
			err = s.runEvent(e, &known)
		case err := <-ended:
			return err
		case <-beats.C:
			err = s.beat()
		}
		if err != nil {
			return err
		}
	}
}

// unbrokenWatch makes an error of a crash: it happens outside the goroutine whose
// crashes the edge answers.
func unbrokenWatch(watch func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = crash(cause)
		}
	}()
	return watch()
}

// runEvent writes one change. Of changes of one Seq only the last has the id, and
// of a change of both the run comes last: a reader who was cut in between hears of
// all of them again.
func (s *eventStream) runEvent(e runs.Event, known *int64) error {
	id := ""
	if !e.More {
		*known = max(e.Seq, *known)
		id = strconv.FormatInt(*known, 10)
	}
	if e.Step != nil {
		of := id
		if e.Run != nil {
			of = ""
		}
		if err := s.sendJSON(stepEventName, of, streamedStep{RunID: idOrNone(e.Step.RunID), Seq: e.Seq, runStepView: viewRunStep(e.Step)}); err != nil {
			return err
		}
	}
	if e.Run != nil {
		return s.sendJSON(runEventName, id, viewRun(e.Run))
	}
	if e.Step == nil {
		return s.beat()
	}
	return nil
}

// streamedStep is a step as a stream tells it.
type streamedStep struct {
	RunID string `json:"runId,omitempty"`
	Seq   int64  `json:"seq"`
	runStepView
}
