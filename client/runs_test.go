package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestCallsOfRuns(t *testing.T) {
	t.Parallel()
	drop := func(_ any, err error) error { return err }
	ctx := t.Context()
	tests := map[string]struct {
		call func(*client.Client) error
		want [3]string // method and address, key, body
	}{
		"start": {func(c *client.Client) error {
			return drop(c.StartRun(ctx, client.RunRequest{WorkflowName: "w", TriggerPayload: json.RawMessage(`{"n":1.50}`), Mode: rondo.CacheOnly}, client.WithRunKey("k")))
		}, [3]string{"POST /runs", "k", `{"workflowName":"w","triggerPayload":{"n":1.50},"mode":"only"}`}},
		"update": {func(c *client.Client) error {
			return drop(c.UpdateRun(ctx, "r", client.RunUpdate{ChangeRequest: &rondo.ChangeRequest{Type: "a"}, IfLatest: true}, client.WithRunKey("k")))
		}, [3]string{"POST /runs/r/update", "k", `{"changeRequest":{"type":"a"},"ifLatest":true}`}},
		"cancel": {func(c *client.Client) error { return drop(c.CancelRun(ctx, "r/1")) }, [3]string{"POST /runs/r%2F1/cancel", "", ""}},
		"retry":  {func(c *client.Client) error { return drop(c.RetryRun(ctx, "r", client.WithRunKey("k"))) }, [3]string{"POST /runs/r/retry", "k", ""}},
		"plan":   {func(c *client.Client) error { return drop(c.PlanRun(ctx, client.RunRequest{WorkflowName: "w"})) }, [3]string{"POST /runs/plan", "", `{"workflowName":"w"}`}},
		"plan update": {func(c *client.Client) error {
			return drop(c.PlanRunUpdate(ctx, "r", client.RunUpdate{ChangedSteps: []string{"a"}}))
		}, [3]string{"POST /runs/plan", "", `{"baseRunId":"r","changedSteps":["a"]}`}},
		"run":      {func(c *client.Client) error { return drop(c.Run(ctx, "r")) }, [3]string{"GET /runs/r", "", ""}},
		"steps":    {func(c *client.Client) error { return drop(c.RunSteps(ctx, "r", "")) }, [3]string{"GET /runs/r/steps", "", ""}},
		"failed":   {func(c *client.Client) error { return drop(c.RunSteps(ctx, "r", rondo.RunStepFailed)) }, [3]string{"GET /runs/r/steps?status=failed", "", ""}},
		"output":   {func(c *client.Client) error { return drop(c.RunStepOutput(ctx, "r", "a/b")) }, [3]string{"GET /runs/r/steps/a%2Fb", "", ""}},
		"explain":  {func(c *client.Client) error { return drop(c.ExplainRun(ctx, "r")) }, [3]string{"GET /runs/r/explain", "", ""}},
		"analysis": {func(c *client.Client) error { return drop(c.RunCacheAnalysis(ctx, "r")) }, [3]string{"GET /runs/r/cache-analysis", "", ""}},
		"workflow": {func(c *client.Client) error { return drop(c.Workflow(ctx, "w", "1.0.0")) }, [3]string{"GET /workflows/w?version=1.0.0", "", ""}},
		"content":  {func(c *client.Client) error { return drop(c.ArtifactContent(ctx, "a", io.Discard)) }, [3]string{"GET /artifacts/a/content", "", ""}},
		"stats":    {func(c *client.Client) error { return drop(c.CacheStats(ctx, url.Values{"step": {"s"}})) }, [3]string{"GET /cache/stats?step=s", "", ""}},
		"forget":   {func(c *client.Client) error { return drop(c.InvalidateCache(ctx, url.Values{"all": {"true"}})) }, [3]string{"DELETE /cache?all=true", "", ""}},
		"plan of a definition": {func(c *client.Client) error {
			return drop(c.PlanDefinition(ctx, json.RawMessage(`{"name":"w"}`), client.RunRequest{WorkflowName: "w", WorkflowVersion: "1.0.0", Mode: rondo.CacheOnly}))
		}, [3]string{"POST /runs/plan", "", `{"mode":"only","definition":{"name":"w"}}`}},
		"plan update of a definition": {func(c *client.Client) error {
			return drop(c.PlanDefinitionUpdate(ctx, json.RawMessage(`{"name":"w"}`), "r", client.RunUpdate{Definition: "latest", WorkflowVersion: "1.0.0", Force: true}))
		}, [3]string{"POST /runs/plan", "", `{"baseRunId":"r","force":true,"definition":{"name":"w"}}`}},
		"taint": {func(c *client.Client) error {
			return drop(c.TaintCache(ctx, "k", client.TaintRequest{Reason: "bad", Rebuild: true}))
		}, [3]string{"POST /cache/k/taint", "", `{"reason":"bad","rebuild":true}`}},
		"artifacts": {func(c *client.Client) error { return first(c.RunArtifacts(ctx, "r", "a")) }, [3]string{"GET /runs/r/artifacts?stepId=a", "", ""}},
		"runs":      {func(c *client.Client) error { return first(c.Runs(ctx, url.Values{"status": {"failed"}})) }, [3]string{"GET /runs?status=failed", "", ""}},
		"workflows": {func(c *client.Client) error { return first(c.Workflows(ctx)) }, [3]string{"GET /workflows", "", ""}},
		"cache":     {func(c *client.Client) error { return first(c.CacheEntries(ctx, nil)) }, [3]string{"GET /cache", "", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, asked := answering(t, 200, "application/json", `{}`)
			if err := test.call(c); err != nil {
				t.Fatal(err)
			}
			sent, _ := io.ReadAll(asked.Body)
			query := asked.URL.Query()
			if query.Get("org_id") != "acme" {
				t.Errorf("it is not for the organisation: %s", asked.URL)
			}
			query.Del("org_id")
			asked.URL.RawQuery = query.Encode()
			got := [3]string{asked.Method + " " + asked.URL.RequestURI(), asked.Header.Get("Idempotency-Key"), string(sent)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// first is the error of a list that has no item.
func first[T any](list func(func(T, error) bool)) error {
	var found error
	list(func(_ T, err error) bool { found = err; return false })
	return found
}

func TestListsOfRunsFollowTheCursor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/runs?status=failed":
			_, _ = io.WriteString(w, `{"items":[{"runId":"a"}],"nextCursor":"n"}`)
		case "/runs?cursor=n&status=failed":
			_, _ = io.WriteString(w, `{"items":[{"runId":"b"}],"nextCursor":null}`)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for run, err := range c.Runs(t.Context(), url.Values{"status": {"failed"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.RunID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

const (
	stepEvent = "id: %d\nevent: step\ndata: {\"stepId\":\"a\",\"status\":\"completed\"}\n\n"
	runEvent  = "id: %d\nevent: run\ndata: {\"runId\":\"r\",\"status\":%q}\n\n"
)

func TestAWatchGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []string // of the stream, one after another; "" = 204
		status  string   // of the run, when it is read
		after   []string // Last-Event-ID of each
		seqs    []int64
		code    rondo.Code
	}{
		"at once":              {[]string{": alive\n\n" + fmt.Sprintf(stepEvent, 2) + fmt.Sprintf(runEvent, 3, "completed")}, "", []string{"0"}, []int64{2, 3}, ""},
		"broken once":          {[]string{fmt.Sprintf(stepEvent, 2), fmt.Sprintf(runEvent, 3, "failed")}, "", []string{"0", "2"}, []int64{2, 3}, ""},
		"broken before an end": {[]string{fmt.Sprintf(runEvent, 2, "running"), ""}, "completed", []string{"0", "2"}, []int64{2}, ""},
		"known to its end":     {[]string{""}, "cancelled", []string{"0"}, nil, ""},
		"nothing comes":        {[]string{": alive\n\n"}, "running", []string{"0"}, nil, rondo.CodeUnavailable},
		"an event without id":  {[]string{"event: step\ndata: {}\n\n" + fmt.Sprintf(runEvent, 3, "completed")}, "", []string{"0"}, []int64{0, 3}, ""},
		"an event of later":    {[]string{"id: 2\nevent: other\ndata: {}\n\n" + fmt.Sprintf(runEvent, 3, "completed")}, "", []string{"0"}, []int64{3}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var after []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/runs/r" {
					_, _ = fmt.Fprintf(w, `{"runId":"r","status":%q}`, test.status)
					return
				}
				answer := test.answers[len(after)]
				after = append(after, r.Header.Get("Last-Event-ID"))
				if answer == "" {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, answer)
			}))
			t.Cleanup(server.Close)
			c, err := client.New(client.Config{BaseURL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			var seqs []int64
			err = c.WatchRun(t.Context(), "r", 0, func(e client.RunEvent) error { seqs = append(seqs, e.Seq); return nil })
			if rondo.CodeOf(err) != test.code {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff([]any{test.after, test.seqs}, []any{after, seqs}); diff != "" {
				t.Errorf("asked and told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWatcherWhoHasSeenEnoughStops(t *testing.T) {
	t.Parallel()
	c, _ := answering(t, 200, "text/event-stream", fmt.Sprintf(stepEvent, 2)+fmt.Sprintf(stepEvent, 3))
	if err := c.WatchRun(t.Context(), "r", 0, func(client.RunEvent) error { return client.ErrStop }); err != nil {
		t.Errorf("stopped: %v", err)
	}
	broken := errors.New("no room")
	if err := c.WatchRun(t.Context(), "r", 0, func(client.RunEvent) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("failed: %v", err)
	}
	c, _ = answering(t, 404, "application/problem+json", `{"code":"not_found","detail":"no such run"}`)
	if err := c.WatchRun(t.Context(), "r", 0, nil); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}
}

func TestContentIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	c, _ := answering(t, 200, "text/html", "<b>")
	if n, err := c.ArtifactContent(t.Context(), "a", &got); err != nil || n != 3 || got.String() != "<b>" {
		t.Errorf("%d bytes %q, %v", n, &got, err)
	}
	c, _ = answering(t, 409, "application/problem+json", `{"code":"wrong_state","detail":"elsewhere","hint":"see uri"}`)
	if _, err := c.ArtifactContent(t.Context(), "a", &got); rondo.CodeOf(err) != rondo.CodeWrongState {
		t.Errorf("elsewhere: %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = io.WriteString(w, "<b>")
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ArtifactContent(t.Context(), "a", io.Discard); err == nil {
		t.Error("a part was taken for the whole")
	}
}
