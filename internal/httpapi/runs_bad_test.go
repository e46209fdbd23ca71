package httpapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func TestBadBodiesOfRunsAreRefusedBeforeTheService(t *testing.T) {
	t.Parallel()
	const update = runPath + "/update"
	taint := "/cache/" + cacheKey + "/taint"
	tests := map[string]struct {
		path, body string
		status     int
		pointers   []string
	}{
		"no body":                                 {"/runs", "", 400, nil},
		"a list":                                  {"/runs", `[]`, 400, []string{""}},
		"no name":                                 {"/runs", `{}`, 400, []string{"/workflowName"}},
		"name null":                               {"/runs", `{"workflowName":null}`, 400, []string{"/workflowName"}},
		"name empty":                              {"/runs", `{"workflowName":""}`, 400, []string{"/workflowName"}},
		"name a number":                           {"/runs", `{"workflowName":1}`, 400, []string{"/workflowName"}},
		"name too long":                           {"/runs", `{"workflowName":"` + strings.Repeat("x", 201) + `"}`, 400, []string{"/workflowName"}},
		"name with NUL":                           {"/runs", `{"workflowName":"a\u0000"}`, 400, []string{"/workflowName"}},
		"name in snake_case":                      {"/runs", `{"workflow_name":"w"}`, 400, []string{"", "/workflowName"}},
		"version a number":                        {"/runs", `{"workflowName":"w","workflowVersion":1}`, 400, []string{"/workflowVersion"}},
		"version empty":                           {"/runs", `{"workflowName":"w","workflowVersion":""}`, 400, []string{"/workflowVersion"}},
		"payload a list":                          {"/runs", `{"workflowName":"w","triggerPayload":[]}`, 400, []string{"/triggerPayload"}},
		"payload a text":                          {"/runs", `{"workflowName":"w","triggerPayload":"{}"}`, 400, []string{"/triggerPayload"}},
		"huge integer":                            {"/runs", `{"workflowName":"w","triggerPayload":{"n":9007199254740993}}`, 400, []string{"/triggerPayload/n"}},
		"duplicate member of a payload":           {"/runs", `{"workflowName":"w","triggerPayload":{"n":1,"n":2}}`, 400, []string{"/triggerPayload/n"}},
		"unknown mode":                            {"/runs", `{"workflowName":"w","mode":"fast"}`, 400, []string{"/mode"}},
		"mode a number":                           {"/runs", `{"workflowName":"w","mode":1}`, 400, []string{"/mode"}},
		"unknown policy":                          {"/runs", `{"workflowName":"w","failurePolicy":"fail-fast"}`, 400, []string{"/failurePolicy"}},
		"step modes a list":                       {"/runs", `{"workflowName":"w","stepModes":[]}`, 400, []string{"/stepModes"}},
		"unknown step mode":                       {"/runs", `{"workflowName":"w","stepModes":{"mix":"x"}}`, 400, []string{"/stepModes"}},
		"members of an update":                    {"/runs", `{"workflowName":"w","force":true,"changeRequest":{}}`, 400, []string{"", ""}},
		"members of a case":                       {"/runs", `{"workflowName":"w","tenantId":"beta","id":"x","case":{}}`, 400, []string{"", "", ""}},
		"too large":                               {"/runs", `{"workflowName":"w","triggerPayload":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, 413, nil},
		"update of nothing":                       {update, `{}`, 400, []string{"/changeRequest"}},
		"change a text":                           {update, `{"changeRequest":"audio.update"}`, 400, []string{"/changeRequest"}},
		"change without a type":                   {update, `{"changeRequest":{}}`, 400, []string{"/changeRequest/type"}},
		"change with a type of no text":           {update, `{"changeRequest":{"type":{}}}`, 400, []string{"/changeRequest/type"}},
		"change with a payload list":              {update, `{"changeRequest":{"type":"a","payload":[]}}`, 400, []string{"/changeRequest/payload"}},
		"change with an unknown member":           {update, `{"changeRequest":{"type":"a","steps":[]}}`, 400, []string{"/changeRequest"}},
		"changed steps a text":                    {update, `{"changedSteps":"mix"}`, 400, []string{"/changedSteps"}},
		"changed steps with a number":             {update, `{"changedSteps":["mix",1]}`, 400, []string{"/changedSteps"}},
		"changed steps with null":                 {update, `{"changedSteps":[null]}`, 400, []string{"/changedSteps"}},
		"force a text":                            {update, `{"changedSteps":["mix"],"force":"yes"}`, 400, []string{"/force"}},
		"definition by another word":              {update, `{"changedSteps":["mix"],"definition":"newest"}`, 400, []string{"/definition"}},
		"everything wrong at once":                {update, `{"force":1,"strict":1,"ifLatest":1,"mode":1,"x":1}`, 400, []string{"/force", "/strict", "/ifLatest", "/mode", ""}},
		"base in the body of an update":           {update, `{"changedSteps":["mix"],"baseRunId":"` + baseID.String() + `"}`, 400, []string{""}},
		"plan of neither":                         {"/runs/plan", `{}`, 400, []string{"/workflowName"}},
		"plan of both":                            {"/runs/plan", `{"workflowName":"w","baseRunId":"` + baseID.String() + `","changedSteps":["mix"]}`, 400, []string{""}},
		"plan of a base that is no UUID":          {"/runs/plan", `{"baseRunId":"last","changedSteps":["mix"]}`, 400, []string{"/baseRunId"}},
		"plan of the zero base":                   {"/runs/plan", `{"baseRunId":"00000000-0000-0000-0000-000000000000","changedSteps":["mix"]}`, 400, []string{"/baseRunId"}},
		"plan of an update of nothing":            {"/runs/plan", `{"baseRunId":"` + baseID.String() + `"}`, 400, []string{"/changeRequest"}},
		"plan with a word":                        {"/runs/plan", `{"workflowName":"w","definition":"latest"}`, 400, []string{"/definition"}},
		"plan with a list":                        {"/runs/plan", `{"baseRunId":"` + baseID.String() + `","definition":[]}`, 400, []string{"/definition"}},
		"plan of a definition without steps":      {"/runs/plan", `{"definition":{"name":"w","version":"1.0.0","steps":[]}}`, 422, []string{"/definition/steps"}},
		"plan of a definition that breaks a rule": {"/runs/plan", `{"baseRunId":"` + baseID.String() + `","definition":{"name":"w","version":"1.0.0","steps":[{"id":"a","skill":"x@1","depends_on":["b"]}]}}`, 422, []string{"/definition/steps/0/depends_on/0"}},
		"update with a definition":                {update, `{"definition":{"name":"w"}}`, 400, []string{"/definition"}},
		"taint of a result that is none":          {taint, `{"reason":"x","outputHash":1}`, 400, []string{"/outputHash"}},
		"cancel with a list":                      {runPath + "/cancel", `[]`, 400, nil},
		"cancel with a body":                      {runPath + "/cancel", `{"reason":"x"}`, 400, nil},
		"retry with a body":                       {runPath + "/retry", `{"x":1}`, 400, nil},
		"taint without a reason":                  {taint, `{"rebuild":true}`, 400, []string{"/reason"}},
		"taint with a blank reason":               {taint, `{"reason":" "}`, 400, []string{"/reason"}},
		"taint with a long reason":                {taint, `{"reason":"` + strings.Repeat("x", 4097) + `"}`, 400, []string{"/reason"}},
		"taint with rebuild as a text":            {taint, `{"reason":"x","rebuild":"true"}`, 400, []string{"/rebuild"}},
		"taint of a key in upper case":            {"/cache/" + strings.ToUpper(cacheKey) + "/taint", `{"reason":"x"}`, 404, nil},
		"taint of a short key":                    {"/cache/abab/taint", `{"reason":"x"}`, 404, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", test.path, test.body)
			p := problemIn(t, rec)
			if rec.Code != test.status || p.Hint == "" {
				t.Fatalf("status %d, want %d with a hint: %s", rec.Code, test.status, rec.Body)
			}
			var got []string
			for _, e := range p.Errors {
				got = append(got, e.Pointer)
				if e.Code == "" || e.Message == "" {
					t.Errorf("an error without code or message: %+v", e)
				}
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" {
				t.Errorf("pointers (-want +got):\n%s\n%s", diff, rec.Body)
			}
			if b.engine.principal.Tenant != "" {
				t.Error("the service was called")
			}
		})
	}
}

func TestAPayloadAtTheLimitIsTaken(t *testing.T) {
	t.Parallel()
	const frame = `{"workflowName":"w","triggerPayload":{"a":""}}`
	rec := newBench(t).do("POST", "/runs", strings.Replace(frame, `""`, `"`+strings.Repeat("x", 1<<20-len(frame))+`"`, 1))
	if rec.Code != 202 {
		t.Errorf("1 MiB exactly: %d %s", rec.Code, rec.Body)
	}
}

func TestBadQueriesOfRunsAreRefused(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{
		"unknown status":             "GET /runs?status=done",
		"unknown trigger":            "GET /runs?trigger=timer",
		"base no UUID":               "GET /runs?base=last",
		"workflow empty":             "GET /runs?workflow=",
		"limit zero":                 "GET /runs?limit=0",
		"cursor nonsense":            "GET /runs?cursor=abc",
		"cursor in snake_case":       "GET /runs?next_cursor=abc",
		"unknown status of a step":   "GET " + runPath + "/steps?status=done",
		"steps do not page":          "GET " + runPath + "/steps?limit=1",
		"step id in snake_case":      "GET " + runPath + "/artifacts?step_id=mix",
		"age without a unit":         "GET /cache?olderThan=3",
		"age by another name":        "GET /cache?older_than=3d",
		"key too short":              "GET /cache?key=abab",
		"cache cursor cut":           "GET /cache?cursor=SwAA",
		"forget nothing":             "DELETE /cache",
		"forget all, by another way": "DELETE /cache?all=yes",
		"forget all and some":        "DELETE /cache?all=true&step=mix",
		"all is not for lists":       "GET /cache?all=true",
		"version twice":              "GET /workflows/w?version=1&version=2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			method, path, _ := strings.Cut(target, " ")
			rec := b.do(method, path, "")
			if p := problemIn(t, rec); rec.Code != 400 || p.Code != "invalid" || len(p.Errors) == 0 {
				t.Errorf("got %d: %s", rec.Code, rec.Body)
			}
			if b.engine.principal.Tenant != "" && !strings.Contains(name, "cursor") {
				t.Error("the service was called")
			}
		})
	}
	if rec := newBench(t).do("DELETE", "/cache?all=true", ""); rec.Code != 200 {
		t.Errorf("forget all: %d %s", rec.Code, rec.Body)
	}
}

func TestErrorsOfRunsBecomeProblems(t *testing.T) {
	t.Parallel()
	fields := []rondo.FieldError{{Code: "schema", Pointer: "/brief", Message: "must be there"}}
	for name, test := range map[string]struct {
		err    error
		status int
		detail string
	}{
		"WORKFLOW_NOT_FOUND":     {&rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "no secret"}, 404, "there is no active workflow with this name and version"},
		"BASE_RUN_NOT_COMPLETED": {&rondo.Error{Code: rondo.CodeBaseRunNotCompleted, Message: "the base is failed", Hint: "retry it"}, 400, "the base is failed"},
		"STALE_BASE_RUN":         {&rondo.Error{Code: rondo.CodeStaleBaseRun, Message: "it was updated", Hint: "use the update"}, 409, "it was updated"},
		"INPUT_SELECTOR_ERROR":   {&rondo.Error{Code: rondo.CodeInputSelector, Message: "a merge of a text", Hint: "correct it"}, 422, "a merge of a text"},
		"invalid":                {&rondo.Error{Code: rondo.CodeInvalid, Message: "the payload does not match", Hint: "read the schema", Fields: fields}, 400, "the payload does not match"},
		"wrong_state":            {&rondo.Error{Code: rondo.CodeWrongState, Message: "it has ended", Hint: "start another"}, 409, "it has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.engine.err = rondo.Op("outer", test.err)
			rec := b.do("POST", "/runs", `{"workflowName":"w"}`)
			p := problemIn(t, rec)
			if rec.Code != test.status || p.Code != name || p.Detail != test.detail || p.Hint == "" || strings.Contains(rec.Body.String(), "secret") {
				t.Errorf("got %d %s", rec.Code, rec.Body)
			}
			checkDocumented(t, b.OpenAPI(), "POST", "/runs", rec)
			if name == "invalid" && p.Errors[0].Pointer != "/triggerPayload/brief" {
				t.Errorf("it points to %q", p.Errors[0].Pointer)
			}
		})
	}
	if fields[0].Pointer != "/brief" {
		t.Error("the service's error was changed")
	}
}

func TestUnknownWorkflowsAndStepsAre404(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for path, code := range map[string]string{
		"/workflows/unknown":                                  "WORKFLOW_NOT_FOUND",
		"/workflows/" + strings.Repeat("x", 201):              "WORKFLOW_NOT_FOUND",
		"/workflows/a%00":                                     "WORKFLOW_NOT_FOUND",
		runPath + "/steps/other":                              "not_found",
		runPath + "/steps/a%00":                               "not_found",
		runPath + "/artifacts/nonsense/content":               "not_found",
		"/artifacts/" + runID.String() + "/content":           "not_found",
		runPath + "/artifacts/" + runID.String() + "/content": "not_found",
	} {
		rec := b.do("GET", path, "")
		if p := problemIn(t, rec); rec.Code != 404 || p.Code != code {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

func TestWordsOfTheCallerAreNotEchoed(t *testing.T) {
	t.Parallel()
	const canary = "CANARY7f3a"
	b := realRuns(t)
	base := member(b.do("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"brief":"Sale"}}`).Body.Bytes(), "runId")
	b.do("GET", "/runs/"+base+"/stream", "") // to its end
	for _, ask := range [][2]string{
		{"/runs", `{"workflowName":"` + canary + `"}`},
		{"/runs", `{"workflowName":"jingle","workflowVersion":"` + canary + `"}`},
		{"/runs", `{"workflowName":"jingle","triggerPayload":{"brief":{"x":"` + canary + `"}}}`},
		{"/runs", `{"workflowName":"jingle","mode":"` + canary + `"}`},
		{"/runs", `{"workflowName":"jingle","stepModes":{"` + canary + `":"x"}}`},
		{"/runs", `{"workflowName":"jingle","` + canary + `":1}`},
		{"/runs/plan", `{"baseRunId":"` + canary + `"}`},
		{"/runs/plan", `{"baseRunId":"` + base + `","changeRequest":{"type":"` + canary + `"}}`},
		{"/runs/" + base + "/update", `{"changeRequest":{"type":"` + canary + `"}}`},
		{"/runs/" + base + "/update", `{"changeRequest":{"type":"audio.update","payload":{"mood":["` + canary + `"]}}}`},
		{"/runs/" + base + "/update", `{"changedSteps":["` + canary + `"]}`},
		{"/cache/" + cacheKey + "/taint", `{"reason":"` + canary + `"}`},
	} {
		rec := b.do("POST", ask[0], ask[1])
		if rec.Code < 400 || rec.Code >= 500 || strings.Contains(rec.Body.String(), canary) {
			t.Errorf("%s %s: %d %s", ask[0], ask[1], rec.Code, rec.Body)
		}
	}
	if strings.Contains(b.log.String(), canary) {
		t.Errorf("the log shows it:\n%s", b.log)
	}
}

func TestAnAnswerToAnUnknownRunSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.err = rondo.Op("deliver", rondo.NotFound("run"))
	rec := b.do("POST", "/events", `{}`)
	if p := problemIn(t, rec); rec.Code != 404 || p.Detail != "no such run" {
		t.Errorf("got %d %s", rec.Code, rec.Body)
	}
}
