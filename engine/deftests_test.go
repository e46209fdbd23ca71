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
		{"a test that expects nothing", `"tests": [{"given": {}, "expect": {}}],`, `malformed_test /tests/0/expect expect something, e.g. "status": "completed"; a test that expects nothing shows nothing`},
		{"no tests", ``, "tests_missing /require_tests the definition requires tests and has none: add tests, or take require_tests out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := inMemory(t)
			draft, err := e.CreateDefinition(t.Context(), user(), rondo.NewDefinition{Source: []byte(fmt.Sprintf(body, test.tests))})
			if err != nil {
				t.Fatal(err)
			}
			report, err := e.ValidateDefinition(t.Context(), user(), draft.ID)
			if err != nil || report.Valid != (test.refused == "") {
				t.Errorf("validate says %+v, %v", report, err)
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
			if diff := cmp.Diff(refusal.Fields, report.Errors); diff != "" {
				t.Errorf("publish and validate disagree (-publish +validate):\n%s", diff)
			}
			if f := refusal.Fields[0]; f.Code+" "+f.Pointer+" "+f.Message != test.refused {
				t.Errorf("got %s %s %s", f.Code, f.Pointer, f.Message)
			}
		})
	}
}

func TestMalformedTestsAreNotPublishedEvenWhenNobodyRequiresThem(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	draft := draftOf(t, e, author, "", `{"tests":[{"name":"a","gven":{}}],"start_step":"gone",`+plainFlow[1:strings.Index(plainFlow, `"start_step"`)]+plainFlow[strings.Index(plainFlow, `"steps"`):])
	var got []string
	for _, f := range must(e.ValidateDefinition(ctx, author, draft.ID))(t).Errors {
		got = append(got, f.Pointer)
	}
	if !slices.Contains(got, "/start_step") || !slices.Contains(got, "/tests/0/gven") {
		t.Errorf("errors at %v, want the rules and the tests at once", got)
	}
	_, err := e.PublishDefinition(ctx, author, draft.ID, "")
	refused(t, rondo.CodeInvalidDef, err, "publish malformed tests")
}

// The kind has another contract by now, and then none at all.
func TestAPublishedDefinitionIsPlayedAndExportedAsItWasFrozen(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		const stop = `{"behaviour":"halt","defaults":{"reason_code":"too_heavy"}}`
		for _, code := range []string{"lost", "too_heavy", "unheard_of"} {
			must(e.CreateReasonCode(ctx, author, rondo.ReasonCode{Scope: "halt", Code: code, Label: code, Active: true}, false))(t)
		}
		must(e.PutStepKind(ctx, author, "weigh", []byte(`{"failure_halt_code":"unheard_of",`+weigh[1:])))(t)
		must(e.PutStepKind(ctx, author, "too_heavy", []byte(stop)))(t)
		d := publishOf(t, e, author, "", `{"name":"Parcel","start_step":"scale","steps":{
			"scale":{"kind":"weigh","timeout_seconds":5,"transitions":{"on_complete":"done","on_timeout":"stop"}},
			"stop":{"kind":"too_heavy"},
			"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}},
			"tests":[{"given":{"steps":{"scale":{"complete":{}}}},"expect":{"status":"completed"}}]}`)
		before := exported(t, e, d.ID)
		drawn := must(e.DrawDefinition(ctx, author, d.ID, "mermaid"))(t)
		if diff := cmp.Diff([]string{"too_heavy", "weigh"}, before.kinds); diff != "" {
			t.Errorf("kinds (-want +got):\n%s", diff)
		}
		must(e.PutStepKind(ctx, author, "weigh", []byte(`{"behaviour":"halt","defaults":{"reason_code":"lost"}}`)))(t)
		must(e.ArchiveStepKind(ctx, author, "too_heavy"))(t)
		for _, status := range []rondo.DefinitionStatus{rondo.DefinitionActive, rondo.DefinitionArchived} {
			if status == rondo.DefinitionArchived {
				must(e.ArchiveDefinition(ctx, author, d.ID, ""))(t)
			}
			if diff := cmp.Diff(before.all, exported(t, e, d.ID).all); diff != "" {
				t.Errorf("%s: the export changed (-before +after):\n%s", status, diff)
			}
			if report := must(e.TestDefinition(ctx, author, d.ID, nil))(t); report.Passed != 1 {
				t.Errorf("%s: %+v", status, report)
			}
			must(e.BacktestDefinition(ctx, author, d.ID, deftest.BacktestRequest{}))(t)
			if diff := cmp.Diff(drawn, must(e.DrawDefinition(ctx, author, d.ID, "mermaid"))(t)); diff != "" {
				t.Errorf("%s: the drawing changed (-before +after):\n%s", status, diff)
			}
		}
	})
}

type export struct {
	kinds []string
	all   rondo.Bundle
}

func exported(t *testing.T, e *engine.Engine, id rondo.ID) export {
	t.Helper()
	_, bundle, err := e.ExportDefinition(t.Context(), author, id)
	if err != nil {
		t.Fatal(err)
	}
	out := export{all: bundle}
	for _, kind := range bundle.StepKinds {
		out.kinds = append(out.kinds, kind.Name)
	}
	if codes := len(bundle.ReasonCodes); codes != 2 {
		t.Errorf("%d reason codes are exported: %+v", codes, bundle.ReasonCodes)
	}
	return out
}

func TestABacktestOfADefinitionThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	d, foreign := draftOf(t, e, author, "", plainFlow), draftOf(t, e, stranger, "", plainFlow)
	must(e.BacktestDefinition(ctx, author, d.ID, deftest.BacktestRequest{DefinitionID: d.ID}))(t)
	for name, id := range map[string]rondo.ID{"nobody's": {1, 2, 3}, "another's": foreign.ID} {
		_, err := e.BacktestDefinition(ctx, author, d.ID, deftest.BacktestRequest{DefinitionID: id})
		refused(t, rondo.CodeNotFound, err, name)
	}
}
