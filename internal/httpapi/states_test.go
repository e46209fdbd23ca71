package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// clinic is the API over a real engine, with a clock that jumps.
type clinic struct {
	*bench
	t     *testing.T
	real  *engine.Engine
	ahead atomic.Int64
	ids   *rondo.IDs
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{t: t}
	now := func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
	c.ids = rondo.NewIDs(now)
	var err error
	c.real, err = engine.New(engine.Config{Store: heldTimers{memory.Open(memory.Options{Embedded: true}), &c.ahead}, Now: now, Liveness: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.real.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.real.Stop(context.WithoutCancel(t.Context())) })
	c.bench = newBench(t, func(cfg *httpapi.Config) { cfg.Cases, cfg.Now = c.real, now })
	return c
}

// heldTimers lets timers go by the clock on the wall: when the clinic's jumps, what
// is due stays unnoticed until somebody acts.
type heldTimers struct {
	*memory.Store
	ahead *atomic.Int64
}

func (h heldTimers) ClaimDue(ctx context.Context, _ time.Time, lease time.Duration, limit int) ([]rondo.CaseKey, error) {
	return h.Store.ClaimDue(ctx, time.Now(), lease, limit)
}

func (h heldTimers) NextWake(ctx context.Context) (time.Time, error) {
	next, err := h.Store.NextWake(ctx)
	if err == nil && !next.IsZero() {
		next = next.Add(time.Duration(h.ahead.Load()))
	}
	return next, err
}

var ann = rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{rondo.ScopeAdmin}}

// asked is a definition whose two steps wait for a module and for a person.
const asked = `{"name": "asked", "start_step": "ai_review", "workflow_timeout_seconds": 86400, "steps": {
	"ai_review": {"kind": "run_ai_review", "max_retries": 1, "retry_base_seconds": 3600, "retry_cap_seconds": 3600, "transitions": {"on_complete": "boss"}},
	"boss": {"kind": "manual", "params": {"title": "Approve", "outcomes": ["approved"]}, "transitions": {"approved": "done"}},
	"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`

