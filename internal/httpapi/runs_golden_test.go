package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store/memory"
)

// jingle is a workflow of three steps in a row, so that what happens has one
// order.
const jingle = `{"name":"jingle","version":"1.0.0",
	"input_schema":{"type":"object","required":["brief"],"properties":{"brief":{"type":"string"},"mood":{"type":"string"}}},
	"steps":[
		{"id":"plan","skill":"words@1","input":{"brief":{"trigger":"brief"}}},
		{"id":"track","skill":"sound@1","depends_on":["plan"],"input":{"plan":{"step":"plan","path":"data"},"mood":{"trigger":"mood"}}},
		{"id":"bundle","skill":"words@1","depends_on":["track"],"input":{"track":{"step":"track","path":"artifacts[0].hash"}}}],
	"changes":{"audio.update":["track"],"full_rebuild":"*"}}`

// oneWorkflow finds jingle and nothing else.
type oneWorkflow struct{ *plan.Workflow }

func (w oneWorkflow) Named(_ context.Context, _, name, version string) (*plan.Workflow, error) {
	if name != w.Name || version != "" && version != w.Version {
		return nil, &rondo.Error{Code: rondo.CodeWorkflowNotFound, Message: "no workflow " + name}
	}
	return w.Workflow, nil
}

func (w oneWorkflow) Frozen(context.Context, string, string) (*plan.Workflow, error) {
	return w.Workflow, nil
}

func (w oneWorkflow) List(context.Context, string) ([]*plan.Workflow, error) {
	return []*plan.Workflow{w.Workflow}, nil
}

// goSkills are the skills of jingle.
type goSkills struct{}

func (goSkills) Skill(name string) (plan.SkillSpec, bool) {
	return plan.SkillSpec{Type: "go"}, name == "words@1" || name == "sound@1"
}
func (goSkills) Prompt(string, string) (json.RawMessage, bool) { return nil, false }
func (goSkills) Config(string, string) (json.RawMessage, bool) { return nil, false }

type makers struct{}

func (makers) Skill(name string, _ plan.SkillSpec) (skill.Skill, error) {
	return skill.Func(func(_ context.Context, call skill.Call) (skill.Result, error) {
		if strings.Contains(string(call.Input), "noise") {
			return skill.Fail(rondo.CodeSkillError, "that is no music", false), nil
		}
		result := skill.Result{OK: true, Data: json.RawMessage(`{"made":` + string(call.Input) + `}`), Debug: &skill.Debug{Cost: 0.25}}
		if name == "sound@1" {
			result.Artifacts = []skill.Artifact{{Type: "text/plain", Name: "track.txt", Bytes: call.Input, Metadata: json.RawMessage(`{"bpm":120}`)}}
		}
		return result, nil
	}), nil
}

// realRuns is the API over the real run service on the memory store.
func realRuns(t *testing.T) *bench {
	t.Helper()
	workflow, err := plan.Compile([]byte(jingle), goSkills{})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := file.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	service, err := runs.New(runs.Config{
		Store: memory.Open(memory.Options{}), Definitions: oneWorkflow{workflow}, Skills: makers{}, Environment: goSkills{}, Blobs: blobs,
		Log: slog.New(slog.DiscardHandler), Slots: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the run service: %v", err)
		}
	})
	return newBench(t, func(c *httpapi.Config) { c.Runs, c.Now = service, time.Now })
}

var (
	anyTime   = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	anyDigest = regexp.MustCompile(`[0-9a-f]{64}`)
	anyMs     = regexp.MustCompile(`"(\w*Ms)": ?\d+`)
	anyPart   = regexp.MustCompile(`"digest": "[0-9a-f]+"`)
	anySeq    = regexp.MustCompile(`"seq": ?\d+`)
)

// runPlay plays requests one after another; what was answered before fills in the
// placeholders of those that follow.
type runPlay struct {
	*bench
	t     *testing.T
	names map[string]string
	known map[string]string // placeholder → value
	told  bytes.Buffer
}

func (p *runPlay) send(method, path, body string) *httptest.ResponseRecorder {
	p.t.Helper()
	filled := path
	for name, value := range p.known {
		filled = strings.ReplaceAll(filled, name, value)
		body = strings.ReplaceAll(body, name, value)
	}
	rec := p.do(method, filled, body, "X-Request-Id", "r")
	if method == "POST" && rec.Code == 202 {
		id := member(rec.Body.Bytes(), "runId")
		p.known["{run}"] = id
		// Following it is waiting for it.
		if events := p.do("GET", "/runs/"+id+"/stream", ""); !strings.Contains(events.Body.String(), "event: run") {
			p.t.Fatalf("the stream does not tell of the run: %s", events.Body)
		}
	}
	fmt.Fprintf(&p.told, "%s %s %s\n%d\n%s\n\n", method, path, p.plain([]byte(body)), rec.Code, p.plain(rec.Body.Bytes()))
	return rec
}

