package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

const product = "skin"

// tenant is one organisation in a world: every scenario has its own.
type tenant struct {
	t   *testing.T
	w   *world
	org string
}

func newTenant(t *testing.T, w *world) *tenant {
	return &tenant{t: t, w: w, org: "org-" + w.ids.New().String()[24:]}
}

// rest calls the first replica.
func (n *tenant) rest() client { return n.restOf(0) }

func (n *tenant) restOf(i int) client { return client{api: n.w.replicas[i].api, org: n.org} }

// must fails unless the edge answered with the status.
func (n *tenant) must(status int, r reply, doing string) reply {
	n.t.Helper()
	if r.Status != status {
		n.t.Fatalf("on %s: %s answered %d, want %d: %s\n%s", n.w.ground.where(), doing, r.Status, status, r.Body, n.w.describe(n.org))
	}
	return r
}

// draft creates a definition without publishing it.
func (n *tenant) draft(source string) definitionBody {
	n.t.Helper()
	var d definitionBody
	n.must(http.StatusCreated, n.rest().post("/workflow-definitions", map[string]any{"definition": source}), "create definition").into(&d)
	return d
}

// publish makes a source the active definition.
func (n *tenant) publish(source string) definitionBody {
	n.t.Helper()
	d := n.draft(source)
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+d.ID+"/publish", map[string]any{}), "publish definition").into(&d)
	return d
}

// useTemplate makes a shipped template the active definition.
func (n *tenant) useTemplate(name string) definitionBody {
	n.t.Helper()
	var templates listBody[definitionBody]
	n.must(http.StatusOK, n.rest().get("/workflow-templates"), "list templates").into(&templates)
	at := slices.IndexFunc(templates.Items, func(d definitionBody) bool { return d.Name == name })
	if at < 0 {
		n.t.Fatalf("no template %s is shipped: %+v", name, templates.Items)
	}
	var d definitionBody
	n.must(http.StatusCreated, n.rest().post("/workflow-definitions", map[string]any{"template_id": templates.Items[at].ID}), "create definition").into(&d)
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+d.ID+"/publish", map[string]any{}), "publish definition").into(&d)
	return d
}

// event makes an envelope of this organisation.
func (n *tenant) event(eventType, caseID, correlation string, payload any) *event.Envelope {
	n.t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		n.t.Fatalf("encode payload: %v", err)
	}
	return &event.Envelope{
		EventID: n.w.ids.New(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: n.w.clock.Now().UTC(),
		CorrelationID: correlation, CaseID: caseID, OrgID: n.org, ProductID: product, Payload: body,
	}
}

// created is the case.created of a case, with more members of the payload.
func (n *tenant) created(caseID string, more map[string]any) *event.Envelope {
	payload := map[string]any{"patient_id": "patient-1", "images": []map[string]any{
		{"id": "i1", "type": "DERMOSCOPIC"}, {"id": "i2", "type": "MACROSCOPIC"}, {"id": "i3", "type": "DERMOSCOPIC"},
	}}
	maps.Copy(payload, more)
	return n.event(event.TypeCaseCreated, caseID, caseID, payload)
}

// send publishes an event over REST and returns its outcome.
func (n *tenant) send(e *event.Envelope) rondo.Outcome {
	n.t.Helper()
	var receipt receiptBody
	n.must(http.StatusAccepted, n.rest().publish(e.Encode()), "publish "+e.Type+" of case "+e.CaseID).into(&receipt)
	return receipt.Outcome
}

// start lets a case begin.
func (n *tenant) start(caseID string) {
	n.t.Helper()
	n.startWith(caseID, nil)
}

func (n *tenant) startWith(caseID string, more map[string]any) {
	n.t.Helper()
	if outcome := n.send(n.created(caseID, more)); outcome != rondo.OutcomeApplied {
		n.t.Fatalf("on %s: case.created of %s was %s\n%s", n.w.ground.where(), caseID, outcome, n.w.describe(n.org))
	}
}

// put publishes an event on the bus, as modules do, and returns the outcome in
// the ledger.
func (n *tenant) put(e *event.Envelope) rondo.Outcome {
	n.t.Helper()
	message := bus.Message{Stream: e.Type, EventID: e.EventID, Envelope: e.Encode()}
	if err := n.w.modules.Publish(n.t.Context(), []bus.Message{message}); err != nil {
		n.t.Fatalf("on %s: publish %s of case %s: %v", n.w.ground.where(), e.Type, e.CaseID, err)
	}
	return n.ledger(e).Outcome
}

// ledger waits for the row of an event.
func (n *tenant) ledger(e *event.Envelope) *rondo.EventRecord {
	n.t.Helper()
	var row *rondo.EventRecord
	n.await("the ledger row of "+e.Type+" "+e.EventID.String(), func() bool {
		var err error
		row, err = n.w.store.Event(n.t.Context(), e.OrgID, e.EventID)
		return err == nil
	})
	return row
}

// request waits until the desk has the n-th request of a type for a case.
func (n *tenant) request(caseID, eventType string, nth int) *event.Envelope {
	n.t.Helper()
	var found []*event.Envelope
	n.await(fmt.Sprintf("request %d of %s for case %s", nth, eventType, caseID), func() bool {
		found = n.w.desk.of(n.key(caseID), eventType)
		return len(found) >= nth
	})
	return found[nth-1]
}

// answer is the completed event of a request.
func (n *tenant) answer(request *event.Envelope, payload any) *event.Envelope {
	n.t.Helper()
	return n.parsed(worker.Reply(request, payload, nil, n.w.clock.Now()))
}

