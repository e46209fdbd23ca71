package acceptance

import (
	"net/http"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

func aRunningCaseKeepsItsDefinition(n *tenant) {
	first := n.useTemplate("ai_only")
	n.start("old")
	n.complete("old", event.TypeConsentCheckRequested, 1, granted())

	second := n.useTemplate("clinician_only")
	if second.Version <= first.Version {
		n.t.Errorf("on %s: the new version is %d, after %d", n.w.ground.where(), second.Version, first.Version)
	}
	if status := n.definition(first.ID).Status; status != string(rondo.DefinitionArchived) {
		n.t.Errorf("on %s: definition %s is %s after another was published", n.w.ground.where(), first.ID, status)
	}
	n.start("new")
	n.passGates("new")
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+second.ID+"/archive", map[string]any{"reason": "end"}), "archive")
	created := n.created("none", nil)
	n.wantOutcome(created, n.send(created), rondo.OutcomeUnmatched)

	n.complete("old", event.TypeImagesCheckRequested, 1, enoughImages())
	n.complete("old", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("old", "consent_gate", "image_check", "ai_review", "emit_done")
	n.complete("new", event.TypeHumanReviewRequested, 1, decided("x"))
	n.wantCompleted("new", "consent_gate", "image_check", "customer_review", "emit_done")
	for caseID, want := range map[string]string{"old": first.ID, "new": second.ID} {
		if i, _ := n.instance(caseID); i.DefinitionID != want {
			n.t.Errorf("on %s: case %s has definition %s, want %s", n.w.ground.where(), caseID, i.DefinitionID, want)
		}
	}
}

func publishingTellsAllErrors(n *tenant) {
	active := n.publish(onlyAI)
	bad := n.draft(`{"name":"bad","start_step":"nowhere","steps":{
		"ai":{"kind":"run_ai_review","transitions":{"on_complete":"check","on_failure":"lost"}},
		"check":{"kind":"condition","expr":"ai.confidence <","transitions":{"on_true":"done","on_false":"stop"}},
		"stop":{"kind":"halt","params":{"reason_code":"unheard_of"}},
		"person":{"kind":"request_human_review","params":{"tier":"king"},"transitions":{"on_complete":"done"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`)
	refused := n.must(http.StatusUnprocessableEntity, n.rest().post("/workflow-definitions/"+bad.ID+"/publish", map[string]any{}), "publish a bad definition").problem()
	for _, pointer := range []string{
		"/start_step", "/steps/ai/transitions/on_failure", "/steps/check/expr", "/steps/stop/params/reason_code", "/steps/person/params/tier",
	} {
		at := slices.IndexFunc(refused.Errors, func(e rondo.FieldError) bool { return strings.HasPrefix(e.Pointer, pointer) })
		if at < 0 || refused.Errors[at].Code == "" || refused.Errors[at].Message == "" {
			n.t.Errorf("on %s: publishing tells nothing useful of %s; it told %+v", n.w.ground.where(), pointer, refused.Errors)
		}
	}
	var report struct {
		Valid  bool               `json:"valid"`
		Errors []rondo.FieldError `json:"errors"`
	}
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+bad.ID+"/validate", nil), "validate").into(&report)
	if report.Valid || len(report.Errors) != len(refused.Errors) {
		n.t.Errorf("on %s: validate says valid=%v with %d errors, publish told %d", n.w.ground.where(), report.Valid, len(report.Errors), len(refused.Errors))
	}
	if status := n.definition(bad.ID).Status; status != string(rondo.DefinitionDraft) {
		n.t.Errorf("on %s: a definition that was refused is %s", n.w.ground.where(), status)
	}
	if status := n.definition(active.ID).Status; status != string(rondo.DefinitionActive) {
		n.t.Errorf("on %s: the definition in use is %s after another was refused", n.w.ground.where(), status)
	}
	n.start("unharmed")
	n.complete("unharmed", event.TypeAIReviewRequested, 1, reviewed(0.9))
	n.wantCompleted("unharmed", "ai", "done")
}

func (n *tenant) definition(id string) definitionBody {
	n.t.Helper()
	var d definitionBody
	n.must(http.StatusOK, n.rest().get("/workflow-definitions/"+id), "read definition").into(&d)
	return d
}
