package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

const (
	listedRunJSON = `"runId":"01000000-0000-7000-8000-000000000051","tenantId":"acme","workflowName":"campaign.build","workflowVersion":"1.2.0","definitionHash":"abc",
		"triggerType":"update","baseRunId":"01000000-0000-7000-8000-000000000053","options":{"mode":"use","changedSteps":["mix"]},"status":"failed",
		"error":{"code":"SKILL_ERROR","message":"no sound","failedStepId":"mix"},
		"stepsSummary":{"total":3,"pending":0,"running":0,"completed":1,"skipped":1,"failed":1,"cancelled":0},"correlationId":"corr","createdBy":"ann",
		"createdAt":"2026-03-01T12:00:00.123456Z","startedAt":"2026-03-01T12:00:01.123456Z","completedAt":"2026-03-01T12:00:03.623456Z","durationMs":2500,"seq":9`
	mixJSON = `"stepId":"mix","skill":"audio.mix@2","status":"completed","attempt":2,"inputHash":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
		"cacheHit":false,"reason":{"code":"input_changed","detail":"music"},"startedAt":"2026-03-01T12:00:00.123456Z","completedAt":"2026-03-01T12:00:01.623456Z",
		"durationMs":1500,"artifactIds":["01000000-0000-7000-8000-000000000052"],"cacheKey":"abababababababababababababababababababababababababababababababab","outputHash":"out"`
	pendingJSON  = `{"stepId":"bundle","skill":"bundle@1","status":"pending","attempt":0,"inputHash":null,"cacheHit":false,"reason":null,"startedAt":null,"durationMs":null,"artifactIds":[]}`
	workflowJSON = `"name":"campaign.build","version":"1.2.0","definitionHash":"abc","steps":[{"stepId":"mix","skill":"audio.mix@2","dependsOn":[],"class":"llm"}],
		"changeRequestMappings":{"audio.update":["mix"],"full_rebuild":["*"]}`
	planJSON = `{"workflowName":"campaign.build","workflowVersion":"1.2.0","triggerType":"initial",
		"steps":[{"stepId":"mix","skill":"audio.mix@2","decision":"would_run","reason":{"code":"first_run"},"estimatedMs":1500}],
		"summary":{"wouldRun":1,"reuse":0,"unknown":0,"fails":0,"neverReached":0,"estimatedMs":1500,"estimatedCost":0}}`
	entryJSON = `{"key":"abababababababababababababababababababababababababababababababab","workflow":"campaign.build","stepId":"mix","class":"llm",
		"inputHash":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","outputHash":"out","manifest":{"v":1,"components":[]},
		"artifactIds":["01000000-0000-7000-8000-000000000052"],"runId":"01000000-0000-7000-8000-000000000051","createdAt":"2026-03-01T12:00:00.123456Z",
		"lastUsedAt":"2026-03-01T12:00:00.123456Z","durationMs":1500,"cost":0.25}`
)

// acceptedJSON is the answer to whatever starts or ends the known run.
func acceptedJSON(status, told string) string {
	return `{"runId":"` + runID.String() + `","status":"` + status + `","message":"` + told + `; read it at ` + runPath + ` or follow it at ` + runPath + `/stream"}`
}

