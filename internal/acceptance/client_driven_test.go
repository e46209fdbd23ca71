package acceptance

import (
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// wantVerdict reads an event in the ledger over REST.
func (n *tenant) wantVerdict(e *event.Envelope, outcome rondo.Outcome, verdict string) {
	n.t.Helper()
	n.ledger(e) // it has come
	var row eventBody
	n.must(http.StatusOK, n.rest().get("/events/"+e.EventID.String()), "read an event").into(&row)
	if row.Outcome != outcome || row.Verdict != verdict {
		n.t.Errorf("on %s: %s of case %s is %s with verdict %q, want %s with %q\n%s",
			n.w.ground.where(), e.Type, e.CaseID, row.Outcome, row.Verdict, outcome, verdict, n.w.describe(n.org))
	}
}

// observe publishes what a client did and expects the verdict on it.
func (n *tenant) observe(eventType, caseID, correlation string, payload any, outcome rondo.Outcome, verdict string) *event.Envelope {
	n.t.Helper()
	e := n.event(eventType, caseID, correlation, payload)
	n.put(e)
	n.wantVerdict(e, outcome, verdict)
	return e
}

// wantNext expects what a client is told to do.
func (n *tenant) wantNext(caseID, action, step, completion string) {
	n.t.Helper()
	i, _ := n.instance(caseID)
	var next struct {
		Current struct {
			ID string `json:"id"`
		} `json:"current_step"`
		Action struct {
			Type       string `json:"type"`
			Module     string `json:"module"`
			Completion string `json:"completion_event"`
		} `json:"next_action"`
	}
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+i.ID+"/next-step"), "ask for the next step").into(&next)
	if next.Action.Type != action || next.Current.ID != step || next.Action.Completion != completion {
		n.t.Errorf("on %s: the next step of case %s is %+v, want %s of %s by %q", n.w.ground.where(), caseID, next, action, step, completion)
	}
}

func whatAClientDoesIsJudged(n *tenant) {
	n.useTemplate("ai_plus_clinician")
	created := n.created("watched", map[string]any{"orchestration_mode": "client_driven"})
	n.send(created)
	n.wantVerdict(created, rondo.OutcomeApplied, "on_path")
	n.wantNext("watched", "call_module", "consent_gate", event.TypeConsentCheckCompleted)
	skipping := n.observe(event.TypeAIReviewCompleted, "watched", "c-3", reviewed(0.9), rondo.OutcomeParked, "skipped_gate")
	n.observe(event.TypeConsentCheckCompleted, "watched", "c-1", granted(), rondo.OutcomeApplied, "on_path")
	n.observe(event.TypeConsentCheckCompleted, "watched", "c-1", granted(), rondo.OutcomeRepeated, "repeated")
	n.observe(event.TypeConsentCheckCompleted, "watched", "c-9", granted(), rondo.OutcomeRepeated, "repeated")
	n.observe(event.TypeSetStatusCompleted, "watched", "c-8", map[string]any{"previous_status": "a", "new_status": "b"}, rondo.OutcomeUnmatched, "unknown")
	n.wantNext("watched", "call_module", "image_check", event.TypeImagesCheckCompleted)
	n.observe(event.TypeImagesCheckCompleted, "watched", "c-2", enoughImages(), rondo.OutcomeApplied, "on_path")
	n.wantVerdict(skipping, rondo.OutcomeApplied, "skipped_gate") // it counts now; how it came stays told
	n.wantNext("watched", "call_module", "customer_review", event.TypeHumanReviewCompleted)
	n.observe(event.TypeHumanReviewCompleted, "watched", "c-4", decided("x"), rondo.OutcomeApplied, "on_path")
	n.wantCompleted("watched", "consent_gate", "image_check", "ai_review", "customer_review", "emit_done")
	n.wantNext("watched", "none", "", "")

	n.startWith("hasty", map[string]any{"orchestration_mode": "client_driven"})
	n.observe(event.TypeConsentCheckCompleted, "hasty", "h-1", granted(), rondo.OutcomeApplied, "on_path")
	n.observe(event.TypeImagesCheckCompleted, "hasty", "h-2", enoughImages(), rondo.OutcomeApplied, "on_path")
	early := n.observe(event.TypeHumanReviewCompleted, "hasty", "h-4", decided("x"), rondo.OutcomeParked, "early")
	n.observe(event.TypeAIReviewCompleted, "hasty", "h-3", reviewed(0.9), rondo.OutcomeApplied, "on_path")
	n.wantVerdict(early, rondo.OutcomeApplied, "early")
	n.wantCompleted("hasty", "consent_gate", "image_check", "ai_review", "customer_review", "emit_done")

	for _, requested := range []string{
		event.TypeConsentCheckRequested, event.TypeImagesCheckRequested, event.TypeAIReviewRequested, event.TypeHumanReviewRequested,
	} {
		if count := n.w.sentTo(n.org, requested); count != 0 {
			n.t.Errorf("on %s: %d %s were sent for cases that their client drives", n.w.ground.where(), count, requested)
		}
	}
}
