package acceptance

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

// because is the body of actions that need no more than a reason.
func because(reason string) map[string]any { return map[string]any{"reason": reason} }

// act does something to a case and expects it to be answered well.
func (n *tenant) act(caseID, action string, body any) instanceBody {
	n.t.Helper()
	i, _ := n.instance(caseID)
	var after instanceBody
	n.must(http.StatusOK, n.rest().act(i.ID, action, body), action+" case "+caseID).into(&after)
	return after
}

// refuse expects an action to be refused with a status, and to change nothing.
func (n *tenant) refuse(status int, caseID, action string, body any) problemBody {
	n.t.Helper()
	before, _ := n.instance(caseID)
	refused := n.must(status, n.rest().act(before.ID, action, body), action+" case "+caseID).problem()
	if after, _ := n.instance(caseID); after.Version != before.Version {
		n.t.Errorf("on %s: %s was refused and still changed case %s", n.w.ground.where(), action, caseID)
	}
	return refused
}

// wantInterventions checks what was recorded about an instance: the action, and
// the status before and after.
func (n *tenant) wantInterventions(id string, want ...string) {
	n.t.Helper()
	var list listBody[interventionBody]
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+id+"/interventions"), "list interventions").into(&list)
	var got []string
	for _, row := range list.Items {
		got = append(got, row.Action+": "+string(row.Before.Status)+" → "+string(row.After.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		n.t.Errorf("on %s: the interventions in %s (-want +got):\n%s", n.w.ground.where(), id, diff)
	}
}

func aStepIsTriedAgainWithAnotherInput(n *tenant) {
	n.publish(onlyAI)
	n.start("unreadable")
	first := n.request("unreadable", event.TypeAIReviewRequested, 1)
	n.refuse(http.StatusConflict, "unreadable", "retry-step", because("it takes so long"))
	failed := n.failure(first, worker.Failure{ReasonCode: "bad_image"})
	n.wantOutcome(failed, n.put(failed), rondo.OutcomeApplied)
	n.wantHalted("unreadable", "ai_review_failed", "ai")

	retry := func(override any) map[string]any {
		return map[string]any{"reason": "better images", "input_override": override}
	}
	n.refuse(http.StatusBadRequest, "unreadable", "retry-step", retry(map[string]any{"colour": "red"}))
	n.refuse(http.StatusConflict, "unreadable", "retry-step", map[string]any{"reason": "x", "step_id": "done"})
	i := n.act("unreadable", "retry-step", retry(map[string]any{"images": []any{map[string]any{"id": "i9"}}}))

	second := n.request("unreadable", event.TypeAIReviewRequested, 2)
	var asked struct {
		Images []struct {
			ID string `json:"id"`
		} `json:"images"`
	}
	if err := json.Unmarshal(second.Payload, &asked); err != nil || len(asked.Images) != 1 || asked.Images[0].ID != "i9" {
		n.t.Errorf("on %s: the AI was asked again with %s, want image i9 alone (%v)", n.w.ground.where(), second.Payload, err)
	}
	late := n.answer(first, reviewed(0.1))
	n.wantOutcome(late, n.put(late), rondo.OutcomeStale)

	// The automatic retry of the definition is still there, and need not be waited for.
	again := n.failure(second, worker.Failure{Retryable: true})
	n.wantOutcome(again, n.put(again), rondo.OutcomeApplied)
	n.act("unreadable", "retry-step", because("no need to wait"))
	n.complete("unreadable", event.TypeAIReviewRequested, 3, reviewed(0.9))
	n.wantCompleted("unreadable", "ai failed", "ai failed", "ai", "done")
	n.wantInterventions(i.ID, "retry_step: halted → running", "retry_step: running → running")
}

func aCaseIsSupersededOntoTheLatestDefinition(n *tenant) {
	first := n.publish(onlyAI)
	n.start("renewed")
	request := n.request("renewed", event.TypeAIReviewRequested, 1)
	old, _ := n.instance("renewed")

	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+first.ID+"/archive", map[string]any{}), "archive")
	n.refuse(http.StatusConflict, "renewed", "supersede", because("nothing to go to"))
	second := n.useTemplate("clinician_only")
	var fresh instanceBody
	n.must(http.StatusOK, n.rest().act(old.ID, "supersede", because("new rules")), "supersede").into(&fresh)
	if fresh.ID == old.ID || fresh.DefinitionID != second.ID || fresh.SupersedesID != old.ID || fresh.Status != rondo.StatusRunning {
		n.t.Fatalf("on %s: supersede answered %+v", n.w.ground.where(), fresh)
	}
	n.must(http.StatusOK, n.rest().get("/workflow-instances/"+old.ID), "read the old instance").into(&old)
	if old.Status != rondo.StatusCancelled || old.CancelledReason != "superseded_by:"+fresh.ID || old.SupersededByID != fresh.ID {
		n.t.Errorf("on %s: the old instance is %+v", n.w.ground.where(), old)
	}
	n.must(http.StatusConflict, n.rest().act(old.ID, "supersede", because("again")), "supersede what is superseded")

	late := n.answer(request, reviewed(0.9))
	n.wantOutcome(late, n.put(late), rondo.OutcomeUnmatched) // no step of the new definition is answered by it
	n.passGates("renewed")
	n.complete("renewed", event.TypeHumanReviewRequested, 1, decided("x"))
	n.await("the new instance completing", func() bool {
		n.rest().get("/workflow-instances/" + fresh.ID).into(&fresh)
		return fresh.Status == rondo.StatusCompleted
	})
	if got := n.path(fresh.ID); !slices.Equal(got, []string{"consent_gate", "image_check", "customer_review", "emit_done"}) {
		n.t.Errorf("on %s: the new instance went %v", n.w.ground.where(), got)
	}
	for told, want := range map[string]int{event.TypeWorkflowCancelled: 1, event.TypeWorkflowStarted: 2, event.TypeWorkflowIntervened: 1} {
		if got := n.w.sentTo(n.org, told); got != want {
			n.t.Errorf("on %s: %s was told %d times, want %d", n.w.ground.where(), told, got, want)
		}
	}
	n.wantInterventions(old.ID, "supersede: running → cancelled")
}

