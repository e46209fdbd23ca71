package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
)

func haltCode(code string, change ...func(*rondo.ReasonCode)) rondo.ReasonCode {
	c := rondo.ReasonCode{Scope: "halt", Code: code, Label: "Label", Active: true}
	for _, f := range change {
		f(&c)
	}
	return c
}

// codeNamed finds a code as an organisation sees it.
func codeNamed(t *testing.T, e *engine.Engine, p rondo.Principal, code string) rondo.ReasonCode {
	t.Helper()
	for _, c := range must(e.ReasonCodes(t.Context(), p, rondo.ReasonCodeFilter{Scope: "halt"}))(t) {
		if c.Code == code {
			return c
		}
	}
	t.Fatalf("there is no code %s", code)
	return rondo.ReasonCode{}
}

func TestAnOrgsReasonCodeShadowsTheSystems(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	system := codeNamed(t, e, author, "ai_review_failed")
	if system.OrgID != "" {
		t.Fatalf("not of the system: %+v", system)
	}
	_, err := e.ChangeReasonCode(ctx, author, system.ID, rondo.ReasonCodePatch{Label: new(string)})
	refused(t, rondo.CodeForbidden, err, "change a code of the system")
	own := must(e.CreateReasonCode(ctx, author, haltCode("ai_review_failed", func(c *rondo.ReasonCode) { c.Active = false }), false))(t)
	if diff := cmp.Diff(own, codeNamed(t, e, author, "ai_review_failed")); diff != "" || own.OrgID != "acme" {
		t.Errorf("what the org sees (-own +seen):\n%s", diff)
	}
	if got := codeNamed(t, e, stranger, "ai_review_failed"); got.ID != system.ID {
		t.Errorf("another org sees %+v", got)
	}
	_, err = e.CreateReasonCode(ctx, author, haltCode("ai_review_failed"), false)
	refused(t, rondo.CodeConflict, err, "add a code twice")

	// A code that the org made unusable cannot be published with.
	const source = `{"name":"T","start_step":"ai","steps":{
		"ai":{"kind":"run_ai_review","transitions":{"on_complete":"done","on_failure":"stop"}},
		"stop":{"kind":"halt","params":{"reason_code":"ai_review_failed"}},
		"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`
	draft := draftOf(t, e, author, "", source)
	_, err = e.PublishDefinition(ctx, author, draft.ID, "")
	refused(t, rondo.CodeInvalidDef, err, "publish with an unusable code")
	yes := true
	must(e.ChangeReasonCode(ctx, author, own.ID, rondo.ReasonCodePatch{Active: &yes}))(t)
	must(e.PublishDefinition(ctx, author, draft.ID, ""))(t)
	must(e.PublishDefinition(ctx, stranger, draftOf(t, e, stranger, "", source).ID, ""))(t)

	_, err = e.ChangeReasonCode(ctx, stranger, own.ID, rondo.ReasonCodePatch{Active: &yes})
	refused(t, rondo.CodeNotFound, err, "change another org's code")
}

func TestSystemReasonCodesAreForAdmins(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	_, err := e.CreateReasonCode(ctx, author, haltCode("everywhere"), true)
	refused(t, rondo.CodeForbidden, err, "add a code of the system")
	made := must(e.CreateReasonCode(ctx, admin, haltCode("everywhere"), true))(t)
	if made.OrgID != "" || codeNamed(t, e, stranger, "everywhere").ID != made.ID {
		t.Errorf("made %+v", made)
	}
	label := "Changed"
	must(e.ChangeReasonCode(ctx, admin, made.ID, rondo.ReasonCodePatch{Label: &label}))(t)
	if got := codeNamed(t, e, author, "everywhere"); got.Label != "Changed" || !got.Active {
		t.Errorf("changed to %+v", got)
	}
}

