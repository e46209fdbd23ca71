package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// The second version adds image_check, calls review clinician_review and has no
// triage any more.
const (
	versionOne = `{"name": "lesion", "start_step": "consent", "steps": {
		"consent": {"kind": "gate_on_consent", "params": {"types": ["ai_analysis"]}, "transitions": {"on_pass": "ai_review", "on_fail": "no_consent"}},
		"ai_review": {"kind": "run_ai_review", "transitions": {"on_complete": "review"}},
		"review": {"kind": "request_human_review", "params": {"tier": "customer_clinician"}, "transitions": {"on_complete": "triage"}},
		"triage": {"kind": "set_case_status", "params": {"status": "triaged"}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}},
		"no_consent": {"kind": "halt", "params": {"reason_code": "consent_missing"}}}}`
	versionTwo = `{"name": "lesion", "start_step": "consent", "steps": {
		"consent": {"kind": "gate_on_consent", "params": {"types": ["ai_analysis"]}, "transitions": {"on_pass": "image_check", "on_fail": "no_consent"}},
		"image_check": {"kind": "require_images", "params": {"min_count": 1}, "transitions": {"on_pass": "ai_review", "on_fail": "no_images"}},
		"ai_review": {"kind": "run_ai_review", "transitions": {"on_complete": "clinician_review"}},
		"clinician_review": {"kind": "request_human_review", "params": {"tier": "customer_clinician"}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}},
		"no_consent": {"kind": "halt", "params": {"reason_code": "consent_missing"}},
		"no_images": {"kind": "halt", "params": {"reason_code": "insufficient_images"}}}}`
)

// path is how a case of the first version goes on, step by step.
var path = []struct{ step, completed, payload string }{
	{"consent", "consent.check.completed", `{"granted":true,"missing_types":[]}`},
	{"ai_review", "ai_review.completed", `{"confidence":0.5,"diagnoses":[],"raw_response_id":"r1"}`},
	{"review", "human_review.completed", `{"decision":"confirm","reviewer_id":"u2"}`},
	{"triage", "case.set_status.completed", `{"previous_status":"new","new_status":"triaged"}`},
}

// answer completes the step that a case stands at.
func (o *office) answer(i *rondo.Instance) error {
	if len(i.Machine.Live) != 1 {
		return fmt.Errorf("case %s has %d live steps", i.CaseID, len(i.Machine.Live))
	}
	live := i.Machine.Live[0]
	at := map[string]string{"clinician_review": "review"}[live.StepID]
	if at == "" {
		at = live.StepID
	}
	for _, step := range path {
		if step.step == at {
			return o.send(step.completed, i.CaseID, live.CorrelationID, step.payload)
		}
	}
	return fmt.Errorf("case %s stands at %s", i.CaseID, live.StepID)
}

func live(i *rondo.Instance) []string {
	var steps []string
	for _, attempt := range i.Machine.Live {
		steps = append(steps, attempt.StepID)
	}
	return steps
}

