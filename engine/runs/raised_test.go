package runs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/skill"
)

// cases takes events for cases.
type cases struct {
	mu     sync.Mutex
	away   bool
	events []rondo.RaisedEvent
}

func (c *cases) Raise(_ context.Context, org string, e rondo.RaisedEvent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away || org != bob.Tenant {
		return errors.New("not now")
	}
	c.events = append(c.events, e)
	return nil
}

func (c *cases) taken() map[string]rondo.RaisedEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	byType := map[string]rondo.RaisedEvent{}
	for _, e := range c.events {
		byType[e.Type+" "+e.EventID] = e
	}
	return byType
}

func TestStepsRaiseEventsForCases(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "a", more: map[string]any{"raise": map[string]any{
			"event_type": "report.ready", "case_id": map[string]any{"trigger": "n"}, "payload": map[string]any{"step": "a", "path": "data"},
		}}})
		relay := &cases{away: true}
		s := h.open(func(c *Config) { c.Relay = relay })
		for range 2 { // computed, and reused
			run := h.finish(begin(t, s, "w", "case-7").ID, rondo.RunCompleted)
			relay.mu.Lock()
			relay.away = false
			relay.mu.Unlock()
			time.Sleep(time.Minute)
			id := event.DerivedID(run.ID, "raise/a").String()
			e, ok := relay.taken()["report.ready "+id]
			if !ok || e.CaseID != "case-7" || e.CorrelationID != run.ID.String() || !strings.Contains(string(e.Payload), `"step":"a"`) {
				t.Errorf("taken: %+v", relay.taken())
			}
		}
		if n := len(relay.taken()); n != 2 {
			t.Errorf("%d events came", n)
		}
		if left, err := h.runs.RaisedByRuns(t.Context(), 10); err != nil || len(left) != 0 {
			t.Errorf("%d events are left, %v", len(left), err)
		}
	})
}

func TestACaseHearsHowItsRunEnded(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("good", node{id: "a"})
		h.define("bad", node{id: "b", more: retry(1)})
		h.define("slow", node{id: "c"})
		h.craft.let("b", func(context.Context, skill.Call) (skill.Result, error) { return skill.Result{}, errors.New("no") })
		h.craft.let("c", func(ctx context.Context, _ skill.Call) (skill.Result, error) {
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		})
		relay := &cases{}
		s := h.open(func(c *Config) { c.Relay = relay })
		id := s.cfg.IDs.New()
		for workflow, want := range map[string]struct {
			status rondo.RunStatus
			kind   string
		}{
			"good": {rondo.RunCompleted, event.TypeRunCompleted}, "bad": {rondo.RunFailed, event.TypeRunFailed}, "slow": {rondo.RunCancelled, event.TypeRunCancelled},
		} {
			id = event.DerivedID(id, workflow)
			link := &rondo.CaseLink{OrgID: bob.Tenant, CaseID: "case-" + workflow, CorrelationID: "attempt-" + workflow, RequestID: "asked-" + workflow, DeadlineAt: time.Now().Add(time.Minute)}
			for range 2 { // the case asks again: it is one run
				run := begin(t, s, workflow, 1, func(r *Request) { r.ID, r.Case, r.ProductID = id, link, "p" })
				if run.ID != id {
					t.Errorf("the run has the id %s, not %s", run.ID, id)
				}
			}
			h.finish(id, want.status)
			time.Sleep(time.Second)
			var heard *rondo.RaisedEvent
			for _, e := range relay.taken() {
				if e.CaseID == link.CaseID {
					heard = &e
				}
			}
			if heard == nil || heard.Type != want.kind || heard.CorrelationID != link.CorrelationID || heard.CausationID != link.RequestID ||
				!strings.Contains(string(heard.Payload), `"status":"`+string(want.status)+`"`) {
				t.Errorf("%s: the case heard %+v", workflow, heard)
			}
		}
	})
}
