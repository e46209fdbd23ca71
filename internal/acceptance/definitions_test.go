package acceptance

import (
	"encoding/json"
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

// patch changes a draft that was read under an ETag; "" sends none.
func (n *tenant) patch(id, etag string, source json.RawMessage) reply {
	var headers []string
	if etag != "" {
		headers = []string{"If-Match", etag}
	}
	return n.rest().callWith(headers, http.MethodPatch, "/workflow-definitions/"+id, map[string]any{"definition": source, "reason": "our own bar"})
}

// clone copies a definition into a draft.
func (n *tenant) clone(id string, body any) (d definitionBody, etag string) {
	n.t.Helper()
	r := n.must(http.StatusCreated, n.rest().post("/workflow-definitions/"+id+"/clone", body), "clone")
	r.into(&d)
	return d, r.Header.Get("ETag")
}

func aTemplateIsClonedChangedAndPublished(n *tenant) {
	var templates listBody[definitionBody]
	n.must(http.StatusOK, n.rest().get("/workflow-templates"), "list templates").into(&templates)
	at := slices.IndexFunc(templates.Items, func(d definitionBody) bool { return d.Name == "ai_with_confidence_escalation" })
	template := templates.Items[at]

	first, etag := n.clone(template.ID, map[string]any{"name": "ours", "product_id": product})
	if first.Status != string(rondo.DefinitionDraft) || first.Name != "ours" || etag == "" {
		n.t.Fatalf("on %s: the clone is %+v with ETag %q", n.w.ground.where(), first, etag)
	}
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+first.ID+"/publish", map[string]any{"reason": "begin"}), "publish")
	n.start("under-0.7")

	second, etag := n.clone(first.ID, map[string]any{})
	changed := json.RawMessage(strings.Replace(string(second.Definition), "confidence < 0.7", "confidence < 0.65", 1))
	n.must(http.StatusPreconditionRequired, n.patch(second.ID, "", changed), "patch without If-Match")
	read := n.must(http.StatusOK, n.rest().get("/workflow-definitions/"+second.ID), "read the draft")
	if read.Header.Get("ETag") != etag {
		n.t.Errorf("on %s: the draft was made with ETag %s and reads with %s", n.w.ground.where(), etag, read.Header.Get("ETag"))
	}
	patched := n.must(http.StatusOK, n.patch(second.ID, etag, changed), "patch")
	n.must(http.StatusPreconditionFailed, n.patch(second.ID, etag, changed), "patch with an old ETag")
	n.must(http.StatusOK, n.rest().post("/workflow-definitions/"+second.ID+"/publish", map[string]any{"reason": "fewer escalations"}), "publish")
	n.must(http.StatusConflict, n.patch(second.ID, patched.Header.Get("ETag"), changed), "patch what is published")
	n.must(http.StatusConflict, n.rest().post("/workflow-definitions/"+second.ID+"/publish", map[string]any{}), "publish again")
	for id, want := range map[string]rondo.DefinitionStatus{first.ID: rondo.DefinitionArchived, second.ID: rondo.DefinitionActive} {
		if got := n.definition(id).Status; got != string(want) {
			n.t.Errorf("on %s: definition %s is %s, want %s", n.w.ground.where(), id, got, want)
		}
	}
	n.start("under-0.65")
	for _, caseID := range []string{"under-0.7", "under-0.65"} {
		n.passGates(caseID)
		n.complete(caseID, event.TypeAIReviewRequested, 1, reviewed(0.68))
	}
	n.complete("under-0.7", event.TypeHumanReviewRequested, 1, decided("x"))
	n.wantCompleted("under-0.7", longWay...)
	n.wantCompleted("under-0.65", "consent_gate", "image_check", "ai_review", "branch_confidence", "emit_done")

	var revisions listBody[struct {
		ChangedBy string `json:"changed_by"`
		Reason    string `json:"reason"`
	}]
	n.must(http.StatusOK, n.rest().get("/workflow-definitions/"+second.ID+"/revisions"), "list revisions").into(&revisions)
	if len(revisions.Items) != 3 || revisions.Items[1].Reason != "our own bar" || revisions.Items[2].ChangedBy != "ann" {
		n.t.Errorf("on %s: the revisions of clone, patch and publish are %+v", n.w.ground.where(), revisions.Items)
	}
	diff := n.must(http.StatusOK, n.rest().get("/workflow-definitions/"+second.ID+"/diff?against="+first.ID), "compare")
	if !strings.Contains(string(diff.Body), "0.65") {
		n.t.Errorf("on %s: the difference does not tell of 0.65: %s", n.w.ground.where(), diff.Body)
	}
	shipped := n.must(http.StatusOK, n.rest().get("/workflow-templates/"+template.ID), "read the template")
	if strings.Contains(string(shipped.Body), "0.65") {
		n.t.Errorf("on %s: changing a clone changed the template", n.w.ground.where())
	}
}

func anOrganisationHasReasonCodesOfItsOwn(n *tenant) {
	other := newTenant(n.t, n.w)
	for _, each := range []*tenant{n, other} {
		each.publish(onlyAI)
		each.start("coded")
		each.start("coded-too")
	}
	halt := func(note string) map[string]any { return map[string]any{"reason_code": "step_failed", "note": note} }
	var code struct {
		ID string `json:"id"`
	}
	mine := map[string]any{"scope": "halt", "code": "step_failed", "label": "Stopped by the clinic", "requires_note": true}
	n.must(http.StatusCreated, n.rest().post("/reason-codes", mine), "override a reason code").into(&code)
	n.must(http.StatusConflict, n.rest().post("/reason-codes", mine), "override it again")

	n.refuse(http.StatusBadRequest, "coded", "halt", halt(""))
	n.act("coded", "halt", halt("the laser is broken"))
	if i := n.wantHalted("coded", "step_failed", "ai"); i.HaltNote != "the laser is broken" {
		n.t.Errorf("on %s: the note is %q", n.w.ground.where(), i.HaltNote)
	}
	other.act("coded", "halt", halt(""))
	other.wantHalted("coded", "step_failed", "ai")

	source := strings.Replace(onlyAI, `"on_complete":"done"`, `"on_complete":"done","on_failure":"stop"`, 1)
	source = strings.TrimSuffix(source, "}}") + `,"stop":{"kind":"halt","params":{"reason_code":"step_failed"}}}}`
	needsNote := n.draft(source)
	refused := n.must(http.StatusUnprocessableEntity, n.rest().post("/workflow-definitions/"+needsNote.ID+"/publish", map[string]any{}), "publish a halt without its note").problem()
	if len(refused.Errors) != 1 || !strings.HasPrefix(refused.Errors[0].Pointer, "/steps/stop/params") {
		n.t.Errorf("on %s: publishing told %+v", n.w.ground.where(), refused.Errors)
	}
	other.publish(source)

	n.must(http.StatusOK, n.rest().call(http.MethodDelete, "/reason-codes/"+code.ID, nil), "make the code unusable")
	n.refuse(http.StatusBadRequest, "coded-too", "halt", halt("it is out of use"))
	other.act("coded-too", "halt", halt(""))
	n.must(http.StatusNotFound, other.rest().call(http.MethodPatch, "/reason-codes/"+code.ID, map[string]any{"active": true}), "change the code of another organisation")
}
