package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const (
	bulkPath = "/workflow-instances/bulk"
	jobPath  = "/jobs/01000000-0000-7000-8000-00000000001e"
	jobJSON  = `{"id":"01000000-0000-7000-8000-00000000001e","org_id":"acme","action":"cancel","params":{"reason":"recall"},"filter":{"status":"running"},
		"status":"completed","total":9,"pending":0,"applied":5,"refused":3,"failed":1,"created_by":"ann",
		"created_at":"2026-03-01T12:00:00.123456Z","finished_at":"2026-03-01T12:00:01.123456Z"}`
	runningJobJSON = `{"id":"01000000-0000-7000-8000-00000000001e","org_id":"acme","action":"cancel","params":{"reason":"recall"},"filter":{"status":"running"},
		"status":"running","total":9,"pending":4,"applied":1,"refused":3,"failed":1,"created_by":"ann",
		"created_at":"2026-03-01T12:00:00.123456Z","finished_at":null}`
)

func TestJobsAreMadeAndRead(t *testing.T) {
	t.Parallel()
	forecast := rondo.BulkPreview{Count: 3, Sample: []*rondo.Instance{knownInstance()}, Migration: &rondo.MigrationPreview{
		Verdicts: map[rondo.MigrationVerdict]int{rondo.MigrationMoves: 1, rondo.MigrationNeedsMapping: 2},
		Reasons:  map[string]int{"the target has no step review": 2},
		Items: []rondo.MigrationForecast{
			{InstanceID: instanceID, CaseID: "case-1", Verdict: rondo.MigrationMoves, Steps: map[string]string{"a": "b"}, Renamed: map[string]string{"c": "d"}, Warnings: []string{"step e finds nothing"}},
			{InstanceID: id(5), CaseID: "case-2", Verdict: rondo.MigrationNeedsMapping, Reason: "the target has no step review"},
		},
	}}
	tests := map[string]struct {
		prepare            func(*fake)
		method, path, body string
		status             int
		want               string
	}{
		"a job":         {nil, "POST", bulkPath, `{"filter":{"status":"running"},"action":"cancel","params":{"reason":"recall"}}`, 202, `{"job_id":"01000000-0000-7000-8000-00000000001e","count":9}`},
		"not a dry run": {nil, "POST", bulkPath, `{"filter":{"status":"running"},"action":"cancel","params":{"reason":"recall"},"dry_run":false}`, 202, `{"job_id":"01000000-0000-7000-8000-00000000001e","count":9}`},
		"a dry run": {func(f *fake) {
			f.jobs.preview = rondo.BulkPreview{Count: 41, Sample: []*rondo.Instance{knownInstance()}}
		}, "POST", bulkPath, `{"filter":{"tag":"urgent"},"action":"resume","params":{"reason":"go"},"dry_run":true}`, 200, `{"count":41,"sample":[{` + instanceJSON + `}],"migration":null}`},
		"a dry run of nothing": {nil, "POST", bulkPath, `{"filter":{"tag":"urgent"},"action":"resume","params":{"reason":"go"},"dry_run":true}`, 200, `{"count":0,"sample":[],"migration":null}`},
		"a dry run of a migration": {func(f *fake) { f.jobs.preview = forecast }, "POST", bulkPath, `{"filter":{"status":"running"},"action":"migrate","dry_run":true}`, 200, `{"count":3,"sample":[{` + instanceJSON + `}],"migration":{
			"verdicts":{"moves":1,"needs_mapping":2,"cannot":0},"reasons":[{"reason":"the target has no step review","count":2}],"items":[
			{"instance_id":"01000000-0000-7000-8000-000000000001","case_id":"case-1","verdict":"moves","reason":null,"steps":{"a":"b"},"renamed":{"c":"d"},"warnings":["step e finds nothing"]},
			{"instance_id":"01000000-0000-7000-8000-000000000005","case_id":"case-2","verdict":"needs_mapping","reason":"the target has no step review","steps":{},"renamed":{},"warnings":[]}]}}`},
		"list jobs":     {nil, "GET", "/jobs", "", 200, `{"items":[` + jobJSON + `],"next_cursor":null}`},
		"read a job":    {nil, "GET", jobPath, "", 200, jobJSON},
		"a running job": {func(f *fake) { f.jobs.pending = true }, "GET", jobPath, "", 200, runningJobJSON},
		"results": {nil, "GET", jobPath + "/results", "", 200, `{"items":[
			{"instance_id":"01000000-0000-7000-8000-000000000001","outcome":"applied","detail":null,"at":"2026-03-01T12:00:00.123456Z"},
			{"instance_id":"01000000-0000-7000-8000-000000000005","outcome":"refused","detail":"the instance is completed","at":"2026-03-01T12:00:00.123456Z"}],"next_cursor":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b.engine)
			}
			rec := b.do(test.method, test.path, test.body)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if b.engine.jobs.bulked != (test.status == 202) {
				t.Errorf("a job was made: %v", b.engine.jobs.bulked)
			}
			checkDocumented(t, b.OpenAPI(), test.method, test.path, rec)
		})
	}
}

func TestBulkRequestsReachTheEngineWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const filter = `{"case_id":"c 1","product_id":"p","status":"halted","mode":"active","definition_id":"01000000-0000-7000-8000-000000000002","reason_code":"r",
		"step_id":"s","started_from":"2026-01-01T00:00:00Z","started_to":"2026-01-02T00:00:00+01:00","tag":"urgent","where":"ai_review.confidence<0.7"}`
	rec := b.do("POST", bulkPath, `{"action":"skip_step","params":{"step_id":"a","outcome":"on_complete","output":{"n":1},"reason":"late"},"filter":`+filter+`}`)
	if rec.Code != 202 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	wantFilter := store.InstanceFilter{
		OrgID: "acme", CaseID: "c 1", ProductID: "p", Status: rondo.StatusHalted, Mode: rondo.ModeActive, DefinitionID: definitionID, ReasonCode: "r", StepID: "s",
		StartedFrom: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), StartedTo: time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC), Tag: "urgent",
		Where: []store.AttributeTest{{Path: "ai_review.confidence", Op: "<", Value: rondo.AttributeValue{Text: "0.7", Number: 0.7, IsNumber: true}}},
	}
	if diff := cmp.Diff(wantFilter, b.engine.filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	wantAction := rondo.Action{Name: rondo.ActionSkipStep, StepID: "a", Outcome: "on_complete", Output: json.RawMessage(`{"n":1}`), Reason: "late"}
	if diff := cmp.Diff(wantAction, b.engine.action); diff != "" {
		t.Errorf("action (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(asAny(t, filter), asAny(t, string(b.engine.jobs.given))); diff != "" {
		t.Errorf("the filter as given (-want +got):\n%s", diff)
	}
	if rec := b.do("POST", bulkPath, `{"filter":{"older_than":"1h","org_id":"acme"},"action":"cancel","params":{"reason":"x"}}`); rec.Code != 202 || !b.engine.filter.StartedTo.Equal(start.Add(-time.Hour)) {
		t.Errorf("status %d, started before %v", rec.Code, b.engine.filter.StartedTo)
	}
	if rec := b.do("GET", jobPath+"/results?limit=1", ""); rec.Code != 200 || b.engine.page.Limit != 2 || !strings.Contains(rec.Body.String(), `"next_cursor":"`) {
		t.Errorf("status %d, page %+v: %s", rec.Code, b.engine.page, rec.Body)
	}
}

func TestEveryBulkActionTakesTheParamsOfTheSingleOne(t *testing.T) {
	t.Parallel()
	params := map[rondo.ActionName]string{
		rondo.ActionHalt:      `{"reason_code":"manual_halt","note":"n"}`,
		rondo.ActionResume:    `{"reason":"r"}`,
		rondo.ActionCancel:    `{"reason":"r"}`,
		rondo.ActionRetryStep: `{"reason":"r","step_id":"a","input_override":{"a":1}}`,
		rondo.ActionSetMode:   `{"mode":"client_driven","reason":"r"}`,
		rondo.ActionSupersede: `{"reason":"r","mode":"active"}`,
		rondo.ActionSkipStep:  `{"step_id":"a","outcome":"on_complete","reason":"r"}`,
		rondo.ActionMigrate:   `{"to_definition_id":"01000000-0000-7000-8000-000000000002","step_map":{"a":"b"},"reason":"r"}`,
	}
	for _, name := range rondo.BulkActions() {
		b := newBench(t)
		rec := b.do("POST", bulkPath, `{"filter":{"status":"running"},"action":"`+string(name)+`","params":`+params[name]+`}`)
		if rec.Code != 202 || b.engine.action.Name != name {
			t.Errorf("%s: status %d, action %+v: %s", name, rec.Code, b.engine.action, rec.Body)
		}
		b = newBench(t)
		rec = b.do("POST", bulkPath, `{"filter":{"status":"running"},"action":"`+string(name)+`","params":{"surprise":1}}`)
		if p := problemIn(t, rec); rec.Code != 400 || len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].Pointer, "/params") {
			t.Errorf("%s with an unknown parameter: %d %s", name, rec.Code, rec.Body)
		}
	}
}

