package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/deftest"
	"github.com/rondo-engine/rondo/modules"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// A thousand real cases have gone through the confidence branch at 0.7. A draft
// that says 0.65 must list exactly those between the two.
func TestABacktestListsExactlyTheFinishedCasesThatFlip(t *testing.T) {
	const cases = 1000
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "rondo.db"), sqlite.Options{Embedded: true, Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(ended, cases)
	e, err := engine.New(engine.Config{Store: s, Observer: done})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.WithoutCancel(t.Context()))
	suite := modules.New(e.Bus(), modules.Config{Confidence: modules.Distribution{Mean: 0.68, Spread: 0.1}})
	if err := suite.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer suite.Stop(context.WithoutCancel(t.Context()))
	active := publishTemplate(t, e, "ai_with_confidence_escalation")
	for i := range cases {
		if _, err := e.PublishEvent(t.Context(), user(), caseCreated(fmt.Sprintf("case-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for range cases {
		select {
		case i := <-done:
			if i.Status != rondo.StatusCompleted {
				t.Fatalf("case %s ended %s (%s)", i.CaseID, i.Status, i.HaltReason)
			}
			var review struct {
				Confidence float64 `json:"confidence"`
			}
			if err := json.Unmarshal(i.Context["ai_review"], &review); err != nil {
				t.Fatal(err)
			}
			if review.Confidence >= 0.65 && review.Confidence < 0.7 {
				want = append(want, i.CaseID)
			}
		case <-time.After(time.Minute):
			t.Fatal("the cases do not end")
		}
	}
	draft, err := e.CreateDefinition(t.Context(), user(), rondo.NewDefinition{Source: []byte(strings.ReplaceAll(string(active.Body), "0.7", "0.65"))})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := e.Instances(t.Context(), user(), store.InstanceFilter{}, store.Page{})
	report, err := e.BacktestDefinition(t.Context(), user(), draft.ID, deftest.BacktestRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range report.Cases {
		if c.Verdict != deftest.Differs || c.DivergesAt != "branch_confidence" || c.Recorded != "on_true" || c.Draft != "on_false" {
			t.Errorf("%s: %+v", c.CaseID, c)
		}
		got = append(got, c.CaseID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases that flip (-want +got):\n%s", diff)
	}
	if report.Compared != cases || report.Differs != len(want) || report.Same != cases-len(want) || len(want) < 100 {
		t.Errorf("compared %d, same %d, differs %d; %d lie between", report.Compared, report.Same, report.Differs, len(want))
	}
	after, _ := e.Instances(t.Context(), user(), store.InstanceFilter{}, store.Page{})
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the backtest changed instances:\n%s", diff)
	}
}

func TestPublishCanRequireTests(t *testing.T) {
	const body = `{"name": "Tested", "start_step": "ai", "require_tests": true, %s "steps": {
		"ai": {"kind": "run_ai_review", "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`
	const good = `{"name": "good", "given": {"steps": {"ai": {"complete": {"confidence": 1, "diagnoses": []}}}}, "expect": {"status": "completed"}}`
	const bad = `{"name": "bad", "given": {"steps": {"ai": {"fail": {}}}}, "expect": {"status": "completed"}}`
	for _, test := range []struct{ name, tests, refused string }{
		{"tests that hold", `"tests": [` + good + `],`, ""},
		{"a test that fails", `"tests": [` + good + `, ` + bad + `],`, "test_failed /tests/1 bad: status: expected completed, saw halted (ai_review_failed at ai)"},
		{"no tests", ``, "tests_missing /require_tests the definition requires tests and has none: add tests, or take require_tests out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true})})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer e.Stop(context.WithoutCancel(t.Context()))
			draft, err := e.CreateDefinition(t.Context(), user(), rondo.NewDefinition{Source: []byte(fmt.Sprintf(body, test.tests))})
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.PublishDefinition(t.Context(), user(), draft.ID, "")
			if test.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			refusal, ok := errors.AsType[*rondo.Error](err)
			if !ok || refusal.Code != rondo.CodeInvalidDef || len(refusal.Fields) != 1 {
				t.Fatalf("got %v", err)
			}
			if f := refusal.Fields[0]; f.Code+" "+f.Pointer+" "+f.Message != test.refused {
				t.Errorf("got %s %s %s", f.Code, f.Pointer, f.Message)
			}
		})
	}
}