func TestReasonCodesAreJudgedWhole(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	tests := map[string]struct {
		code     rondo.ReasonCode
		pointers []string
	}{
		"everything":     {rondo.ReasonCode{Scope: "x", Code: "Not a word", ApplicableStepKinds: []string{"run_ai_review", "nothing"}}, []string{"/scope", "/code", "/label", "/applicable_step_kinds/1"}},
		"digit first":    {haltCode("1st"), []string{"/code"}},
		"empty code":     {haltCode(""), []string{"/code"}},
		"kind of others": {haltCode("x", func(c *rondo.ReasonCode) { c.ApplicableStepKinds = []string{"weigh"} }), []string{"/applicable_step_kinds/0"}},
	}
	must(e.PutStepKind(ctx, stranger, "weigh", []byte(weigh)))(t)
	for name, test := range tests {
		_, err := e.CreateReasonCode(ctx, author, test.code, false)
		refused(t, rondo.CodeInvalid, err, name)
		var got []string
		for _, f := range fields(err) {
			got = append(got, f.Pointer)
		}
		if diff := cmp.Diff(test.pointers, got); diff != "" {
			t.Errorf("%s: pointers (-want +got):\n%s", name, diff)
		}
	}
}

func TestAHaltObeysTheReasonCodesOfItsOrg(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	publishOf(t, e, author, "", plainFlow)
	must(e.PublishEvent(ctx, author, caseCreated("c1")))(t)
	instance := must(e.Instances(ctx, author, storeFilter("c1"), onePage()))(t)[0]
	must(e.CreateReasonCode(ctx, author, haltCode("consent_only", func(c *rondo.ReasonCode) { c.ApplicableStepKinds = []string{"gate_on_consent"} }), false))(t)
	must(e.CreateReasonCode(ctx, author, haltCode("ai_only", func(c *rondo.ReasonCode) {
		c.ApplicableStepKinds, c.RequiresNote = []string{"run_ai_review"}, true
	}), false))(t)
	must(e.CreateReasonCode(ctx, author, haltCode("manual_halt", func(c *rondo.ReasonCode) { c.Active = false }), false))(t)
	halt := func(code, note string) error {
		_, err := e.Act(ctx, author, instance.ID, rondo.Action{Name: rondo.ActionHalt, ReasonCode: code, Note: note})
		return err
	}
	for _, test := range []struct{ code, note, want string }{
		{"consent_only", "x", "reason_code_not_applicable"},
		{"manual_halt", "x", "unknown_reason_code"},
		{"module_error", "x", "unknown_reason_code"},
		{"ai_only", " ", "note_required"},
	} {
		err := halt(test.code, test.note)
		if found := fields(err); rondo.CodeOf(err) != rondo.CodeInvalid || len(found) != 1 || found[0].Code != test.want {
			t.Errorf("halt for %s: %v %+v, want %s", test.code, err, found, test.want)
		}
	}
	if err := halt("ai_only", "because"); err != nil {
		t.Errorf("halt for a code that fits: %v", err)
	}
}

const weigh = `{"behaviour":"request","outcomes":[{"outcome":"on_complete"}],
	"events":{"requested":"ext.weigh.requested","completed":"ext.weigh.completed","failed":"ext.weigh.failed"}}`