func TestBadBulkRequestsAreRefusedBeforeTheEngine(t *testing.T) {
	t.Parallel()
	const good = `"action":"cancel","params":{"reason":"x"}`
	tests := map[string]struct {
		body     string
		pointers []string
	}{
		"nothing":                  {`{}`, []string{"/filter", "/action"}},
		"an empty filter":          {`{"filter":{},` + good + `}`, []string{"/filter"}},
		"a filter of org_id only":  {`{"filter":{"org_id":"acme"},` + good + `}`, []string{"/filter"}},
		"a filter that is a list":  {`{"filter":[],` + good + `}`, []string{"/filter"}},
		"an unknown filter":        {`{"filter":{"status":"running","colour":"red"},` + good + `}`, []string{"/filter"}},
		"a filter in another case": {`{"filter":{"Status":"running"},` + good + `}`, []string{"/filter/status"}},
		"a filter about pages":     {`{"filter":{"status":"running","limit":"5"},` + good + `}`, []string{"/filter"}},
		"a number for a filter":    {`{"filter":{"case_id":5},` + good + `}`, []string{"/filter/case_id"}},
		"an unknown status":        {`{"filter":{"status":"bored"},` + good + `}`, []string{"/filter/status"}},
		"a bad time":               {`{"filter":{"started_from":"yesterday"},` + good + `}`, []string{"/filter/started_from"}},
		"a bad id":                 {`{"filter":{"definition_id":"x"},` + good + `}`, []string{"/filter/definition_id"}},
		"a bad test":               {`{"filter":{"where":"confidence ~ 1"},` + good + `}`, []string{"/filter/where"}},
		"an unknown action":        {`{"filter":{"status":"running"},"action":"explode"}`, []string{"/action"}},
		"an action about one form": {`{"filter":{"status":"running"},"action":"complete_step","params":{"step_id":"a","outcome":"b"}}`, []string{"/action"}},
		"an action with a hyphen":  {`{"filter":{"status":"running"},"action":"retry-step","params":{"reason":"x"}}`, []string{"/action"}},
		"no params":                {`{"filter":{"status":"running"},"action":"cancel"}`, []string{"/params/reason"}},
		"params that are text":     {`{"filter":{"status":"running"},"action":"cancel","params":"x"}`, []string{"/params", "/params/reason"}},
		"params of another action": {`{"filter":{"status":"running"},"action":"cancel","params":{"reason_code":"x"}}`, []string{"/params", "/params/reason"}},
		"params of a wrong type":   {`{"filter":{"status":"running"},"action":"set_mode","params":{"mode":"fast","reason":""}}`, []string{"/params/mode", "/params/reason"}},
		"a dry run of its own":     {`{"filter":{"status":"running"},"action":"migrate","params":{"dry_run":true}}`, []string{"/params"}},
		"dry_run not a boolean":    {`{"filter":{"status":"running"},` + good + `,"dry_run":"yes"}`, []string{"/dry_run"}},
		"everything wrong at once": {`{"filter":{"status":"bored"},"action":"cancel","params":{"reason":5},"dry_run":1}`, []string{"/dry_run", "/filter/status", "/params/reason"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", bulkPath, test.body)
			p := problemIn(t, rec)
			if rec.Code != 400 || p.Code != "invalid" {
				t.Fatalf("status %d %s: %s", rec.Code, p.Code, rec.Body)
			}
			var got []string
			for _, e := range p.Errors {
				got = append(got, e.Pointer)
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" {
				t.Errorf("pointers (-want +got):\n%s\n%s", diff, rec.Body)
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the engine was called")
			}
			checkDocumented(t, b.OpenAPI(), "POST", bulkPath, rec)
		})
	}
}

