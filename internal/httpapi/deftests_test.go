package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/deftest"
)

func TestTestsAndBacktestsAreAnswered(t *testing.T) {
	t.Parallel()
	const tested = `{"passed":1,"failed":0,"results":[{"name":"one","passed":true,"failures":[],"path":["a"],"status":"completed","halt_reason":null,
		"halt_step_id":null,"waiting":[],"events":["workflow.started"],"took_seconds":0}],
		"coverage":{"steps":1,"steps_taken":1,"transitions":0,"transitions_taken":0,"percent":0,"steps_missing":[],"transitions_missing":[]}}`
	const backtested = `{"compared":2,"same":1,"differs":1,"inconclusive":0,"cases":[{"instance_id":"01000000-0000-7000-8000-000000000001","case_id":"case-1",
		"verdict":"differs","diverges_at":"branch","recorded":"on_true","draft":"on_false","ends":"completed","path":["branch"],
		"detail":"at branch it went on_true, the draft goes on_false and ends completed"}]}`
	tests := map[string]struct {
		path, body, want string
		asked            trials
	}{
		"the definition's own tests": {"/test", "", tested, trials{}},
		"tests that are given":       {"/test", `{"tests":[{"name":"x"}]}`, tested, trials{tests: []json.RawMessage{json.RawMessage(`{"name":"x"}`)}}},
		"the usual number of cases":  {"/backtest", "", backtested, trials{}},
		"so many cases of one definition": {
			"/backtest", `{"last":7,"definition_id":"01000000-0000-7000-8000-000000000003"}`, backtested,
			trials{backtest: deftest.BacktestRequest{Last: 7, DefinitionID: templateID}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", definitionPath+test.path, test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), "POST", definitionPath+test.path, rec)
			if diff := cmp.Diff(test.asked, b.engine.trials, cmp.AllowUnexported(trials{})); diff != "" {
				t.Errorf("asked of the engine (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTestsAndBacktestsRefuseWhatTheyDoNotTake(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path, body string
		err        error
		status     int
		code       string
	}{
		"tests that are no list":     {definitionPath + "/test", `{"tests":{}}`, nil, 400, "invalid"},
		"a member that is not known": {definitionPath + "/test", `{"test":[]}`, nil, 400, "invalid"},
		"too many cases":             {definitionPath + "/backtest", `{"last":10001}`, nil, 400, "invalid"},
		"no cases":                   {definitionPath + "/backtest", `{"last":0}`, nil, 400, "invalid"},
		"a definition that is none":  {definitionPath + "/backtest", `{"definition_id":"x"}`, nil, 400, "invalid"},
		"an unknown definition":      {"/workflow-definitions/01000000-0000-7000-8000-0000000000ff/test", "", nil, 404, "not_found"},
		"a draft with errors":        {definitionPath + "/test", "", &rondo.Error{Code: rondo.CodeInvalidDef, Message: "it breaks rules"}, 422, "invalid_definition"},
		"another kind":               {definitionPath + "/backtest", "", rondo.WrongState("only definitions of kind case"), 409, "wrong_state"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.engine.err = test.err
			rec := b.do("POST", test.path, test.body)
			if p := problemIn(t, rec); rec.Code != test.status || p.Code != test.code {
				t.Errorf("got %d %s, want %d %s", rec.Code, p.Code, test.status, test.code)
			}
			checkDocumented(t, b.OpenAPI(), "POST", test.path, rec)
		})
	}
}
