package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/deftest"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

var _ httpapi.Trials = (*fake)(nil)

// trials is what the fake was asked to play.
type trials struct {
	tests    []json.RawMessage
	backtest deftest.BacktestRequest
}

func (f *fake) TestDefinition(_ context.Context, p rondo.Principal, which rondo.ID, tests []json.RawMessage) (deftest.Report, error) {
	if err := f.begin(p); err != nil {
		return deftest.Report{}, err
	}
	if _, err := f.Definition(context.Background(), p, which); err != nil {
		return deftest.Report{}, err
	}
	f.trials.tests = tests
	return deftest.Report{
		Passed: 1,
		Results: []deftest.Result{{
			Name: "one", Passed: true, Seen: deftest.Seen{Path: []string{"a"}, Status: rondo.StatusCompleted, Events: []string{"workflow.started"}},
		}},
		Coverage: deftest.Coverage{Steps: 1, StepsTaken: 1, StepsMissing: []string{}, TransitionsMissed: []string{}},
	}, nil
}

func (f *fake) BacktestDefinition(_ context.Context, p rondo.Principal, which rondo.ID, in deftest.BacktestRequest) (deftest.BacktestReport, error) {
	if err := f.begin(p); err != nil {
		return deftest.BacktestReport{}, err
	}
	if _, err := f.Definition(context.Background(), p, which); err != nil {
		return deftest.BacktestReport{}, err
	}
	f.trials.backtest = in
	return deftest.BacktestReport{
		Compared: 2, Same: 1, Differs: 1,
		Cases: []deftest.Comparison{{
			InstanceID: instanceID, CaseID: "case-1", Verdict: deftest.Differs, DivergesAt: "branch", Recorded: "on_true", Draft: "on_false",
			Path: []string{"branch"}, Ends: "completed", Detail: "at branch it went on_true, the draft goes on_false and ends completed",
		}},
	}, nil
}
