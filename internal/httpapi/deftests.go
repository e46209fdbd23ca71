package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/deftest"
)

// Trials plays definitions without touching any case.
type Trials interface {
	// TestDefinition runs the tests given, or those kept in the definition when
	// tests is nil.
	TestDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, tests []json.RawMessage) (deftest.Report, error)
	BacktestDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, in deftest.BacktestRequest) (deftest.BacktestReport, error)
}

// testBody documents the body of test.
type testBody struct {
	Tests testList `json:"tests,omitzero" doc:"Tests to run instead of those kept in the definition"`
}

type testList struct{}

// Schema is a list of objects: their members are described in the documentation
// of definition tests.
func (testList) Schema(huma.Registry) *huma.Schema {
	most := deftest.MaxTests
	return &huma.Schema{Type: huma.TypeArray, MaxItems: &most, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}
}

// backtestBody documents the body of backtest.
type backtestBody struct {
	Last         int    `json:"last,omitempty" minimum:"1" maximum:"10000" default:"1000" doc:"How many finished cases, newest first"`
	DefinitionID string `json:"definition_id,omitempty" format:"uuid" doc:"Cases of this definition only. Absent: of every definition of the same product"`
}

type testsOut struct{ Body testReport }

// testReport is what a run of tests showed.
type testReport struct {
	Passed   int              `json:"passed"`
	Failed   int              `json:"failed"`
	Results  []testResult     `json:"results" nullable:"false"`
	Coverage deftest.Coverage `json:"coverage"`
}

type testResult struct {
	Name       string   `json:"name"`
	Passed     bool     `json:"passed"`
	Failures   []string `json:"failures" nullable:"false" doc:"What was expected and what was seen"`
	Path       []string `json:"path" nullable:"false" doc:"The steps that ended, in order"`
	Status     *string  `json:"status" doc:"How the case stands at the end; null when none began"`
	HaltReason *string  `json:"halt_reason"`
	HaltStepID *string  `json:"halt_step_id"`
	Waiting    []string `json:"waiting" nullable:"false" doc:"Steps still in flight at the end"`
	Events     []string `json:"events" nullable:"false" doc:"Types of the events sent, in order"`
	Took       float64  `json:"took_seconds" doc:"On the clock of the test"`
}

type backtestOut struct{ Body backtestReport }

type backtestReport struct {
	Compared     int            `json:"compared"`
	Same         int            `json:"same"`
	Differs      int            `json:"differs"`
	Inconclusive int            `json:"inconclusive" doc:"Their record cannot be played again, so nothing is said about them"`
	Cases        []backtestCase `json:"cases" nullable:"false" doc:"Those that differ or are inconclusive, newest first"`
}

type backtestCase struct {
	InstanceID string   `json:"instance_id" format:"uuid"`
	CaseID     string   `json:"case_id"`
	Verdict    string   `json:"verdict" enum:"differs,inconclusive"`
	DivergesAt *string  `json:"diverges_at" doc:"The first step that goes another way"`
	Recorded   *string  `json:"recorded" doc:"What became of that step"`
	Draft      *string  `json:"draft" doc:"What would become of it"`
	Ends       *string  `json:"ends" doc:"How the case would end"`
	Path       []string `json:"path" nullable:"false" doc:"The steps it would take"`
	Detail     string   `json:"detail"`
}

func (a *API) registerTrials(r *registrar) {
	handle(r, "test-definition", testBody{}, a.testDefinition)
	handle(r, "backtest-definition", backtestBody{}, a.backtestDefinition)
}

func (a *API) testDefinition(ctx context.Context, c *call) (*testsOut, error) {
	var tests []json.RawMessage
	err := decode(c.body, member{name: "tests", raw: func(value []byte) *rondo.FieldError {
		if json.Unmarshal(value, &tests) != nil || len(tests) > deftest.MaxTests {
			return &rondo.FieldError{Code: "wrong_type", Pointer: "/tests", Message: fmt.Sprintf("tests must be a list of at most %d tests", deftest.MaxTests)}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	report, err := a.cfg.Trials.TestDefinition(ctx, c.principal, c.id, tests)
	if err != nil {
		return nil, err
	}
	return &testsOut{Body: viewTests(report)}, nil
}

func viewTests(report deftest.Report) testReport {
	out := testReport{Passed: report.Passed, Failed: report.Failed, Results: make([]testResult, 0, len(report.Results)), Coverage: report.Coverage}
	for _, r := range report.Results {
		out.Results = append(out.Results, testResult{
			Name: r.Name, Passed: r.Passed, Failures: present(r.Failures), Path: present(r.Seen.Path), Status: maybe(string(r.Seen.Status)),
			HaltReason: maybe(r.Seen.HaltReason), HaltStepID: maybe(r.Seen.HaltStepID), Waiting: present(r.Seen.Waiting),
			Events: present(r.Seen.Events), Took: r.Seen.Took.Seconds(),
		})
	}
	return out
}

// present makes an absent list an empty one.
func present(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (a *API) backtestDefinition(ctx context.Context, c *call) (*backtestOut, error) {
	var wanted deftest.BacktestRequest
	var of string
	err := decode(c.body,
		member{name: "last", raw: func(value []byte) *rondo.FieldError {
			n, err := strconv.Atoi(string(value))
			if err != nil || n < 1 || n > deftest.MaxBacktest {
				return &rondo.FieldError{Code: "out_of_range", Pointer: "/last", Message: fmt.Sprintf("use a whole number from 1 to %d", deftest.MaxBacktest)}
			}
			wanted.Last = n
			return nil
		}},
		member{name: "definition_id", identifier: true, text: &of},
	)
	if err != nil {
		return nil, err
	}
	if of != "" {
		if wanted.DefinitionID, err = rondo.ParseID(of); err != nil {
			return nil, badBody(rondo.FieldError{Code: "not_a_uuid", Pointer: "/definition_id", Message: "definition_id must be a UUID"})
		}
	}
	report, err := a.cfg.Trials.BacktestDefinition(ctx, c.principal, c.id, wanted)
	if err != nil {
		return nil, err
	}
	out := backtestReport{Compared: report.Compared, Same: report.Same, Differs: report.Differs, Inconclusive: report.Inconclusive, Cases: make([]backtestCase, 0, len(report.Cases))}
	for _, found := range report.Cases {
		out.Cases = append(out.Cases, backtestCase{
			InstanceID: found.InstanceID.String(), CaseID: found.CaseID, Verdict: string(found.Verdict), DivergesAt: maybe(found.DivergesAt),
			Recorded: maybe(found.Recorded), Draft: maybe(found.Draft), Ends: maybe(found.Ends), Path: present(found.Path), Detail: found.Detail,
		})
	}
	return &backtestOut{Body: out}, nil
}