func TestOnlyAnAdminActsOnManyOfAnotherOrganisation(t *testing.T) {
	t.Parallel()
	const body = `{"filter":{"org_id":"beta","status":"running"},"action":"cancel","params":{"reason":"x"}}`
	user := newBench(t, asUser(rondo.ScopeIntervene))
	if rec := user.do("POST", bulkPath, body); rec.Code != 403 || user.engine.principal.Tenant != "" {
		t.Errorf("a user got %d, the engine saw %+v", rec.Code, user.engine.principal)
	}
	admin := newBench(t, asUser(rondo.ScopeAdmin))
	if rec := admin.do("POST", bulkPath, body); rec.Code != 202 || admin.engine.principal.Tenant != "beta" || admin.engine.filter.OrgID != "beta" {
		t.Errorf("an admin got %d and acted for %q", rec.Code, admin.engine.principal.Tenant)
	}
}

func TestRefusalsOfTheEngineReachTheCallerOfJobs(t *testing.T) {
	t.Parallel()
	const body = `{"filter":{"status":"running"},"action":"migrate"}`
	for name, test := range map[string]struct {
		method, path, body string
		err                error
		status             int
		code               string
	}{
		"too many":        {"POST", bulkPath, body, rondo.Invalid("the filter names more than 100000 instances"), 400, "invalid"},
		"a draft":         {"POST", bulkPath, body, rondo.WrongState("the definition to migrate to is draft"), 409, "wrong_state"},
		"no database":     {"POST", bulkPath, body, &rondo.Error{Code: rondo.CodeUnavailable, Message: "down"}, 503, "unavailable"},
		"an unknown job":  {"GET", jobPath, "", rondo.NotFound("row"), 404, "not_found"},
		"unknown results": {"GET", jobPath + "/results", "", rondo.NotFound("row"), 404, "not_found"},
		"no jobs now":     {"GET", "/jobs", "", &rondo.Error{Code: rondo.CodeUnavailable, Message: "down"}, 503, "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.engine.err = test.err
			rec := b.do(test.method, test.path, test.body)
			if p := problemIn(t, rec); rec.Code != test.status || p.Code != test.code {
				t.Errorf("got %d %s: %s", rec.Code, p.Code, rec.Body)
			}
			checkDocumented(t, b.OpenAPI(), test.method, test.path, rec)
		})
	}
}