func theModeIsChangedBothWays(n *tenant) {
	n.publish(onlyAI)
	n.startWith("handover", map[string]any{"orchestration_mode": "client_driven"})
	i := n.act("handover", "set-mode", map[string]any{"mode": "active", "reason": "the client's tool is broken"})
	if i.Mode != rondo.ModeActive {
		n.t.Errorf("on %s: case handover is %s", n.w.ground.where(), i.Mode)
	}
	request := n.request("handover", event.TypeAIReviewRequested, 1)
	if steps := n.steps(i.ID); len(steps) != 1 || steps[0].CorrelationID != request.CorrelationID {
		n.t.Errorf("on %s: the request has correlation %s, the attempt is %+v", n.w.ground.where(), request.CorrelationID, steps)
	}
	n.act("handover", "set-mode", map[string]any{"mode": "client_driven", "reason": "repaired"})
	n.w.clock.Advance(901 * time.Second) // the timeout of the step belongs to requests
	outside := n.event(event.TypeAIReviewCompleted, "handover", "client-1", reviewed(0.9))
	n.wantOutcome(outside, n.put(outside), rondo.OutcomeApplied)
	n.wantCompleted("handover", "ai", "done")
	n.wantInterventions(i.ID, "set_mode: running → running", "set_mode: running → running")

	n.start("timed")
	n.act("timed", "set-mode", map[string]any{"mode": "client_driven", "reason": "let me"})
	n.act("timed", "set-mode", map[string]any{"mode": "active", "reason": "no, you"})
	n.w.clock.Advance(901 * time.Second)
	n.wantHalted("timed", "step_timeout", "ai")
}

