package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
)

// Following is what the edge needs in order to show cases as they move. Both
// return when say fails or ctx ends; a Live without anything says that nothing
// happened for a while.
type Following interface {
	FollowInstance(ctx context.Context, p rondo.Principal, id rondo.ID, mark string, say func(engine.Live) error) error
	FollowInstances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, say func(engine.Live) error) error
}

// maxMark bounds Last-Event-ID; a longer one was never given out.
const maxMark = 1024

func streamFilters() []Param {
	return append(orgOnly(),
		Param{Name: "product_id", Doc: "Of this product only"},
		Param{Name: "status", Doc: "In this state only, and what becomes of those", Enum: statusWords()},
		Param{Name: "mode", Doc: "In this mode only", Enum: []string{string(rondo.ModeActive), string(rondo.ModeClientDriven)}},
		Param{Name: "definition_id", Doc: "Of this definition only", Format: "uuid"},
	)
}

func statusWords() []string {
	return []string{string(rondo.StatusRunning), string(rondo.StatusHalted), string(rondo.StatusCompleted), string(rondo.StatusCancelled)}
}

func (a *API) registerStreams(r *registrar) {
	r.plain("stream-instance", "text/event-stream", a.stream(a.followInstance))
	r.plain("stream-instances", "text/event-stream", a.stream(a.followInstances))
}

func (a *API) followInstance(ctx context.Context, c *call, r *http.Request, out *eventStream) error {
	mark := r.Header.Get("Last-Event-ID")
	if len(mark) > maxMark {
		mark = ""
	}
	return a.cfg.Cases.FollowInstance(ctx, c.principal, c.id, mark, out.live)
}

func (a *API) followInstances(ctx context.Context, c *call, _ *http.Request, out *eventStream) error {
	return a.cfg.Cases.FollowInstances(ctx, c.principal, instanceFilter(c.query, c.principal.Tenant, a.cfg.Now()), out.live)
}

// live writes one thing that a stream says.
func (s *eventStream) live(said engine.Live) error {
	switch {
	case said.Entry != nil:
		return s.sendJSON("timeline", said.Mark, said.Entry)
	case said.Instance != nil:
		return s.sendJSON("instance", "", viewInstance(said.Instance))
	}
	return s.beat()
}

func (s *eventStream) sendJSON(name, id string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return rondo.Op("write an event of a stream", err)
	}
	return s.send(name, id, data)
}