func (c *clinic) publish(source string) rondo.Definition {
	c.t.Helper()
	d, err := c.real.CreateDefinition(c.t.Context(), ann, rondo.NewDefinition{Source: []byte(source)})
	if err == nil {
		d, err = c.real.PublishDefinition(c.t.Context(), ann, d.ID, "")
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *clinic) event(eventType, caseID, correlation, payload string) {
	c.t.Helper()
	e := event.Envelope{
		EventID: c.ids.New(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(), CorrelationID: correlation,
		CaseID: caseID, OrgID: "acme", ProductID: "derm", Payload: json.RawMessage(payload),
	}
	if receipt, err := c.real.PublishEvent(c.t.Context(), ann, e.Encode()); err != nil || receipt.Outcome != rondo.OutcomeApplied {
		c.t.Fatalf("%s: %+v, %v", eventType, receipt, err)
	}
}

// begin starts a case and returns its instance.
func (c *clinic) begin(caseID string) *rondo.Instance {
	c.t.Helper()
	c.event("case.created", caseID, caseID, `{"images":[]}`)
	found, err := c.real.Instances(c.t.Context(), ann, store.InstanceFilter{CaseID: caseID}, store.Page{Limit: 1})
	if err != nil || len(found) != 1 {
		c.t.Fatalf("%d instances, %v", len(found), err)
	}
	return found[0]
}

func (c *clinic) act(i *rondo.Instance, path, body string) {
	c.t.Helper()
	if rec := c.do("POST", "/workflow-instances/"+i.ID.String()+"/"+path, body); rec.Code != http.StatusOK {
		c.t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
	}
}

const reviewOutput = `{"confidence":0.9,"diagnoses":[],"raw_response_id":"r"}`

// states brings a case into a state; the names are those of the table below.
var states = map[string]func(*clinic, *rondo.Instance){
	"waits for a module": func(*clinic, *rondo.Instance) {},
	"waits to retry": func(c *clinic, i *rondo.Instance) {
		c.event("ai_review.failed", i.CaseID, i.Machine.Live[0].CorrelationID, `{"reason_code":"busy","retryable":true}`)
	},
	"waits for a person": func(c *clinic, i *rondo.Instance) {
		c.event("ai_review.completed", i.CaseID, i.Machine.Live[0].CorrelationID, reviewOutput)
	},
	"halted": func(c *clinic, i *rondo.Instance) {
		c.act(i, "halt", `{"reason_code":"manual_halt","note":"wait"}`)
	},
	"late": func(c *clinic, _ *rondo.Instance) { c.ahead.Store(int64(25 * time.Hour)) },
	"completed": func(c *clinic, i *rondo.Instance) {
		c.event("ai_review.completed", i.CaseID, i.Machine.Live[0].CorrelationID, reviewOutput)
		c.act(i, "complete-step", `{"step_id":"boss","outcome":"approved"}`)
	},
	"cancelled":  func(c *clinic, i *rondo.Instance) { c.act(i, "cancel", `{"reason":"x"}`) },
	"superseded": func(c *clinic, i *rondo.Instance) { c.act(i, "supersede", `{"reason":"x"}`) },
}

// TestEveryActionInEveryState holds what each state answers to each action: 200
// where the table says so, else 409 with a detail that names the state.
func TestEveryActionInEveryState(t *testing.T) {
	t.Parallel()
	live := "waits for a module, waits to retry, waits for a person, "
	actions := []struct{ path, body, allowed string }{
		{"halt", `{"reason_code":"manual_halt","note":"x"}`, live},
		{"resume", `{"reason":"x"}`, "halted"},
		{"cancel", `{"reason":"x"}`, live + "halted, late"},
		{"retry-step", `{"reason":"x","step_id":"ai_review"}`, "waits to retry, halted"},
		{"set-mode", `{"reason":"x","mode":"client_driven"}`, live + "halted"},
		{"supersede", `{"reason":"x"}`, live + "halted, late"},
		{"skip-step", `{"reason":"x","step_id":"ai_review","outcome":"on_complete","output":` + reviewOutput + `}`, "waits for a module, waits to retry, halted"},
		{"complete-step", `{"step_id":"boss","outcome":"approved"}`, "waits for a person"},
		{"migrate", `{}`, live + "halted"},
	}
	for state, bring := range states {
		for _, action := range actions {
			t.Run(state+"/"+action.path, func(t *testing.T) {
				t.Parallel()
				c := newClinic(t)
				c.publish(asked)
				i := c.begin("case-1")
				bring(c, i)
				if action.path == "migrate" {
					c.publish(strings.Replace(asked, `"on_complete": "boss"`, `"on_complete": "boss", "on_failure": "boss"`, 1))
				}
				before, err := c.real.Instance(t.Context(), ann, i.ID)
				if err != nil {
					t.Fatal(err)
				}
				path := "/workflow-instances/" + i.ID.String() + "/" + action.path
				rec := c.do("POST", path, action.body)
				checkDocumented(t, c.OpenAPI(), "POST", strings.Replace(path, i.ID.String(), instanceID.String(), 1), rec)
				if strings.Contains(action.allowed, state) {
					if rec.Code != http.StatusOK {
						t.Errorf("refused with %d: %s", rec.Code, rec.Body)
					}
					return
				}
				p := problemIn(t, rec)
				if rec.Code != http.StatusConflict || p.Code != "wrong_state" || !strings.Contains(p.Detail, string(before.Status)) || p.Hint == "" {
					t.Errorf("got %d %s %q, hint %q", rec.Code, p.Code, p.Detail, p.Hint)
				}
				after, err := c.real.Instance(t.Context(), ann, i.ID)
				if err != nil || after.Version != before.Version {
					t.Errorf("a refused action changed the instance: version %d to %d, %v", before.Version, after.Version, err)
				}
			})
		}
	}
}

// TestExplanationsOfARealCase reads every explanation in every state and holds it
// against the document.
func TestExplanationsOfARealCase(t *testing.T) {
	t.Parallel()
	for state, bring := range states {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			c.publish(asked)
			i := c.begin("case-1")
			bring(c, i)
			for _, what := range []string{"next-step", "why", "timeline", "interventions"} {
				path := "/workflow-instances/" + i.ID.String() + "/" + what
				rec := c.do("GET", path, "")
				if rec.Code != http.StatusOK {
					t.Errorf("%s: %d %s", what, rec.Code, rec.Body)
					continue
				}
				checkDocumented(t, c.OpenAPI(), "GET", strings.Replace(path, i.ID.String(), instanceID.String(), 1), rec)
			}
		})
	}
}
