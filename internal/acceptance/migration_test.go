package acceptance

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// The second version has one step more, one by another name and one less.
const (
	reviewV1 = `{"name":"review_v1","start_step":"consent","steps":{
		"consent":{"kind":"gate_on_consent","params":{"types":["ai_analysis"]},"transitions":{"on_pass":"ai","on_fail":"stop"}},
		"ai":{"kind":"run_ai_review","transitions":{"on_complete":"person"}},
		"person":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"transitions":{"on_complete":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
		"stop":{"kind":"halt","params":{"reason_code":"consent_missing"}}}}`

	reviewV2 = `{"name":"review_v2","start_step":"ai_review","steps":{
		"ai_review":{"kind":"run_ai_review","transitions":{"on_complete":"person"}},
		"person":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"transitions":{"on_complete":"mark"}},
		"mark":{"kind":"set_case_status","params":{"status":"reviewed"},"transitions":{"on_complete":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
)

// planBody is what a dry run of a migration answers.
type planBody struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason"`
}

func aRunningCaseMigrates(n *tenant) {
	n.publish(reviewV1)
	n.start("moved")
	n.complete("moved", event.TypeConsentCheckRequested, 1, granted())
	request := n.request("moved", event.TypeAIReviewRequested, 1)
	second := n.publish(reviewV2)
	before, _ := n.instance("moved")

	var plan planBody
	n.must(http.StatusOK, n.rest().act(before.ID, "migrate", map[string]any{"dry_run": true}), "plan the migration").into(&plan)
	if plan.Verdict != "needs_mapping" || plan.Reason == "" {
		n.t.Errorf("on %s: without a step map the plan is %+v", n.w.ground.where(), plan)
	}
	n.refuse(http.StatusConflict, "moved", "migrate", map[string]any{})
	renamed := map[string]any{"step_map": map[string]any{"ai": "ai_review"}}
	n.must(http.StatusOK, n.rest().act(before.ID, "migrate", map[string]any{"step_map": renamed["step_map"], "dry_run": true}), "plan it with a map").into(&plan)
	if plan.Verdict != "moves" {
		n.t.Errorf("on %s: with the step map the plan is %+v", n.w.ground.where(), plan)
	}
	if after, _ := n.instance("moved"); after.Version != before.Version || after.DefinitionID != before.DefinitionID {
		n.t.Errorf("on %s: a dry run changed the case", n.w.ground.where())
	}
	after := n.act("moved", "migrate", renamed)
	if after.DefinitionID != second.ID || len(after.CurrentSteps) != 1 || after.CurrentSteps[0].StepID != "ai_review" {
		n.t.Errorf("on %s: after the migration case moved is %+v", n.w.ground.where(), after)
	}
	answer := n.answer(request, reviewed(0.9)) // what was asked for before counts after
	n.wantOutcome(answer, n.put(answer), rondo.OutcomeApplied)
	n.complete("moved", event.TypeHumanReviewRequested, 1, decided("x"))
	n.complete("moved", event.TypeSetStatusRequested, 1, map[string]any{"previous_status": "open", "new_status": "reviewed"})
	n.wantCompleted("moved", "consent", "ai_review", "person", "mark", "done")
	if asked := n.w.sentTo(n.org, event.TypeAIReviewRequested); asked != 1 {
		n.t.Errorf("on %s: the migration asked the AI %d times", n.w.ground.where(), asked)
	}
}

const migrating = 50 // cases; every fifth stands where the new version has no step

// TestManyCasesMigrateAcrossRestarts previews a migration of many, does it as a
// job whose engine is cut off twice on the way, and expects what was foretold.
func TestManyCasesMigrateAcrossRestarts(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			n := newTenant(t, w)
			w.desk.answerBy(func(request *event.Envelope) any {
				if request.Type == event.TypeConsentCheckRequested && !stays(request.CaseID) {
					return granted()
				}
				return nil
			})
			first := n.publish(reviewV1)
			for i := range migrating {
				n.start(migrant(i))
			}
			moving := migrating - migrating/5
			n.await("the cases that move standing at the AI", func() bool { return w.sentTo(n.org, event.TypeAIReviewRequested) == moving })
			second := n.publish(reviewV2)
			bulk := map[string]any{
				"filter": map[string]any{"definition_id": first.ID, "status": "running"}, "action": "migrate", "dry_run": true,
				"params": map[string]any{"to_definition_id": second.ID, "step_map": map[string]any{"ai": "ai_review"}},
			}
			foretold := n.foretell(bulk, moving)
			job := n.migrateAll(bulk)
			n.wantJob(job, foretold)

			w.desk.answerBy(answerRest)
			n.finishMigrants()
			for requested, want := range map[string]int{event.TypeConsentCheckRequested: migrating, event.TypeAIReviewRequested: migrating, event.TypeSetStatusRequested: moving} {
				if got := w.sentTo(n.org, requested); got != want {
					t.Errorf("on %s: %d distinct %s were sent, want %d", w.ground.where(), got, requested, want)
				}
			}
			checkEverything(t, w.store, w.ground.where(), "after a migration of many")
			w.wantEverythingSent(t)
		})
	}
}

func migrant(i int) string { return fmt.Sprintf("migrant-%d", i) }

// stays reports whether a case waits for consent, which the new version does not
// ask for.
func stays(caseID string) bool {
	return slices.ContainsFunc([]string{"0", "5"}, func(digit string) bool { return caseID[len(caseID)-1:] == digit })
}

