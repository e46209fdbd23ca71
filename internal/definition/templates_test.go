package definition

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func system() Environment { return Environment{ReasonCodes: SystemReasonCodes()} }

func TestShippedTemplatesAreTheSixByName(t *testing.T) {
	var names []string
	for _, draft := range Templates() {
		names = append(names, draft.Name)
	}
	want := []string{
		"ai_escalation_plus_sa_sample", "ai_only", "ai_plus_clinician", "ai_plus_clinician_plus_sa_qa_sample",
		"ai_with_confidence_escalation", "clinician_only",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestShippedTemplatesArePublishableWithoutWarnings(t *testing.T) {
	for _, draft := range Templates() {
		report := Validate(draft.Body, system())
		if diff := cmp.Diff(Report{Errors: nonNil(nil), Warnings: nonNil(nil)}, report); diff != "" {
			t.Errorf("%s (-want +got):\n%s", draft.Name, diff)
		}
	}
}

func TestEveryBuiltinKindFileCompiles(t *testing.T) {
	files, err := filepath.Glob("kinds/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name, raw := range embedded(kindFiles, "kinds") {
		if _, err := parseContract(raw, false); err != nil {
			t.Errorf("kinds/%s.json: %v", name, err)
		}
		want = append(want, name)
	}
	if len(files) != len(want) || len(BuiltinKinds()) != len(want) {
		t.Errorf("%d files, %d embedded, %d kinds: these must agree", len(files), len(want), len(BuiltinKinds()))
	}
}

func TestCompileOrdersTheGoodWayFirst(t *testing.T) {
	orders := map[string][]string{}
	for _, draft := range Templates() {
		document, hash, err := Freeze(draft.Body, system())
		if err != nil {
			t.Fatalf("%s: %v", draft.Name, err)
		}
		s, err := Compile(document)
		if err != nil {
			t.Fatalf("%s: %v", draft.Name, err)
		}
		if s.Hash != hash {
			t.Errorf("%s: compiled hash %s, frozen %s", draft.Name, s.Hash, hash)
		}
		orders[draft.Name] = s.Order
	}
	want := []string{
		"consent_gate", "image_check", "ai_review", "branch_confidence", "customer_review", "qa_branch", "sa_qa", "emit_done",
		"halt_ai", "halt_images", "halt_consent",
	}
	if diff := cmp.Diff(want, orders["ai_escalation_plus_sa_sample"]); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