// A thousand cases of the first version, at every one of its steps, move to the
// second as the preview says.
func TestAThousandInstancesMigrateAsThePreviewSays(t *testing.T) {
	const total = 1000
	o := openOffice(t, openSQLite(t), 0)
	defer o.close()
	one := o.publish(versionOne)
	o.start(total)
	// Of every ten cases four stand at consent, three at the AI review, two at the
	// review and one at triage.
	for round := range 3 {
		rows := o.instances(running)
		o.many(len(rows), func(n int) error {
			digit := rows[n].CaseID[len(rows[n].CaseID)-1] - '0'
			if digit < []byte{4, 7, 9}[round] {
				return nil
			}
			return o.answer(rows[n])
		})
	}
	ofOne := store.InstanceFilter{DefinitionID: one.ID}
	past := o.instances(store.InstanceFilter{CaseID: caseName(0)})[0]
	if _, err := o.Act(t.Context(), user(), past.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}); err != nil {
		t.Fatal(err)
	}
	two := o.publish(versionTwo)

	migrate := rondo.Action{Name: rondo.ActionMigrate, Reason: "second version"}
	bare, err := o.PreviewBulk(t.Context(), user(), ofOne, migrate)
	if err != nil {
		t.Fatal(err)
	}
	want := map[rondo.MigrationVerdict]int{rondo.MigrationMoves: 699, rondo.MigrationNeedsMapping: 200, rondo.MigrationCannot: 101}
	if diff := cmp.Diff(want, bare.Migration.Verdicts); diff != "" || bare.Count != total {
		t.Fatalf("without a mapping, %d instances (-want +got):\n%s", bare.Count, diff)
	}
	migrate.StepMap = map[string]string{"review": "clinician_review"}
	preview, err := o.PreviewBulk(t.Context(), user(), ofOne, migrate)
	if err != nil {
		t.Fatal(err)
	}
	want = map[rondo.MigrationVerdict]int{rondo.MigrationMoves: 899, rondo.MigrationCannot: 101}
	if diff := cmp.Diff(want, preview.Migration.Verdicts); diff != "" || len(preview.Migration.Items) != total {
		t.Fatalf("%d forecasts, verdicts (-want +got):\n%s", len(preview.Migration.Items), diff)
	}
	if got := slices.Sorted(maps.Values(preview.Migration.Reasons)); !slices.Equal(got, []int{1, 100}) {
		t.Fatalf("the reasons are %v, want one for the 100 at triage and one for the cancelled case", preview.Migration.Reasons)
	}

	before := map[rondo.ID]*rondo.Instance{}
	for _, i := range o.instances(ofOne) {
		before[i.ID] = i
	}
	asked := o.seen.asked()
	job, err := o.Bulk(t.Context(), user(), ofOne, nil, migrate)
	if err != nil {
		t.Fatal(err)
	}
	job = o.finished(job.ID)
	if job.Applied != 899 || job.Refused != 101 || job.Failed != 0 {
		t.Fatalf("the job ended as %+v", job)
	}
	if again := o.seen.asked() - asked; again != 0 {
		t.Fatalf("migrating asked modules %d times", again)
	}
	results := o.results(job.ID)
	for _, told := range preview.Migration.Items {
		checkMigrated(t, o, told, before[told.InstanceID], results[told.InstanceID], two)
	}

	moved := o.instances(store.InstanceFilter{DefinitionID: two.ID})
	o.many(len(moved), func(n int) error { return o.answer(moved[n]) })
	next := map[string]int{}
	for _, i := range o.instances(store.InstanceFilter{DefinitionID: two.ID}) {
		next[string(i.Status)+" "+strings.Join(live(i), " ")]++
	}
	goesOn := map[string]int{"running image_check": 399, "running clinician_review": 300, "completed ": 200}
	if diff := cmp.Diff(goesOn, next); diff != "" {
		t.Fatalf("after the answers to what was asked before the migration (-want +got):\n%s", diff)
	}
}

// checkMigrated compares what a job did to one instance with what was told.
func checkMigrated(t *testing.T, o *office, told rondo.MigrationForecast, before *rondo.Instance, result rondo.JobResult, two rondo.Definition) {
	t.Helper()
	after, err := o.Instance(t.Context(), user(), told.InstanceID)
	if err != nil {
		t.Fatal(err)
	}
	if told.Verdict != rondo.MigrationMoves {
		if result.Outcome != rondo.JobRefused || result.Detail != told.Reason {
			t.Fatalf("%s was told %q and got %s: %q", told.CaseID, told.Reason, result.Outcome, result.Detail)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%s changed although it was refused:\n%s", told.CaseID, diff)
		}
		return
	}
	if result.Outcome != rondo.JobApplied || after.DefinitionID != two.ID || after.SnapshotHash != two.SnapshotHash {
		t.Fatalf("%s was told to move and got %s: %q", told.CaseID, result.Outcome, result.Detail)
	}
	for n, was := range before.Machine.Live {
		is := after.Machine.Live[n]
		if is.StepID != told.Steps[was.StepID] || is.CorrelationID != was.CorrelationID || is.RequestID != was.RequestID || is.Number != was.Number {
			t.Fatalf("%s: %s (%s) became %s (%s), told %v", told.CaseID, was.StepID, was.CorrelationID, is.StepID, is.CorrelationID, told.Steps)
		}
	}
}