func aStepIsSkipped(n *tenant) {
	n.useTemplate("ai_only")
	n.start("known")
	n.passGates("known")
	request := n.request("known", event.TypeAIReviewRequested, 1)
	skip := func(outcome string, output any) map[string]any {
		return map[string]any{"step_id": "ai_review", "outcome": outcome, "output": output, "reason": "seen elsewhere"}
	}
	n.refuse(http.StatusBadRequest, "known", "skip-step", skip("on_maybe", reviewed(0.9)))
	n.refuse(http.StatusBadRequest, "known", "skip-step", skip("on_complete", map[string]any{"confidence": "high"}))
	i := n.act("known", "skip-step", skip("on_complete", reviewed(0.8)))
	n.wantCompleted("known", "consent_gate", "image_check", "ai_review skipped", "emit_done")
	n.wantFinal("known", i.DefinitionID, "by-ai")
	late := n.answer(request, reviewed(0.1))
	n.wantOutcome(late, n.put(late), rondo.OutcomeStale)

	n.start("stopped")
	n.complete("stopped", event.TypeConsentCheckRequested, 1, granted())
	n.complete("stopped", event.TypeImagesCheckRequested, 1, map[string]any{"count": 1, "passed": false, "image_ids": []string{"i1"}})
	n.wantHalted("stopped", "insufficient_images", "image_check")
	n.act("stopped", "skip-step", map[string]any{"step_id": "image_check", "outcome": "on_pass", "output": enoughImages(), "reason": "one will do"})
	n.complete("stopped", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("stopped", "consent_gate", "image_check", "halt_images", "image_check skipped", "ai_review", "emit_done")
}

// signed waits for a person.
const signed = `{"name":"signed","start_step":"sign","steps":{
	"sign":{"kind":"manual","params":{"title":"Sign it","outcomes":["on_yes","on_no"],"assignees":["bob"],
		"form":{"type":"object","required":["place"],"additionalProperties":false,"properties":{"place":{"type":"string"}}}},
		"timeout_seconds":86400,"transitions":{"on_yes":"done","on_no":"stop"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
	"stop":{"kind":"halt","params":{"reason_code":"step_failed"}}}}`

func anAssigneeCompletesAStep(n *tenant) {
	n.publish(signed)
	n.start("form")
	i, _ := n.instance("form")
	sign := func(outcome string, output any) map[string]any {
		return map[string]any{"step_id": "sign", "outcome": outcome, "output": output}
	}
	berlin := map[string]any{"place": "Berlin"}
	path := "/workflow-instances/" + i.ID + "/complete-step"
	bob, eve := n.rest().as("bob", rondo.ScopeReadInstances), n.rest().as("eve", rondo.ScopeReadInstances)
	n.must(http.StatusForbidden, eve.post(path, sign("on_yes", berlin)), "complete the step of another")
	n.must(http.StatusForbidden, bob.post("/workflow-instances/"+i.ID+"/cancel", because("x")), "cancel as an assignee")
	n.must(http.StatusBadRequest, bob.post(path, sign("on_yes", map[string]any{"place": 7})), "complete with a wrong form")
	n.must(http.StatusBadRequest, bob.post(path, sign("on_maybe", berlin)), "complete with an unknown outcome")
	key := []string{"Idempotency-Key", "sign-" + i.ID}
	first := n.must(http.StatusOK, bob.callWith(key, http.MethodPost, path, sign("on_yes", berlin)), "complete as an assignee")
	again := n.must(http.StatusOK, bob.callWith(key, http.MethodPost, path, sign("on_yes", berlin)), "repeat it under its key")
	if string(again.Body) != string(first.Body) {
		n.t.Errorf("on %s: the repeat answered %s, the first %s", n.w.ground.where(), again.Body, first.Body)
	}
	n.must(http.StatusConflict, bob.post(path, sign("on_no", berlin)), "complete what is completed")
	n.wantCompleted("form", "sign", "done")
	n.wantInterventions(i.ID, "complete_step: running → completed")
	i, _ = n.instance("form")
	if got := string(i.Context["sign"]); got != `{"outcome":"on_yes","place":"Berlin"}` && got != `{"place":"Berlin","outcome":"on_yes"}` {
		n.t.Errorf("on %s: the output of the form is %s", n.w.ground.where(), got)
	}

	n.start("forgotten")
	n.w.clock.Advance(25 * time.Hour)
	n.wantHalted("forgotten", "step_timeout", "sign")
	n.refuse(http.StatusConflict, "forgotten", "complete-step", sign("on_yes", berlin))
}

func onlyCancelAndSupersedeRemainAfterTheDeadline(n *tenant) {
	n.publish(oneHour)
	n.start("overdue")
	n.request("overdue", event.TypeAIReviewRequested, 1)
	n.w.clock.Advance(time.Hour + time.Second)
	old := n.wantHalted("overdue", "workflow_deadline_exceeded", "ai")
	for action, body := range map[string]any{
		"retry-step": because("x"), "resume": because("x"), "set-mode": map[string]any{"mode": "client_driven", "reason": "x"},
		"skip-step": map[string]any{"step_id": "ai", "outcome": "on_complete", "output": reviewed(0.9), "reason": "x"},
		"halt":      map[string]any{"reason_code": "manual_halt", "note": "x"}, "migrate": map[string]any{},
	} {
		n.refuse(http.StatusConflict, "overdue", action, body)
	}
	var fresh instanceBody
	n.must(http.StatusOK, n.rest().act(old.ID, "supersede", because("once more")), "supersede after the deadline").into(&fresh)
	n.complete("overdue", event.TypeAIReviewRequested, 2, reviewed(0.9))
	n.await("the new instance completing", func() bool {
		n.rest().get("/workflow-instances/" + fresh.ID).into(&fresh)
		return fresh.Status == rondo.StatusCompleted
	})
}