func TestRunsAreAnswered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare            func(*runner)
		method, path, body string
		status             int
		want               string
	}{
		"start":   {nil, "POST", "/runs", `{"workflowName":"campaign.build"}`, 202, acceptedJSON("queued", "the run was accepted")},
		"update":  {nil, "POST", runPath + "/update", `{"changeRequest":{"type":"audio.update"}}`, 202, acceptedJSON("failed", "the update run was accepted")},
		"retry":   {nil, "POST", runPath + "/retry", "", 202, acceptedJSON("failed", "the run goes on from what failed")},
		"cancel":  {func(r *runner) { r.run = &rondo.Run{ID: runID, Status: rondo.RunCancelled} }, "POST", runPath + "/cancel", "", 200, acceptedJSON("cancelled", "the run was cancelled")},
		"nothing": {func(r *runner) { r.run = &rondo.Run{ID: runID, Status: rondo.RunCancelled} }, "POST", runPath + "/cancel", "{}", 200, acceptedJSON("cancelled", "the run was cancelled")},
		"signal":  {func(r *runner) { r.run = &rondo.Run{ID: runID, Status: rondo.RunRunning} }, "POST", runPath + "/cancel", "", 200, acceptedJSON("running", "the run will be cancelled as soon as its owner hears of it")},
		"no runs": {nil, "GET", "/runs", "", 200, `{"items":[],"nextCursor":null}`},
		"list": {func(r *runner) {
			r.listed = []runs.RunView{{Run: *knownRun(), Summary: runs.StepsSummary{Total: 3, Completed: 1, Skipped: 1, Failed: 1}}}
		}, "GET", "/runs", "", 200, `{"items":[{` + listedRunJSON + `,"change":{"type":"audio.update"}}],"nextCursor":null}`},
		"run": {nil, "GET", runPath, "", 200, `{` + listedRunJSON + `,"triggerPayload":{"brief":{"title":"Sale","n":1.50}},"change":{"type":"audio.update","payload":{"music":"calm"}}}`},
		"run of a case": {func(r *runner) {
			r.run = &rondo.Run{ID: runID, TenantID: "acme", TriggerType: rondo.TriggerInitial, Status: rondo.RunQueued, CreatedAt: start, TriggerPayload: json.RawMessage(`{}`), Case: &rondo.CaseLink{CaseID: "case-1"}, ProductID: "derm"}
		}, "GET", runPath, "", 200, `{"runId":"` + runID.String() + `","tenantId":"acme","workflowName":"","workflowVersion":"","definitionHash":"","triggerType":"initial","triggerPayload":{},"options":{},
			"status":"queued","stepsSummary":{"total":3,"pending":0,"running":0,"completed":1,"skipped":1,"failed":1,"cancelled":0},"createdAt":"2026-03-01T12:00:00.123456Z",
			"startedAt":null,"completedAt":null,"durationMs":null,"caseId":"case-1","productId":"derm","seq":0}`},
		"steps": {nil, "GET", runPath + "/steps", "", 200, `{"runId":"` + runID.String() + `","steps":[{` + mixJSON + `},` + pendingJSON + `]}`},
		"step": {nil, "GET", runPath + "/steps/mix", "", 200, `{"runId":"` + runID.String() + `","step":{` + mixJSON + `,"data":{"uri":"x","n":1.50},"debug":{"calls":1}},"attempts":[{` +
			strings.NewReplacer(`"completed"`, `"failed"`, `"attempt":2`, `"attempt":1`).Replace(mixJSON) +
			`,"error":{"code":"SKILL_TIMEOUT","message":"too slow","retryable":true},"retryAt":"2026-03-01T12:00:03.123456Z","debug":{"calls":1}},{` + mixJSON + `,"data":{"uri":"x","n":1.50},"debug":{"calls":1}}]}`},
		"artifacts": {nil, "GET", runPath + "/artifacts?stepId=mix", "", 200, `{"items":[{"id":"01000000-0000-7000-8000-000000000052","runId":"01000000-0000-7000-8000-000000000051","stepId":"mix",
			"skill":"audio.mix@2","type":"text/html","uri":"file:blob","contentHash":"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","size":25,"filename":"page.html",
			"metadata":{"bpm":120},"createdAt":"2026-03-01T12:00:00.123456Z"}],"nextCursor":null}`},
		"explain": {nil, "GET", runPath + "/explain", "", 200, `{"runId":"01000000-0000-7000-8000-000000000051","steps":[{"stepId":"mix","status":"completed","reason":{"code":"input_changed","detail":"music"},
			"text":"the input changed","changed":[{"component":"input.music","before":"loud","after":"calm"}]}]}`},
		"analysis":    {nil, "GET", runPath + "/cache-analysis", "", 200, `{"totalSteps":3,"cacheHits":2,"cacheMisses":1,"steps":[],"timeSavedMs":100,"costSaved":0.5}`},
		"plan":        {nil, "POST", "/runs/plan", `{"workflowName":"campaign.build"}`, 200, planJSON},
		"plan update": {nil, "POST", "/runs/plan", `{"baseRunId":"` + baseID.String() + `","definition":"latest"}`, 200, planJSON},
		"workflows":   {nil, "GET", "/workflows", "", 200, `{"items":[{` + workflowJSON + `},{` + strings.Replace(workflowJSON, "1.2.0", "1.1.0", 1) + `}],"nextCursor":null}`},
		"workflow":    {nil, "GET", "/workflows/campaign.build?version=1.2.0", "", 200, `{` + workflowJSON + `,"inputSchema":{"type":"object"}}`},
		"cache":       {func(r *runner) { r.entries = []rondo.CacheEntry{knownEntry(0)} }, "GET", "/cache", "", 200, `{"items":[` + entryJSON + `],"nextCursor":null}`},
		"a bad entry": {func(r *runner) {
			e := knownEntry(0)
			e.ArtifactIDs, e.Tainted, e.ExpiresAt = nil, "noise", start
			r.entries = []rondo.CacheEntry{e}
		}, "GET", "/cache", "", 200, `{"items":[` + strings.NewReplacer(`["01000000-0000-7000-8000-000000000052"]`, `[]`, `"cost":0.25`, `"cost":0.25,"tainted":"noise","expiresAt":"2026-03-01T12:00:00.123456Z"`).Replace(entryJSON) + `],"nextCursor":null}`},
		"stats":      {nil, "GET", "/cache/stats", "", 200, `{"entries":2,"bytes":300}`},
		"invalidate": {nil, "DELETE", "/cache?workflow=campaign.build", "", 200, `{"removed":2}`},
		"taint": {nil, "POST", "/cache/" + cacheKey + "/taint", `{"reason":"noise"}`, 200, `{"key":"` + cacheKey + `","workflow":"campaign.build","stepId":"mix","outputHash":"out",
			"runs":[{"runId":"01000000-0000-7000-8000-000000000051","status":"completed","stepIds":["mix"]}],"artifacts":[]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if test.prepare != nil {
				test.prepare(b.runs)
			}
			rec := b.do(test.method, test.path, test.body)
			if rec.Code != test.status {
				t.Fatalf("status %d, want %d: %s", rec.Code, test.status, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if strings.Contains(test.want, "1.50") && !strings.Contains(rec.Body.String(), "1.50") {
				t.Error("a number of a payload was written anew")
			}
			documented := strings.NewReplacer("/steps/mix", "/steps/{stepId}", "/workflows/campaign.build", "/workflows/{name}", cacheKey, "{key}").Replace(test.path)
			checkDocumented(t, b.OpenAPI(), test.method, documented, rec)
			if at := rec.Header().Get("Location"); strings.Contains(test.want, "; read it at ") && at != runPath {
				t.Errorf("Location %q", at)
			}
		})
	}
}

func TestWhatIsAskedOfRunsReachesTheService(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("POST", "/runs", `{"workflowName":"w","workflowVersion":"1.0.0","triggerPayload":{"n":1.50},"mode":"verify","stepModes":{"mix":"bypass"},"failurePolicy":"fail_fast"}`)
	want := runs.Request{
		WorkflowName: "w", WorkflowVersion: "1.0.0", TriggerPayload: json.RawMessage(`{"n":1.50}`),
		Options: rondo.RunOptions{Mode: rondo.CacheVerify, StepModes: map[string]rondo.CacheMode{"mix": rondo.CacheBypass}, FailurePolicy: rondo.FailureFast},
	}
	if diff := cmp.Diff(want, b.runs.request); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	b.runs.request = runs.Request{}
	b.do("POST", "/runs/plan", `{"workflowName":"w","workflowVersion":"1.0.0","triggerPayload":{"n":1.50},"mode":"verify","stepModes":{"mix":"bypass"},"failurePolicy":"fail_fast"}`)
	if diff := cmp.Diff(want, b.runs.request); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	const members = `"changeRequest":{"type":"audio.update","payload":{"n":1.50}},"changedSteps":["mix"],"force":true,"definition":"latest","workflowVersion":"1.1.0","ifLatest":true,"strict":true,"mode":"refresh","stepModes":{"mix":"only"},"failurePolicy":"continue"`
	update := runs.UpdateRequest{
		BaseRunID: runID, Change: rondo.ChangeRequest{Type: "audio.update", Payload: json.RawMessage(`{"n":1.50}`)}, Definition: "latest", WorkflowVersion: "1.1.0", IfLatest: true,
		Options: rondo.RunOptions{
			Mode: rondo.CacheRefresh, StepModes: map[string]rondo.CacheMode{"mix": rondo.CacheOnly}, FailurePolicy: rondo.FailureContinue,
			ChangedSteps: []string{"mix"}, Force: true, Strict: true,
		},
	}
	b.do("POST", runPath+"/update", `{`+members+`}`)
	if diff := cmp.Diff(update, b.runs.update); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
	b.runs.update = runs.UpdateRequest{}
	b.do("POST", "/runs/plan", `{"baseRunId":"`+runID.String()+`",`+members+`}`)
	if diff := cmp.Diff(update, b.runs.update); diff != "" {
		t.Errorf("plan of an update (-want +got):\n%s", diff)
	}
	b.runs.request, b.runs.update = runs.Request{}, runs.UpdateRequest{}
	b.do("POST", "/runs/plan", `{"definition":`+jingle+`}`)
	if diff := cmp.Diff(runs.Request{Document: json.RawMessage(jingle)}, b.runs.request); diff != "" {
		t.Errorf("plan of a definition (-want +got):\n%s", diff)
	}
	b.do("POST", "/runs/plan", `{"baseRunId":"`+runID.String()+`","definition":`+jingle+`}`)
	if diff := cmp.Diff(runs.UpdateRequest{BaseRunID: runID, Document: json.RawMessage(jingle)}, b.runs.update); diff != "" {
		t.Errorf("plan of an update with a definition (-want +got):\n%s", diff)
	}
	b.do("GET", "/runs?workflow=w&status=failed&trigger=update&base="+baseID.String()+"&limit=7", "")
	if diff := cmp.Diff(store.RunFilter{TenantID: "acme", Workflow: "w", Status: rondo.RunFailed, Trigger: rondo.TriggerUpdate, Base: baseID}, b.runs.filter); diff != "" || b.runs.page.Limit != 8 {
		t.Errorf("list, limit %d (-want +got):\n%s", b.runs.page.Limit, diff)
	}
	b.do("GET", runPath+"/steps?status=skipped", "")
	b.do("GET", runPath+"/artifacts?stepId=mix", "")
	b.do("GET", "/workflows/w?version=2.0.0", "")
	if b.runs.status != rondo.RunStepSkipped || b.runs.step != "mix" || b.runs.named != [2]string{"w", "2.0.0"} {
		t.Errorf("asked for steps %q, artifacts of %q, workflow %v", b.runs.status, b.runs.step, b.runs.named)
	}
	filter := store.CacheFilter{TenantID: "acme", Workflow: "w", Step: "mix", Key: cacheKey, Before: start.Add(-48 * time.Hour)}
	for _, ask := range []struct{ method, path string }{{"GET", "/cache"}, {"GET", "/cache/stats"}, {"DELETE", "/cache"}} {
		b.runs.cache = store.CacheFilter{}
		b.do(ask.method, ask.path+"?workflow=w&step=mix&olderThan=2d&key="+cacheKey, "")
		if diff := cmp.Diff(filter, b.runs.cache); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", ask.method, ask.path, diff)
		}
	}
	b.do("POST", "/cache/"+cacheKey+"/taint", `{"reason":"noise","rebuild":true,"outputHash":"out"}`)
	if diff := cmp.Diff(runs.TaintRequest{Key: cacheKey, Why: "noise", Rebuild: true, OutputHash: "out"}, b.runs.taint); diff != "" {
		t.Errorf("taint (-want +got):\n%s", diff)
	}
}

func TestPagesOfRunsAndOfTheCacheFollowEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for n := range byte(3) {
		b.runs.listed = append(b.runs.listed, runs.RunView{Run: rondo.Run{ID: id(100 - n)}})
		b.runs.entries = append(b.runs.entries, knownEntry(int(n)))
	}
	var got struct {
		Items      []json.RawMessage
		NextCursor string
	}
	read := func(path string) {
		t.Helper()
		rec := b.do("GET", path, "")
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 || len(got.Items) != 2 || got.NextCursor == "" {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	read("/runs?limit=2")
	runsCursor := got.NextCursor
	read("/runs?limit=2&cursor=" + runsCursor)
	if want := (store.Page{After: id(99), Limit: 3}); b.runs.page != want {
		t.Errorf("the next page of runs asks for %+v, want %+v", b.runs.page, want)
	}
	read("/cache?limit=2")
	cacheCursor := got.NextCursor
	read("/cache?limit=2&cursor=" + cacheCursor)
	if want := (store.CachePage{Before: start.Add(-time.Second), BeforeKey: cacheKey, Limit: 3}); b.runs.cachePage != want {
		t.Errorf("the next page of the cache asks for %+v, want %+v", b.runs.cachePage, want)
	}
	for _, path := range []string{"/runs?cursor=" + cacheCursor, "/cache?cursor=" + runsCursor, "/workflows?cursor=" + runsCursor, runPath + "/artifacts?cursor=" + runsCursor} {
		rec := b.do("GET", path, "")
		if p := problemIn(t, rec); rec.Code != 400 || !strings.Contains(p.Errors[0].Message, "nextCursor") {
			t.Errorf("%s: another list took the cursor, or the answer does not help: %d %s", path, rec.Code, rec.Body)
		}
	}
}

func TestPostsOfRunsAreRepeatable(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/runs": `{"workflowName":"w"}`, "/runs/plan": `{"workflowName":"w"}`, runPath + "/update": `{"changedSteps":["mix"]}`, runPath + "/cancel": "", runPath + "/retry": "",
		"/cache/" + cacheKey + "/taint": `{"reason":"noise"}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *httpapi.Config) { c.Answers = memory.Open(memory.Options{}) })
			first := b.do("POST", path, body, "Idempotency-Key", "k")
			b.engine.err = rondo.WrongState("it was called again")
			again := b.do("POST", path, body, "Idempotency-Key", "k")
			if first.Code >= 300 || again.Code != first.Code || again.Body.String() != first.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" || again.Header().Get("Location") != first.Header().Get("Location") {
				t.Errorf("first %d %s, again %d %s %v", first.Code, first.Body, again.Code, again.Body, again.Header())
			}
			if body != "" {
				if other := b.do("POST", path, strings.Replace(body, "{", `{ "unknown": 1,`, 1), "Idempotency-Key", "k"); other.Code != http.StatusUnprocessableEntity {
					t.Errorf("another body under the key: %d", other.Code)
				}
			}
		})
	}
}

func TestAServerWithoutRunsSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *httpapi.Config) { c.Runs = nil })
	for _, route := range b.Routes() {
		if route.Tag != "runs" {
			continue
		}
		r := requestFor(route)
		rec := b.do(r.Method, r.URL.RequestURI(), bodyFor(route))
		if p := problemIn(t, rec); rec.Code != 503 || p.Hint == "" {
			t.Errorf("%s: %d %s", route.ID, rec.Code, rec.Body)
		}
	}
}