const weighFlow = `{"name":"Weigh","start_step":"weigh","steps":{
	"weigh":{"kind":"weigh","transitions":{"on_complete":"done","on_failure":"stop"}},
	"stop":{"kind":"halt","params":{"reason_code":"lost"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

func TestStepKindsHaveVersionsThatNeverChange(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		first := must(e.PutStepKind(ctx, author, "weigh", []byte(weigh)))(t)
		second := must(e.PutStepKind(ctx, author, "weigh", []byte(`{"description":"2",`+weigh[1:])))(t)
		if first.Version != 1 || second.Version != 2 || first.CreatedBy != "ann" {
			t.Errorf("versions %+v, %+v", first, second)
		}
		versions := must(e.StepKindVersions(ctx, author, "weigh"))(t)
		if len(versions) != 2 || versions[0].Version != 2 || string(versions[1].Contract) != string(first.Contract) {
			t.Errorf("versions %+v", versions)
		}
		_, err := e.StepKindVersions(ctx, stranger, "weigh")
		refused(t, rondo.CodeNotFound, err, "read another org's kind")
		_, err = e.ArchiveStepKind(ctx, stranger, "weigh")
		refused(t, rondo.CodeNotFound, err, "archive another org's kind")

		must(e.CreateReasonCode(ctx, author, haltCode("lost"), false))(t)
		published := publishOf(t, e, author, "", weighFlow)
		if got := must(e.ArchiveStepKind(ctx, author, "weigh"))(t); got.Status != "archived" {
			t.Errorf("archived: %+v", got)
		}
		if got := must(e.Definition(ctx, author, published.ID))(t); got.Status != rondo.DefinitionActive {
			t.Errorf("archiving a kind made its definition %s", got.Status)
		}
		_, err = e.PublishDefinition(ctx, author, draftOf(t, e, author, "", weighFlow).ID, "")
		refused(t, rondo.CodeInvalidDef, err, "publish with an archived kind")
		if third := must(e.PutStepKind(ctx, author, "weigh", []byte(weigh)))(t); third.Version != 3 {
			t.Errorf("after archiving comes version %d", third.Version)
		}
		must(e.StepKindVersions(ctx, author, "run_ai_review"))(t)
		_, err = e.ArchiveStepKind(ctx, admin, "run_ai_review")
		refused(t, rondo.CodeForbidden, err, "archive a built-in kind")
	})
}

func TestStepKindsAreJudgedWhole(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	tests := map[string]struct {
		name, contract string
		pointers       []string
	}{
		"built-in name":  {"halt", weigh, []string{"/name"}},
		"built-in too":   {"converse", weigh, []string{"/name"}},
		"built-in run":   {"start_run", weigh, []string{"/name"}},
		"no word":        {"Weigh it", weigh, []string{"/name"}},
		"name and shape": {"", `{"behaviour":"dream"}`, []string{"/name", "/contract/behaviour"}},
		"foreign events": {"weigh", `{"behaviour":"request","outcomes":[{"outcome":"on_complete"}],"events":{"requested":"ai_review.requested","completed":"ext.w.completed","failed":"ext.w.failed"}}`, []string{"/contract/events/requested"}},
		"unknown member": {"weigh", `{"behaviour":"request","colour":1}`, []string{"/contract/colour"}},
	}
	for name, test := range tests {
		_, err := e.PutStepKind(ctx, author, test.name, []byte(test.contract))
		refused(t, rondo.CodeInvalid, err, name)
		var got []string
		for _, f := range fields(err) {
			got = append(got, f.Pointer)
		}
		if diff := cmp.Diff(test.pointers, got); diff != "" {
			t.Errorf("%s: pointers (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnExportBringsWhatAnotherOrgLacks(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	must(e.PutStepKind(ctx, author, "weigh", []byte(weigh)))(t)
	must(e.PutStepKind(ctx, author, "unused", []byte(weigh)))(t)
	must(e.CreateReasonCode(ctx, author, haltCode("lost", func(c *rondo.ReasonCode) { c.ApplicableStepKinds = []string{"weigh"} }), false))(t)
	must(e.CreateReasonCode(ctx, author, haltCode("other"), false))(t)
	d := publishOf(t, e, author, "parcels", weighFlow)
	_, bundle, err := e.ExportDefinition(ctx, author, d.ID)
	if err != nil || len(bundle.StepKinds) != 1 || len(bundle.ReasonCodes) != 1 {
		t.Fatalf("exported %+v, %v", bundle, err)
	}

	made := must(e.ImportDefinition(ctx, stranger, bundle))(t)
	if !made.Created || made.Definition.OrgID != "beta" || made.Definition.ProductID != "parcels" || made.Definition.Status != rondo.DefinitionDraft {
		t.Errorf("imported %+v", made)
	}
	if diff := cmp.Diff([][]string{{"weigh"}, {"halt/lost"}}, [][]string{made.StepKinds, made.ReasonCodes}); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	must(e.PublishDefinition(ctx, stranger, made.Definition.ID, ""))(t)
	again := must(e.ImportDefinition(ctx, stranger, bundle))(t)
	if again.Created || again.Definition.ID != made.Definition.ID || again.StepKinds != nil || again.ReasonCodes != nil {
		t.Errorf("importing again made %+v", again)
	}

	bundle.StepKinds[0].Contract = json.RawMessage(`{"description":"mine",` + weigh[1:])
	_, err = e.ImportDefinition(ctx, stranger, bundle)
	refused(t, rondo.CodeConflict, err, "import a kind with another contract")
	bundle.StepKinds[0].Contract = json.RawMessage(`{}`)
	_, err = e.ImportDefinition(ctx, stranger, bundle)
	refused(t, rondo.CodeInvalid, err, "import a kind that is none")
	bundle.Source = []byte(`{}`)
	_, err = e.ImportDefinition(ctx, stranger, bundle)
	refused(t, rondo.CodeInvalid, err, "import no definition")
}
