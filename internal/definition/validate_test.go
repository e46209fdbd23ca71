package definition

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// clinic is an organisation with codes and kinds of its own.
func clinic() Environment {
	env := system()
	env.ReasonCodes = append(env.ReasonCodes, rondo.ReasonCode{OrgID: "clinic", Scope: ScopeHalt, Code: "retired_code", Label: "Retired"})
	credit := `{
		"behaviour": "request",
		"params_schema": {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number", "exclusiveMinimum": 0}}},
		"events": {"requested": "ext.credit.requested", "completed": "ext.credit.completed", "failed": "ext.credit.failed"},
		"request": {"amount": {"param": "amount"}, "customer": {"pick": {"from": {"context": "case.metadata"}, "keys": ["name"]}}},
		"outcomes": [{"when": "output.score > 500", "outcome": "on_approved"}, {"outcome": "on_declined"}],
		"failure_halt_code": "credit_unknown"
	}`
	env.Kinds = []rondo.StepKind{
		{OrgID: "clinic", Name: "credit_check", Version: 2, Contract: json.RawMessage(credit), Status: "active"},
		{OrgID: "clinic", Name: "credit_check", Version: 1, Contract: json.RawMessage(`{"behaviour":"condition"}`), Status: "active"},
		{OrgID: "clinic", Name: "old_check", Version: 1, Contract: json.RawMessage(credit), Status: "archived"},
		{OrgID: "clinic", Name: "halt", Version: 9, Contract: json.RawMessage(credit), Status: "active"}, // cannot hide a built-in kind
	}
	for name, contract := range map[string]string{
		"approval": `{"behaviour": "manual", "defaults": {"title": "Approve", "outcomes": ["on_approved", "on_rejected"]},
			"params_schema": {"type": "object", "additionalProperties": false, "properties": {"title": {"type": "string"}}}}`,
		"side_by_side": `{"behaviour": "parallel", "params_schema": {"type": "object", "properties": {"branches": {"type": "object"}}}, "defaults": {"join": "any"}}`,
		"refused":      `{"behaviour": "halt", "defaults": {"reason_code": "step_failed"}}`,
		"cooling_off":  `{"behaviour": "delay", "defaults": {"seconds": 60}}`,
		"bare_manual":  `{"behaviour": "manual"}`,
		"sure_enough":  `{"behaviour": "condition", "defaults": {"expr": "case.metadata.score > 0.7"}, "params_schema": {"type": "object", "properties": {"expr": {"type": "string"}}}}`,
	} {
		env.Kinds = append(env.Kinds, rondo.StepKind{OrgID: "clinic", Name: name, Version: 1, Contract: json.RawMessage(contract), Status: "active"})
	}
	return env
}

func TestValidateReportsEverythingThatIsWrong(t *testing.T) {
	golden(t, "testdata/validate", "report", func(t *testing.T, a *txtar.Archive) string {
		body, err := plainJSON(part(a, "definition.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		report := Validate(body, clinic())
		if report.Valid() != (report.Err() == nil) {
			t.Error("Valid and Err disagree")
		}
		return lines("error", report.Errors) + lines("warning", report.Warnings)
	})
}

func lines(severity string, fields []rondo.FieldError) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s %s at %s\n    %s\n", severity, f.Code, f.Pointer, f.Message)
	}
	return b.String()
}

// golden runs one subtest per archive of a folder: got must be its last part,
// which -update rewrites.
func golden(t *testing.T, folder, last string, run func(*testing.T, *txtar.Archive) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, archive)
			if *update {
				for i := range archive.Files {
					if archive.Files[i].Name == last {
						archive.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(part(archive, last)), got); diff != "" {
				t.Errorf("%s (-want +got); if the change is meant, run go test -update:\n%s", file, diff)
			}
		})
	}
}

func part(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}