// failure is the failed event of a request.
func (n *tenant) failure(request *event.Envelope, f worker.Failure) *event.Envelope {
	n.t.Helper()
	return n.parsed(worker.Reply(request, nil, &f, n.w.clock.Now()))
}

func (n *tenant) parsed(m bus.Message) *event.Envelope {
	n.t.Helper()
	e, err := event.Parse(m.Envelope)
	if err != nil {
		n.t.Fatalf("an answer does not parse: %v", err)
	}
	return e
}

// complete answers the nth request of a type as modules do, on the bus, and
// expects it to be applied.
func (n *tenant) complete(caseID, requested string, nth int, payload any) *event.Envelope {
	n.t.Helper()
	e := n.answer(n.request(caseID, requested, nth), payload)
	n.wantOutcome(e, n.put(e), rondo.OutcomeApplied)
	return e
}

// passGates answers the consent and image checks that most templates begin with.
func (n *tenant) passGates(caseID string) {
	n.t.Helper()
	n.complete(caseID, event.TypeConsentCheckRequested, 1, granted())
	n.complete(caseID, event.TypeImagesCheckRequested, 1, enoughImages())
}

func (n *tenant) wantOutcome(e *event.Envelope, got, want rondo.Outcome) {
	n.t.Helper()
	if got != want {
		n.t.Fatalf("on %s: %s %s of case %s was %s, want %s\n%s", n.w.ground.where(), e.Type, e.EventID, e.CaseID, got, want, n.w.describe(n.org))
	}
}

// instance reads a case over REST; ok is false while it has none.
func (n *tenant) instance(caseID string) (found instanceBody, ok bool) {
	n.t.Helper()
	var list listBody[instanceBody]
	n.must(http.StatusOK, n.rest().get("/workflow-instances?case_id="+caseID), "list instances").into(&list)
	if len(list.Items) > 1 {
		n.t.Fatalf("on %s: case %s has %d instances\n%s", n.w.ground.where(), caseID, len(list.Items), n.w.describe(n.org))
	}
	if len(list.Items) == 0 {
		return found, false
	}
	return list.Items[0], true
}

// rests waits until a case is no longer running.
func (n *tenant) rests(caseID string) instanceBody {
	n.t.Helper()
	var found instanceBody
	n.await("case "+caseID+" coming to rest", func() bool {
		i, ok := n.instance(caseID)
		found = i
		return ok && i.Status != rondo.StatusRunning
	})
	return found
}

// wantCompleted waits for the end of a case and checks the way that it went.
func (n *tenant) wantCompleted(caseID string, path ...string) {
	n.t.Helper()
	i := n.rests(caseID)
	if i.Status != rondo.StatusCompleted {
		n.t.Fatalf("on %s: case %s is %s (%s at %s), want completed\n%s", n.w.ground.where(), caseID, i.Status, i.HaltReason, i.HaltStepID, n.w.describe(n.org))
	}
	if got := n.path(i.ID); !slices.Equal(got, path) {
		n.t.Fatalf("on %s: case %s went\n  %s, want\n  %s\n%s", n.w.ground.where(), caseID, strings.Join(got, " → "), strings.Join(path, " → "), n.w.describe(n.org))
	}
}

// wantHalted waits for a halt and checks why and where.
func (n *tenant) wantHalted(caseID, reason, step string) instanceBody {
	n.t.Helper()
	i := n.rests(caseID)
	if i.Status != rondo.StatusHalted || i.HaltReason != reason || i.HaltStepID != step {
		n.t.Fatalf("on %s: case %s is %s (%s at %s), want halted (%s at %s)\n%s",
			n.w.ground.where(), caseID, i.Status, i.HaltReason, i.HaltStepID, reason, step, n.w.describe(n.org))
	}
	return i
}

// path lists the finished attempts of an instance: the step, and its status
// unless it was completed.
func (n *tenant) path(id string) []string {
	n.t.Helper()
	var path []string
	for _, s := range n.steps(id) {
		switch s.Status {
		case rondo.StepCompleted:
			path = append(path, s.StepID)
		case rondo.StepPending, rondo.StepInProgress:
		default:
			path = append(path, s.StepID+" "+string(s.Status))
		}
	}
	return path
}

func (n *tenant) steps(id string) []stepBody {
	n.t.Helper()
	var list listBody[stepBody]
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+id+"/steps"), "list steps").into(&list)
	return list.Items
}

// events lists the ledger of an instance.
func (n *tenant) events(id string) []eventBody {
	n.t.Helper()
	var list listBody[eventBody]
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+id+"/events"), "list events").into(&list)
	return list.Items
}

func (n *tenant) await(what string, holds func() bool) {
	n.t.Helper()
	n.w.await(n.t, what, holds, func() string { return n.w.describe(n.org) })
}

func (n *tenant) key(caseID string) rondo.CaseKey { return rondo.CaseKey{OrgID: n.org, CaseID: caseID} }

// The usual answers of modules.

func granted() any { return map[string]any{"granted": true, "missing_types": []string{}} }

func enoughImages() any {
	return map[string]any{"count": 3, "passed": true, "image_ids": []string{"i1", "i2", "i3"}}
}

func reviewed(confidence float64) any {
	return map[string]any{"confidence": confidence, "diagnoses": []any{map[string]any{"code": "by-ai"}}, "raw_response_id": "raw-1"}
}

func decided(diagnosis string) any {
	return map[string]any{"decision": "override", "diagnoses": []any{map[string]any{"code": diagnosis}}, "reviewer_id": "reviewer-1"}
}