// plain indents JSON and takes out what differs from time to time.
func (p *runPlay) plain(raw []byte) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(raw)
	}
	out := pretty.String()
	for kind, pattern := range map[string]*regexp.Regexp{"id": anyUUID, "digest": anyDigest} {
		out = pattern.ReplaceAllStringFunc(out, func(found string) string {
			if p.names[found] == "" {
				count := 1
				for _, name := range p.names {
					if strings.HasPrefix(name, kind) {
						count++
					}
				}
				p.names[found] = fmt.Sprintf("%s-%d", kind, count)
			}
			return p.names[found]
		})
	}
	out = anyTime.ReplaceAllString(out, `"time"`)
	out = anyPart.ReplaceAllString(out, `"digest": "part"`)
	return anySeq.ReplaceAllString(anyMs.ReplaceAllString(out, `"$1": 0`), `"seq": 0`)
}

// TestRunsAreAnsweredAsAgreed plays requests on the real service and compares
// whole answers.
func TestRunsAreAnsweredAsAgreed(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*runPlay){
		"life": func(p *runPlay) {
			p.send("GET", "/workflows", "")
			p.send("GET", "/workflows/jingle?version=1.0.0", "")
			p.send("POST", "/runs/plan", `{"workflowName":"jingle","triggerPayload":{"brief":"Sale","mood":"loud"}}`)
			p.send("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"brief":"Sale","mood":"loud"}}`)
			p.known["{first}"] = p.known["{run}"]
			p.send("GET", "/runs/{first}", "")
			p.send("GET", "/runs/{first}/steps", "")
			p.send("GET", "/runs/{first}/steps/track", "")
			found := p.send("GET", "/runs/{first}/artifacts?stepId=track", "")
			p.known["{artifact}"] = regexp.MustCompile(`"id": ?"([^"]+)"`).FindStringSubmatch(found.Body.String())[1]
			p.send("GET", "/artifacts/{artifact}/content", "")
			p.send("POST", "/runs/plan", `{"baseRunId":"{first}","changeRequest":{"type":"audio.update","payload":{"mood":"calm"}}}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"audio.update","payload":{"mood":"calm"}}}`)
			p.known["{second}"] = p.known["{run}"]
			p.send("GET", "/runs/{second}", "")
			p.send("GET", "/runs/{second}/steps?status=skipped", "")
			p.send("GET", "/runs/{second}/explain", "")
			p.send("GET", "/runs/{second}/cache-analysis", "")
			p.send("GET", "/runs?trigger=update", "")
			cached := p.send("GET", "/cache?step=plan", "")
			p.known["{key}"] = regexp.MustCompile(`"key": ?"([^"]+)"`).FindStringSubmatch(cached.Body.String())[1]
			p.send("POST", "/cache/{key}/taint", `{"reason":"the plan is of last year"}`)
			p.send("DELETE", "/cache?step=track", "")
		},
		"refusals": func(p *runPlay) {
			p.send("POST", "/runs", `{"workflowName":"unknown"}`)
			p.send("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"mood":1}}`)
			p.send("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"brief":"noise"}}`)
			p.send("GET", "/runs/{run}", "")
			p.send("POST", "/runs/{run}/update", `{"changeRequest":{"type":"audio.update"}}`)
			p.send("POST", "/runs/{run}/cancel", "")
			p.send("POST", "/runs/{run}/retry", "")
			p.send("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"brief":"Sale"}}`)
			p.known["{first}"] = p.known["{run}"]
			p.send("POST", "/runs/{first}/retry", "")
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"video.update"}}`)
			p.send("POST", "/runs/{first}/update", `{"changedSteps":["chorus"]}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"audio.update","payload":{"mood":1}}}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"full_rebuild"}}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"audio.update"},"ifLatest":true}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"audio.update"},"stepModes":{"chorus":"refresh"}}`)
			p.send("POST", "/runs/{first}/update", `{"changeRequest":{"type":"audio.update"},"workflowVersion":"1.0.0"}`)
			p.send("POST", "/runs/plan", `{"definition":{"name":"jingle","version":"2.0.0","steps":[{"id":"plan","skill":"unheard@1"}]}}`)
			p.send("POST", "/runs/plan", `{"workflowName":"jingle","triggerPayload":{"brief":"another"},"mode":"only"}`)
			p.send("POST", "/runs", `{"workflowName":"jingle","triggerPayload":{"brief":"another"},"mode":"only"}`)
			p.send("GET", "/runs/{run}", "")
			p.send("GET", "/runs/{run}/explain", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &runPlay{bench: realRuns(t), t: t, names: map[string]string{}, known: map[string]string{}}
			play(p)
			golden := filepath.Join("testdata", "runs", name+".txt")
			if *update {
				if err := os.WriteFile(golden, p.told.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), p.told.String()); diff != "" {
				t.Errorf("what clients are answered changed; if that is meant, run this test with -update (-agreed +now):\n%s", diff)
			}
		})
	}
}

// TestTheClientDoesWhatTheServerDoes takes a run through the Go client.
func TestTheClientDoesWhatTheServerDoes(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(realRuns(t))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	request := client.RunRequest{WorkflowName: "jingle", TriggerPayload: json.RawMessage(`{"brief":"Sale","mood":"loud"}`)}
	planned, err := c.PlanRun(t.Context(), request)
	if err != nil || planned.Summary.WouldRun+planned.Summary.Unknown != 3 {
		t.Fatalf("plan %+v, %v", planned, err)
	}
	started, err := c.StartRun(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	follow := func(id string) (done []string) {
		t.Helper()
		var last client.RunEvent
		if err := c.WatchRun(t.Context(), id, 0, func(e client.RunEvent) error {
			last = e
			if e.Step != nil && e.Step.Status.Done() {
				done = append(done, e.Step.StepID+" "+string(e.Step.Status))
			}
			return nil
		}); err != nil || last.Run == nil || last.Run.Status != rondo.RunCompleted {
			t.Fatalf("watch: %v, last %+v", err, last)
		}
		if err := c.WatchRun(t.Context(), id, last.Seq, func(e client.RunEvent) error { t.Errorf("after the end: %+v", e); return nil }); err != nil {
			t.Errorf("watch again: %v", err)
		}
		return done
	}
	if diff := cmp.Diff([]string{"plan completed", "track completed", "bundle completed"}, follow(started.RunID)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	change := client.RunUpdate{ChangeRequest: &rondo.ChangeRequest{Type: "audio.update", Payload: json.RawMessage(`{"mood":"calm"}`)}}
	if planned, err = c.PlanRunUpdate(t.Context(), started.RunID, change); err != nil || planned.BaseRunID != started.RunID || planned.Summary.Reuse != 1 {
		t.Errorf("plan of the update %+v, %v", planned, err)
	}
	updated, err := c.UpdateRun(t.Context(), started.RunID, change)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"plan skipped", "track completed", "bundle completed"}, follow(updated.RunID)); diff != "" {
		t.Errorf("steps of the update (-want +got):\n%s", diff)
	}
	if explained, err := c.ExplainRun(t.Context(), updated.RunID); err != nil || explained.Steps[1].Reason.String() != "input_changed(mood)" || len(explained.Steps[1].Changed) != 1 {
		t.Errorf("explain %+v, %v", explained, err)
	}
	if analysis, err := c.RunCacheAnalysis(t.Context(), updated.RunID); err != nil || analysis.TotalSteps != 3 || analysis.CacheHits != 1 {
		t.Errorf("analysis %+v, %v", analysis, err)
	}
	var content bytes.Buffer
	for artifact, err := range c.RunArtifacts(t.Context(), updated.RunID, "track") {
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.ArtifactContent(t.Context(), artifact.ID.String(), &content); err != nil || n != artifact.Size || !strings.Contains(content.String(), "calm") {
			t.Errorf("content %q, %v", &content, err)
		}
	}
	if steps, err := c.RunSteps(t.Context(), updated.RunID, rondo.RunStepSkipped); err != nil || len(steps) != 1 || steps[0].SourceRunID != started.RunID {
		t.Errorf("skipped steps %+v, %v", steps, err)
	}
	output, err := c.RunStepOutput(t.Context(), updated.RunID, "track")
	if err != nil || len(output.Attempts) != 1 || len(output.Step.Data) == 0 {
		t.Errorf("output %+v, %v", output, err)
	}
	tainted, err := c.TaintCache(t.Context(), output.Step.CacheKey, client.TaintRequest{Reason: "a crackle", Rebuild: true, OutputHash: output.Step.OutputHash})
	if err != nil || len(tainted.Rebuilds) != 1 {
		t.Fatalf("tainted %+v, %v", tainted, err)
	}
	if done := follow(tainted.Rebuilds[0]); len(done) != 3 || done[1] != "track completed" {
		t.Errorf("the rebuild: %v", done)
	}
	if _, err := c.RetryRun(t.Context(), updated.RunID); rondo.CodeOf(err) != rondo.CodeWrongState {
		t.Errorf("retry of a completed run: %v", err)
	}
	if stats, err := c.CacheStats(t.Context(), nil); err != nil || stats.Entries == 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}
