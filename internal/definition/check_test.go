package definition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rondo-engine/rondo"
)

func TestCheckReportsShapeAndRulesTogether(t *testing.T) {
	golden(t, "testdata/check", "report", func(t *testing.T, a *txtar.Archive) string {
		source := part(a, "definition.yaml")
		report := Check(source, system())
		if _, err := ParseDraft(source); err != nil {
			refused, ok := errors.AsType[*rondo.Error](err)
			if !ok {
				t.Fatalf("ParseDraft gave %v, want a *rondo.Error", err)
			}
			for _, field := range refused.Fields {
				if !strings.Contains(lines("error", report.Errors), lines("error", []rondo.FieldError{field})) {
					t.Errorf("ParseDraft finds %v and Check does not", field)
				}
			}
		}
		return lines("error", report.Errors) + lines("warning", report.Warnings)
	})
}

func TestCheckRefusesWhatIsTooLarge(t *testing.T) {
	report := Check([]byte(strings.Repeat(" ", maxBytes+1)), system())
	want := Report{
		Errors:   []rondo.FieldError{{Code: "too_large", Message: "the definition is larger than 1 MiB; split the workflow"}},
		Warnings: []rondo.FieldError{},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestNearestFindsTheWordThatWasMeant(t *testing.T) {
	step := []string{"kind", "params", "timeout_seconds", "max_retries", "retry_backoff", "retry_jitter", "retry_on_timeout", "transitions"}
	for _, test := range []struct {
		word  string
		known []string
		want  string
	}{
		{"knd", step, "kind"},
		{"Kind", step, "kind"},
		{"retries", step, "max_retries"},
		{"timeout", step, "timeout_seconds"},
		{"step_timeout_seconds", step, "timeout_seconds"},
		{"retry", step, ""}, // several begin so
		{"colour", step, ""},
		{"kind", step, ""}, // it is known
		{"terminal", []string{"ai_review", "TERMINAL"}, "TERMINAL"},
		{"ai", []string{"ai_review", "done"}, "ai_review"},
		{"review", []string{"ai_review", "human_review"}, ""},
		{"", []string{"", "a"}, ""},
		{strings.Repeat("x", 200), []string{"x"}, ""},
	} {
		if got := nearest(test.word, test.known); got != test.want {
			t.Errorf("nearest to %q of %q is %q, want %q", test.word, test.known, got, test.want)
		}
	}
}
