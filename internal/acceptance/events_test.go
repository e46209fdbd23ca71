package acceptance

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

func aClientDrivesTheCase(n *tenant) {
	n.useTemplate("ai_only")
	n.startWith("observed", map[string]any{"orchestration_mode": "client_driven"})
	for _, outside := range []*event.Envelope{
		n.event(event.TypeConsentCheckCompleted, "observed", "client-1", granted()),
		n.event(event.TypeImagesCheckCompleted, "observed", "client-2", enoughImages()),
		n.event(event.TypeAIReviewCompleted, "observed", "client-3", reviewed(0.9)),
	} {
		n.wantOutcome(outside, n.put(outside), rondo.OutcomeApplied)
	}
	n.wantCompleted("observed", "consent_gate", "image_check", "ai_review", "emit_done")
	for _, requested := range []string{event.TypeConsentCheckRequested, event.TypeImagesCheckRequested, event.TypeAIReviewRequested} {
		if count := n.w.sentTo(n.org, requested); count != 0 {
			n.t.Errorf("on %s: %d %s were sent for case observed, which its client drives", n.w.ground.where(), count, requested)
		}
	}
	n.request("observed", event.TypeCaseWorkflowCompleted, 1)

	n.startWith("skipping", map[string]any{"orchestration_mode": "client_driven"})
	early := n.event(event.TypeAIReviewCompleted, "skipping", "client-4", reviewed(0.9))
	n.wantOutcome(early, n.put(early), rondo.OutcomeParked)
	consent := n.event(event.TypeConsentCheckCompleted, "skipping", "client-5", granted())
	n.wantOutcome(consent, n.put(consent), rondo.OutcomeApplied)
	images := n.event(event.TypeImagesCheckCompleted, "skipping", "client-6", enoughImages())
	n.wantOutcome(images, n.put(images), rondo.OutcomeApplied)
	n.wantCompleted("skipping", "consent_gate", "image_check", "ai_review", "emit_done")
	n.wantOutcome(early, n.ledger(early).Outcome, rondo.OutcomeApplied)
}