// answerRest answers whatever was left open.
func answerRest(request *event.Envelope) any {
	if request.Type == event.TypeSetStatusRequested {
		return map[string]any{"previous_status": "open", "new_status": "reviewed"}
	}
	return answerAll(request)
}

// foretell expects the preview of a bulk migration, and returns what it says of
// each case: instance → verdict.
func (n *tenant) foretell(bulk map[string]any, moving int) map[string]string {
	n.t.Helper()
	var preview struct {
		Count     int `json:"count"`
		Migration struct {
			Verdicts map[string]int `json:"verdicts"`
			Items    []struct {
				InstanceID string `json:"instance_id"`
				CaseID     string `json:"case_id"`
				Verdict    string `json:"verdict"`
			} `json:"items"`
		} `json:"migration"`
	}
	n.must(http.StatusOK, n.rest().post("/workflow-instances/bulk", bulk), "preview the migration").into(&preview)
	if v := preview.Migration.Verdicts; preview.Count != migrating || v["moves"] != moving || v["needs_mapping"]+v["cannot"] != migrating-moving {
		n.t.Fatalf("on %s: the preview of %d cases, of which %d move, is %+v", n.w.ground.where(), migrating, moving, preview)
	}
	foretold := map[string]string{}
	for _, item := range preview.Migration.Items {
		foretold[item.InstanceID] = item.Verdict
		if (item.Verdict == "moves") == stays(item.CaseID) {
			n.t.Errorf("on %s: the preview says that %s %s", n.w.ground.where(), item.CaseID, item.Verdict)
		}
	}
	return foretold
}

// migrateAll makes the job and sees it through two deaths of its engine, just
// after and just before a commit of it. It returns the id of the job.
func (n *tenant) migrateAll(bulk map[string]any) string {
	n.t.Helper()
	var made struct {
		JobID string `json:"job_id"`
		Count int    `json:"count"`
	}
	bulk["dry_run"] = false
	n.w.replicas[0].scissors.arm(moment{effect: 1})
	n.must(http.StatusAccepted, n.rest().post("/workflow-instances/bulk", bulk), "migrate many").into(&made)
	if made.Count != migrating {
		n.t.Errorf("on %s: the job is about %d instances", n.w.ground.where(), made.Count)
	}
	for death, next := range []moment{{effect: 1, before: true}, {}} {
		doomed := n.w.replicas[0]
		n.await("the engine dying", func() bool { return doomed.scissors.isCut() || n.job(made.JobID).Status == "completed" })
		if doomed.scissors.disarm() {
			n.t.Logf("on %s: the engine died with %d of %d instances pending", n.w.ground.where(), n.job(made.JobID).Pending, migrating)
			n.w.restartThen(n.t, 0, func(r *replica) { r.scissors.arm(next) })
		} else if death == 0 {
			n.t.Errorf("on %s: the engine outlived the first commit of its job", n.w.ground.where())
		}
	}
	n.w.replicas[0].scissors.disarm()
	n.await("the job completing", func() bool { return n.job(made.JobID).Status == "completed" })
	return made.JobID
}

func (n *tenant) job(id string) (j jobBody) {
	n.rest().get("/jobs/" + id).into(&j)
	return j
}

// wantJob expects the counts and the results of a job to be what was foretold, and
// every instance to be touched at most once.
func (n *tenant) wantJob(id string, foretold map[string]string) {
	n.t.Helper()
	moving := 0
	for _, verdict := range foretold {
		if verdict == "moves" {
			moving++
		}
	}
	want := jobBody{Status: "completed", Total: len(foretold), Applied: moving, Refused: len(foretold) - moving}
	if got := n.job(id); got != want {
		n.t.Errorf("on %s: the job is %+v, want %+v", n.w.ground.where(), got, want)
	}
	var results listBody[struct {
		InstanceID string `json:"instance_id"`
		Outcome    string `json:"outcome"`
	}]
	n.must(http.StatusOK, n.rest().get("/jobs/"+id+"/results?limit=100"), "list the results").into(&results)
	if len(results.Items) != len(foretold) {
		n.t.Errorf("on %s: %d results for %d instances", n.w.ground.where(), len(results.Items), len(foretold))
	}
	for _, r := range results.Items {
		var recorded []string
		if r.Outcome == "applied" {
			recorded = []string{"migrate: running → running"}
		}
		if (r.Outcome == "applied") != (foretold[r.InstanceID] == "moves") {
			n.t.Errorf("on %s: instance %s was %s, and %s was foretold", n.w.ground.where(), r.InstanceID, r.Outcome, foretold[r.InstanceID])
		}
		n.wantInterventions(r.InstanceID, recorded...)
	}
}

// finishMigrants answers what the cases wait for and expects each to end on the
// way of the version that it is on.
func (n *tenant) finishMigrants() {
	n.t.Helper()
	for i := range migrating {
		caseID := migrant(i)
		requested := event.TypeAIReviewRequested
		if stays(caseID) {
			requested = event.TypeConsentCheckRequested
		}
		request := n.request(caseID, requested, 1) // asked for before the desk knew an answer
		n.put(n.answer(request, answerAll(request)))
	}
	for i := range migrating {
		want := []string{"consent", "ai_review", "person", "mark", "done"}
		if stays(migrant(i)) {
			want = []string{"consent", "ai", "person", "done"}
		}
		n.wantCompleted(migrant(i), want...)
	}
}
