package acceptance

import (
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

func aCompletionWhileHaltedIsAppliedOnResume(n *tenant) {
	n.useTemplate("ai_only")
	n.start("paused")
	n.passGates("paused")
	request := n.request("paused", event.TypeAIReviewRequested, 1)
	i, _ := n.instance("paused")
	n.must(http.StatusOK, n.rest().act(i.ID, "halt", map[string]any{"reason_code": "manual_halt", "note": "look at it"}), "halt")
	n.wantHalted("paused", "manual_halt", "ai_review")
	answer := n.answer(request, reviewed(0.9))
	n.wantOutcome(answer, n.put(answer), rondo.OutcomeParked)
	n.must(http.StatusOK, n.rest().act(i.ID, "resume", map[string]any{"reason": "looked"}), "resume")
	n.wantCompleted("paused", "consent_gate", "image_check", "ai_review", "emit_done")
	n.wantOutcome(answer, n.ledger(answer).Outcome, rondo.OutcomeApplied)
	if count := n.w.sentTo(n.org, event.TypeAIReviewRequested); count != 1 {
		n.t.Errorf("on %s: %d AI reviews were asked for case paused, whose answer was there already", n.w.ground.where(), count)
	}
}

func aPersonHaltsResumesAndCancels(n *tenant) {
	n.publish(onlyAI)
	n.start("handled")
	first := n.request("handled", event.TypeAIReviewRequested, 1)
	i, _ := n.instance("handled")
	n.must(http.StatusConflict, n.rest().act(i.ID, "resume", map[string]any{"reason": "too soon"}), "resume a running case")
	n.must(http.StatusBadRequest, n.rest().act(i.ID, "halt", map[string]any{"reason_code": "because"}), "halt with an unknown reason")
	n.must(http.StatusOK, n.rest().act(i.ID, "halt", map[string]any{"reason_code": "manual_halt", "note": "wait"}), "halt")
	halted := n.wantHalted("handled", "manual_halt", "ai")
	if halted.HaltNote != "wait" {
		n.t.Errorf("on %s: the note of the halt of case handled is %q", n.w.ground.where(), halted.HaltNote)
	}
	n.must(http.StatusConflict, n.rest().act(i.ID, "halt", map[string]any{"reason_code": "manual_halt", "note": "again"}), "halt a halted case")
	n.must(http.StatusOK, n.rest().act(i.ID, "resume", map[string]any{"reason": "go on"}), "resume")
	second := n.request("handled", event.TypeAIReviewRequested, 2)
	if second.CorrelationID == first.CorrelationID {
		n.t.Errorf("on %s: resuming case handled used the old correlation id", n.w.ground.where())
	}
	old := n.answer(first, reviewed(0.1))
	n.wantOutcome(old, n.put(old), rondo.OutcomeStale)
	n.must(http.StatusOK, n.rest().act(i.ID, "cancel", map[string]any{"reason": "patient left"}), "cancel")
	cancelled := n.rests("handled")
	if cancelled.Status != rondo.StatusCancelled || cancelled.CancelledBy != "ann" || cancelled.CancelledReason != "patient left" {
		n.t.Errorf("on %s: case handled is %+v", n.w.ground.where(), cancelled)
	}
	answer := n.answer(second, reviewed(0.9))
	n.wantOutcome(answer, n.put(answer), rondo.OutcomeStale)
	for _, action := range []string{"halt", "resume", "cancel"} {
		body := map[string]any{"reason": "more"}
		if action == "halt" {
			body = map[string]any{"reason_code": "manual_halt", "note": "more"}
		}
		n.must(http.StatusConflict, n.rest().act(i.ID, action, body), action+" a cancelled case")
	}
	if after, _ := n.instance("handled"); after.Version != cancelled.Version {
		n.t.Errorf("on %s: the cancelled case handled changed from version %d to %d", n.w.ground.where(), cancelled.Version, after.Version)
	}
	for _, lifecycle := range []string{event.TypeWorkflowIntervened, event.TypeWorkflowCancelled} {
		n.request("handled", lifecycle, 1)
	}
	if count := n.w.sentTo(n.org, event.TypeWorkflowIntervened); count != 3 {
		n.t.Errorf("on %s: workflow.intervened was told %d times for halt, resume and cancel of case handled", n.w.ground.where(), count)
	}
}

// anotherOrganisationFindsNothing tries every id of one organisation with the
// token of another: the answers are those for ids that nobody has.
func anotherOrganisationFindsNothing(n *tenant) {
	d := n.publish(onlyAI)
	draft := n.draft(onlyAI)
	n.start("secret")
	i, _ := n.instance("secret")
	unknown := n.w.ids.New().String()
	stranger := client{api: n.rest().api, org: n.org + "-stranger"}

	instance, definition := "/workflow-instances/", "/workflow-definitions/"
	calls := []struct {
		method, before, id, after string
		body                      any
	}{
		{http.MethodGet, instance, i.ID, "", nil},
		{http.MethodGet, instance, i.ID, "/steps", nil},
		{http.MethodGet, instance, i.ID, "/events", nil},
		{http.MethodPost, instance, i.ID, "/halt", map[string]any{"reason_code": "manual_halt", "note": "x"}},
		{http.MethodPost, instance, i.ID, "/resume", map[string]any{"reason": "x"}},
		{http.MethodPost, instance, i.ID, "/cancel", map[string]any{"reason": "x"}},
		{http.MethodGet, definition, d.ID, "", nil},
		{http.MethodPost, definition, d.ID, "/validate", nil},
		{http.MethodPost, definition, draft.ID, "/publish", map[string]any{}},
		{http.MethodPost, definition, d.ID, "/archive", map[string]any{}},
	}
	for _, c := range calls {
		foreign := stranger.call(c.method, c.before+c.id+c.after, c.body)
		nobodys := stranger.call(c.method, c.before+unknown+c.after, c.body)
		f, u := foreign.problem(), nobodys.problem()
		if foreign.Status != http.StatusNotFound || f.Detail != u.Detail || f.Code != u.Code || nobodys.Status != foreign.Status {
			n.t.Errorf("on %s: %s %s{id}%s tells a stranger %d %s, and of an unknown id %d %s",
				n.w.ground.where(), c.method, c.before, c.after, foreign.Status, foreign.Body, nobodys.Status, nobodys.Body)
		}
	}
	var list listBody[instanceBody]
	stranger.get("/workflow-instances?case_id=secret").into(&list)
	if len(list.Items) != 0 {
		n.t.Errorf("on %s: a stranger lists %+v", n.w.ground.where(), list.Items)
	}
	n.must(http.StatusForbidden, stranger.get("/workflow-instances?org_id="+n.org), "list for another organisation without being admin")
	if after, _ := n.instance("secret"); after.Version != i.Version {
		n.t.Errorf("on %s: a stranger changed case secret", n.w.ground.where())
	}
}