func aRepeatedCompletionDoesNotAdvanceTwice(n *tenant) {
	n.useTemplate("ai_only")
	n.start("twice")
	consent := n.answer(n.request("twice", event.TypeConsentCheckRequested, 1), granted())
	n.wantOutcome(consent, n.put(consent), rondo.OutcomeApplied)
	for range 3 {
		var receipt receiptBody
		n.must(http.StatusOK, n.rest().publish(consent.Encode()), "publish the same event again").into(&receipt)
		n.wantOutcome(consent, receipt.Outcome, rondo.OutcomeApplied)
	}
	if n.w.ground.redis { // what comes twice on a stream counts too
		n.put(consent)
		n.await("four repeats in the ledger", func() bool { return n.ledger(consent).Duplicates == 4 })
	} else if row := n.ledger(consent); row.Duplicates != 3 {
		n.t.Errorf("on %s: event %s of case twice counts %d duplicates, want 3", n.w.ground.where(), consent.EventID, row.Duplicates)
	}
	another := n.event(event.TypeConsentCheckCompleted, "twice", consent.CorrelationID, granted()) // same answer, new event id
	n.wantOutcome(another, n.put(another), rondo.OutcomeStale)
	n.complete("twice", event.TypeImagesCheckRequested, 1, enoughImages())
	n.complete("twice", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("twice", "consent_gate", "image_check", "ai_review", "emit_done")
	if count := n.w.sentTo(n.org, event.TypeImagesCheckRequested); count != 1 {
		n.t.Errorf("on %s: %d image checks were asked for case twice", n.w.ground.where(), count)
	}
	told := map[rondo.Outcome]int{}
	for _, row := range n.events(n.rests("twice").ID) {
		told[row.Outcome]++
	}
	if told[rondo.OutcomeApplied] != 4 || told[rondo.OutcomeStale] != 1 {
		n.t.Errorf("on %s: the ledger of case twice shows %v, want 4 applied and 1 stale", n.w.ground.where(), told)
	}
}

func anEarlyEventIsKept(n *tenant) {
	n.useTemplate("ai_only")
	early := n.event(event.TypeConsentCheckCompleted, "unborn", "guess", granted())
	n.wantOutcome(early, n.put(early), rondo.OutcomeParked)
	n.start("unborn")
	// In active mode only the correlation id of an open attempt answers it.
	n.wantOutcome(early, n.ledger(early).Outcome, rondo.OutcomeStale)

	early = n.event(event.TypeConsentCheckCompleted, "unborn-client", "guess", granted())
	n.wantOutcome(early, n.put(early), rondo.OutcomeParked)
	n.startWith("unborn-client", map[string]any{"orchestration_mode": "client_driven"})
	n.wantOutcome(early, n.ledger(early).Outcome, rondo.OutcomeApplied)
	i, _ := n.instance("unborn-client")
	if len(i.CurrentSteps) != 1 || i.CurrentSteps[0].StepID != "image_check" {
		n.t.Errorf("on %s: case unborn-client stands at %+v, want image_check", n.w.ground.where(), i.CurrentSteps)
	}
}

func aLateEventIsStale(n *tenant) {
	n.publish(onlyAI)
	n.start("tardy")
	first := n.request("tardy", event.TypeAIReviewRequested, 1)
	n.w.clock.Advance(901 * time.Second)
	i := n.wantHalted("tardy", "step_timeout", "ai")
	late := n.answer(first, reviewed(0.1))
	n.wantOutcome(late, n.put(late), rondo.OutcomeStale)
	n.must(http.StatusOK, n.rest().act(i.ID, "resume", map[string]any{"reason": "module is back"}), "resume")
	later := n.event(event.TypeAIReviewCompleted, "tardy", first.CorrelationID, reviewed(0.1))
	n.wantOutcome(later, n.put(later), rondo.OutcomeStale)
	n.complete("tardy", event.TypeAIReviewRequested, 2, reviewed(0.9))
	n.wantCompleted("tardy", "ai timed_out", "ai", "done")
	last := n.event(event.TypeAIReviewCompleted, "tardy", "nobody", reviewed(0.1))
	n.wantOutcome(last, n.put(last), rondo.OutcomeStale)
}

func aForeignEventMovesNothing(n *tenant) {
	n.publish(onlyAI)
	n.start("mine")
	n.start("other")
	request := n.request("mine", event.TypeAIReviewRequested, 1)
	n.request("other", event.TypeAIReviewRequested, 1)

	wrongCase := n.event(event.TypeAIReviewCompleted, "other", request.CorrelationID, reviewed(0.9))
	n.wantOutcome(wrongCase, n.put(wrongCase), rondo.OutcomeStale)

	wrongProduct := n.event(event.TypeAIReviewCompleted, "mine", request.CorrelationID, reviewed(0.9))
	wrongProduct.ProductID = "hair"
	n.wantOutcome(wrongProduct, n.put(wrongProduct), rondo.OutcomeRejected)

	wrongOrg := n.event(event.TypeAIReviewCompleted, "mine", request.CorrelationID, reviewed(0.9))
	wrongOrg.OrgID = n.org + "-stranger"
	n.must(http.StatusForbidden, n.rest().publish(wrongOrg.Encode()), "publish for another organisation")
	n.wantOutcome(wrongOrg, n.put(wrongOrg), rondo.OutcomeParked) // of a case that the stranger does not have yet

	unused := n.event(event.TypeHumanReviewCompleted, "mine", request.CorrelationID, decided("x"))
	n.wantOutcome(unused, n.put(unused), rondo.OutcomeUnmatched)

	n.must(http.StatusForbidden, n.rest().publish(n.event(event.TypeWorkflowCompleted, "mine", "x", map[string]any{}).Encode()), "publish what only Rondo publishes")

	for _, caseID := range []string{"mine", "other"} {
		if i, _ := n.instance(caseID); i.Version != 1 {
			n.t.Errorf("on %s: a foreign event moved case %s to version %d\n%s", n.w.ground.where(), caseID, i.Version, n.w.describe(n.org))
		}
		n.complete(caseID, event.TypeAIReviewRequested, 1, reviewed(0.9))
		n.wantCompleted(caseID, "ai", "done")
	}
}

func aBrokenPayloadHalts(n *tenant) {
	n.publish(onlyAI)
	n.start("garbled")
	n.complete("garbled", event.TypeAIReviewRequested, 1, map[string]any{"confidence": "very", "diagnoses": []any{}})
	i := n.wantHalted("garbled", "contract_violation", "ai")
	if steps := n.steps(i.ID); len(steps) != 1 || steps[0].Status != rondo.StepFailed || steps[0].Error.Code != "contract_violation" {
		n.t.Errorf("on %s: the attempt of case garbled is %+v", n.w.ground.where(), steps)
	}
	if _, leaked := i.Context["ai"]; leaked {
		n.t.Errorf("on %s: case garbled took an output into its context that breaks the contract", n.w.ground.where())
	}
	n.must(http.StatusOK, n.rest().act(i.ID, "resume", map[string]any{"reason": "module repaired"}), "resume")
	n.complete("garbled", event.TypeAIReviewRequested, 2, reviewed(0.9))
	n.wantCompleted("garbled", "ai failed", "ai", "done")
}

func aPoisonedEntryBecomesADeadLetter(n *tenant) {
	n.publish(onlyAI)
	n.start("clean")
	request := n.request("clean", event.TypeAIReviewRequested, 1)
	good := n.answer(request, reviewed(0.9))

	for _, bad := range []struct{ what, body string }{
		{"no JSON", `{{{`},
		{"no envelope", `{"event_id":"1"}`},
		{"a duplicate member", strings.Replace(string(good.Encode()), `{"event_id"`, `{"case_id":"x","event_id"`, 1)},
		{"an unknown type", strings.Replace(string(good.Encode()), event.TypeAIReviewCompleted, "ai_review.imagined", 1)},
	} {
		if r := n.rest().publish([]byte(bad.body)); r.Status != http.StatusBadRequest {
			n.t.Errorf("on %s: POST /events with %s answered %d, want 400: %s", n.w.ground.where(), bad.what, r.Status, r.Body)
		}
	}
	if n.w.ground.redis {
		poison(n, good)
		n.settleLetters()
	}
	n.wantOutcome(good, n.put(good), rondo.OutcomeApplied)
	n.wantCompleted("clean", "ai", "done")
}

// poison puts entries on a Redis stream that can never be applied, and waits
// until each is a dead letter.
func poison(n *tenant, good *event.Envelope) {
	n.t.Helper()
	options, err := redis.ParseURL(n.w.ground.redisURL)
	if err != nil {
		n.t.Fatal(err)
	}
	raw := redis.NewClient(options)
	defer raw.Close()
	before := len(deadLetters(n.t, n.w.store))
	astray := n.event(event.TypeHumanReviewCompleted, good.CaseID, good.CorrelationID, decided("x"))
	entries := []map[string]any{
		{"envelope": "\x00\xff garbage"},
		{"something": "else"},
		{"envelope": `{"event_id":"not a uuid"}`},
		{"envelope": string(astray.Encode())},
		{"envelope": strings.Replace(string(good.Encode()), "raw-1", strings.Repeat("x", 300<<10), 1)},
	}
	for _, values := range entries {
		if err := raw.XAdd(n.t.Context(), &redis.XAddArgs{Stream: "events:" + event.TypeAIReviewCompleted, Values: values}).Err(); err != nil {
			n.t.Fatal(err)
		}
	}
	n.await("a dead letter for each poisoned entry", func() bool { return len(deadLetters(n.t, n.w.store)) >= before+len(entries) })
	for _, letter := range deadLetters(n.t, n.w.store)[:len(entries)] {
		if letter.Reason == "" || letter.Stream != event.TypeAIReviewCompleted {
			n.t.Errorf("on %s: a dead letter does not say why and whence: %+v", n.w.ground.where(), letter)
		}
	}
}

func deadLetters(t *testing.T, s store.Store) []rondo.DeadLetter {
	t.Helper()
	letters, err := s.DeadLetters(t.Context(), store.DeadLetterFilter{}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return letters
}

func aCaseWithoutADefinition(n *tenant) {
	created := n.created("orphan", nil)
	n.wantOutcome(created, n.send(created), rondo.OutcomeUnmatched)
	if row := n.ledger(created); row.Error != "no_definition" || !row.InstanceID.IsZero() {
		n.t.Errorf("on %s: the row of case.created is %+v", n.w.ground.where(), row)
	}
	if _, ok := n.instance("orphan"); ok {
		n.t.Errorf("on %s: case orphan has an instance", n.w.ground.where())
	}

	// An admin has it judged again when there is a definition.
	path := "/events/" + created.EventID.String() + "/replay"
	admin := n.rest().as("root", rondo.ScopeAdmin)
	n.must(http.StatusForbidden, n.rest().post(path, nil), "replay without being admin")
	n.must(http.StatusOK, admin.post(path, nil), "replay while there is no definition")
	n.wantOutcome(created, n.ledger(created).Outcome, rondo.OutcomeUnmatched)
	n.publish(onlyAI)
	var receipt receiptBody
	n.must(http.StatusOK, admin.post(path, nil), "replay").into(&receipt)
	n.wantOutcome(created, receipt.Outcome, rondo.OutcomeApplied)
	n.must(http.StatusConflict, admin.post(path, nil), "replay what was applied")
	n.complete("orphan", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("orphan", "ai", "done")
}

func aCaseThatIsCreatedAgain(n *tenant) {
	n.publish(onlyAI)
	first := n.created("again", nil)
	n.wantOutcome(first, n.send(first), rondo.OutcomeApplied)
	n.must(http.StatusOK, n.rest().publish(first.Encode()), "publish the same case.created")
	second := n.created("again", map[string]any{"patient_id": "someone-else"})
	n.wantOutcome(second, n.put(second), rondo.OutcomeRepeated)
	n.complete("again", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("again", "ai", "done")
	third := n.created("again", nil)
	n.wantOutcome(third, n.put(third), rondo.OutcomeRepeated)
	n.wantCompleted("again", "ai", "done")
}
