package acceptance

import (
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

// Definitions that leave out what a scenario is not about.
const (
	onlyAI = `{"name":"only_ai","start_step":"ai","steps":{
		"ai":{"kind":"run_ai_review","timeout_seconds":900,"max_retries":1,"retry_base_seconds":30,"transitions":{"on_complete":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

	// The step times out at the very moment of the deadline.
	oneHour = `{"name":"one_hour","workflow_timeout_seconds":3600,"start_step":"ai","steps":{
		"ai":{"kind":"run_ai_review","timeout_seconds":3600,"transitions":{"on_complete":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
)

func aStepTimeoutHalts(n *tenant) {
	n.useTemplate("ai_only")
	n.start("slow")
	n.passGates("slow")
	n.request("slow", event.TypeAIReviewRequested, 1)
	n.w.clock.Advance(901 * time.Second)
	i := n.wantHalted("slow", "step_timeout", "ai_review")
	steps := n.steps(i.ID)
	last := steps[len(steps)-1]
	if last.Status != rondo.StepTimedOut || last.Error.Code != "step_timeout" {
		n.t.Errorf("on %s: the last attempt of case slow is %+v", n.w.ground.where(), last)
	}
	n.request("slow", event.TypeWorkflowHalted, 1)
}

func aRetrySucceedsOnTheSecondAttempt(n *tenant) {
	n.publish(onlyAI)
	n.start("flaky")
	first := n.request("flaky", event.TypeAIReviewRequested, 1)
	failed := n.failure(first, worker.Failure{ReasonCode: "model_unavailable", Retryable: true, Message: "overloaded"})
	n.wantOutcome(failed, n.put(failed), rondo.OutcomeApplied)
	i, _ := n.instance("flaky")
	if len(i.CurrentSteps) != 1 || i.CurrentSteps[0].Status != rondo.StepPending || i.CurrentSteps[0].Attempt != 2 {
		n.t.Fatalf("on %s: after a failure that can be retried case flaky has %+v", n.w.ground.where(), i.CurrentSteps)
	}
	n.w.clock.Advance(31 * time.Second)
	second := n.request("flaky", event.TypeAIReviewRequested, 2)
	if second.CorrelationID == first.CorrelationID {
		n.t.Errorf("on %s: the second attempt of case flaky has the correlation id of the first", n.w.ground.where())
	}
	n.complete("flaky", event.TypeAIReviewRequested, 2, reviewed(0.9))
	n.wantCompleted("flaky", "ai failed", "ai", "done")
}

func retriesThatAreUsedUpHalt(n *tenant) {
	n.publish(onlyAI)
	n.start("broken")
	for attempt := 1; attempt <= 2; attempt++ {
		failed := n.failure(n.request("broken", event.TypeAIReviewRequested, attempt), worker.Failure{Retryable: true})
		n.wantOutcome(failed, n.put(failed), rondo.OutcomeApplied)
		n.w.clock.Advance(31 * time.Second)
	}
	n.wantHalted("broken", "ai_review_failed", "ai")

	n.start("hopeless")
	failed := n.failure(n.request("hopeless", event.TypeAIReviewRequested, 1), worker.Failure{ReasonCode: "bad_image"})
	n.wantOutcome(failed, n.put(failed), rondo.OutcomeApplied)
	i := n.wantHalted("hopeless", "ai_review_failed", "ai")
	if steps := n.steps(i.ID); len(steps) != 1 || steps[0].Error.Code != "bad_image" {
		n.t.Errorf("on %s: case hopeless does not keep the module's own reason: %+v", n.w.ground.where(), steps)
	}
}

func aRequestIsAskedAgain(n *tenant) {
	n.publish(onlyAI)
	n.start("quiet")
	request := n.request("quiet", event.TypeAIReviewRequested, 1)
	n.w.clock.Advance(61 * time.Second)
	n.await("the request coming again", func() bool { return n.w.desk.arrivals(request.EventID) >= 2 })
	if found := n.w.desk.of(n.key("quiet"), event.TypeAIReviewRequested); len(found) != 1 {
		n.t.Errorf("on %s: asking again made %d requests of case quiet, want the same one", n.w.ground.where(), len(found))
	}
	n.complete("quiet", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("quiet", "ai", "done")
}

func theDeadlineBeatsEverything(n *tenant) {
	n.publish(oneHour)
	n.start("late")
	request := n.request("late", event.TypeAIReviewRequested, 1)
	n.w.clock.Advance(time.Hour + time.Second)
	answer := n.answer(request, reviewed(0.9)) // comes when deadline and step timeout are both due
	n.wantOutcome(answer, n.put(answer), rondo.OutcomeParked)
	i := n.wantHalted("late", "workflow_deadline_exceeded", "ai")
	if !i.DeadlineExceeded {
		n.t.Errorf("on %s: case late is halted by its deadline, but deadline_exceeded is false", n.w.ground.where())
	}
	n.must(http.StatusConflict, n.rest().act(i.ID, "resume", map[string]any{"reason": "try"}), "resume after the deadline")
	n.must(http.StatusConflict, n.rest().act(i.ID, "halt", map[string]any{"reason_code": "manual_halt", "note": "try"}), "halt after the deadline")
	if after, _ := n.instance("late"); after.Version != i.Version {
		n.t.Errorf("on %s: a refused action changed case late from version %d to %d", n.w.ground.where(), i.Version, after.Version)
	}
	n.must(http.StatusOK, n.rest().act(i.ID, "cancel", map[string]any{"reason": "too late"}), "cancel after the deadline")
	n.wantOutcome(answer, n.ledger(answer).Outcome, rondo.OutcomeStale)
	n.request("late", event.TypeWorkflowCancelled, 1)
	if told := n.w.sentTo(n.org, event.TypeWorkflowHalted); told != 1 {
		n.t.Errorf("on %s: workflow.halted was told %d times for case late", n.w.ground.where(), told)
	}
}

func theDeadlineOfAHaltedCase(n *tenant) {
	n.publish(oneHour)
	n.start("stuck")
	failed := n.failure(n.request("stuck", event.TypeAIReviewRequested, 1), worker.Failure{})
	n.wantOutcome(failed, n.put(failed), rondo.OutcomeApplied)
	n.wantHalted("stuck", "ai_review_failed", "ai")
	n.w.clock.Advance(time.Hour + time.Second)
	n.await("deadline_exceeded on case stuck", func() bool {
		i, _ := n.instance("stuck")
		return i.DeadlineExceeded
	})
	i := n.wantHalted("stuck", "ai_review_failed", "ai")
	n.must(http.StatusConflict, n.rest().act(i.ID, "resume", map[string]any{"reason": "try"}), "resume after the deadline")
	if told := n.w.sentTo(n.org, event.TypeWorkflowHalted); told != 1 {
		n.t.Errorf("on %s: workflow.halted was told %d times for case stuck", n.w.ground.where(), told)
	}
}
