package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

// quiet is a log of a server that cuts connections on purpose.
func quiet() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }

// runEvents are the events of a stream, without what the views have of each.
func runEvents(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var id, name, data string
		for line := range strings.SplitSeq(block, "\n") {
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "id":
				id = value
			case "event":
				name = value
			case "data":
				data = value
			case "":
				name = "alive"
			}
		}
		var told struct{ RunID, StepID, Status string }
		if data != "" {
			if err := json.Unmarshal([]byte(data), &told); err != nil || told.RunID != runID.String() {
				t.Errorf("event %q: %v", block, err)
			}
		}
		out = append(out, strings.TrimSpace(strings.Join([]string{name, id, told.StepID, told.Status}, " ")))
	}
	return out
}

func TestARunIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step, run := knownStep(), knownRun()
	b.runs.events = []runs.Event{{Seq: 7, Step: &step}, {Seq: 8}, {Seq: 9, Step: &step, Run: run}}
	rec := b.do("GET", runPath+"/stream", "", "Last-Event-ID", "6")
	want := []string{"alive", "step 7 mix completed", "step  mix completed", "run 9  failed"}
	if diff := cmp.Diff(want, runEvents(t, rec.Body.String())); diff != "" || rec.Header().Get("Content-Type") != "text/event-stream" || b.runs.after != 6 {
		t.Errorf("after %d (-want +got):\n%s\n%s", b.runs.after, diff, rec.Body)
	}
	if strings.Contains(rec.Body.String(), "1.50") {
		t.Errorf("payloads are streamed: %s", rec.Body)
	}
	if !strings.Contains(rec.Body.String(), `"seq":7`) {
		t.Errorf("a step does not say its seq: %s", rec.Body)
	}
}

func TestOfEventsOfOneSeqOnlyTheLastCanBeGoneOnFrom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	step, run := knownStep(), knownRun()
	b.runs.events = []runs.Event{{Seq: 7, Step: &step}, {Seq: 9, Step: &step, More: true}, {Seq: 9, Run: run}}
	rec := b.do("GET", runPath+"/stream", "", "Last-Event-ID", "6")
	want := []string{"alive", "step 7 mix completed", "step  mix completed", "run 9  failed"}
	if diff := cmp.Diff(want, runEvents(t, rec.Body.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhoKnowsTheEndIsNotToldAgain(t *testing.T) {
	t.Parallel()
	for last, status := range map[string]int{"9": 204, "10": 204, "8": 200, "": 200, "nonsense": 200, "-1": 200, "99999999999999999999": 200} {
		b := newBench(t)
		if rec := b.do("GET", runPath+"/stream", "", "Last-Event-ID", last); rec.Code != status {
			t.Errorf("after %q: %d, want %d", last, rec.Code, status)
		}
	}
	b := newBench(t)
	b.runs.run = &rondo.Run{ID: runID, Status: rondo.RunRunning, Seq: 3}
	if rec := b.do("GET", runPath+"/stream", "", "Last-Event-ID", "3"); rec.Code != 200 || b.runs.after != 3 {
		t.Errorf("of a run that goes on: %d after %d", rec.Code, b.runs.after)
	}
}

func TestASilentRunIsHeardToBeAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *httpapi.Config) { c.Now = time.Now })
		run := knownRun()
		b.runs.watch = func(ctx context.Context, tell func(runs.Event) error) error {
			select {
			case <-time.After(50 * time.Second):
				return tell(runs.Event{Seq: 9, Run: run})
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		rec := b.do("GET", runPath+"/stream", "")
		want := []string{"alive", "alive", "alive", "alive", "run 9  failed"}
		if diff := cmp.Diff(want, runEvents(t, rec.Body.String())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAReaderWhoLeavesEndsTheWatch(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bench, context.CancelFunc){
		"the reader":   func(_ *bench, leave context.CancelFunc) { leave() },
		"the shutdown": func(b *bench, _ context.CancelFunc) { b.EndStreams() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			step := knownStep()
			gone := make(chan struct{})
			b.runs.events = []runs.Event{{Seq: 7, Step: &step}}
			b.runs.watch = func(ctx context.Context, _ func(runs.Event) error) error {
				<-ctx.Done()
				close(gone)
				return ctx.Err()
			}
			server := httptest.NewServer(b)
			defer server.Close()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+runPath+"/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			for lines := bufio.NewScanner(res.Body); lines.Scan() && lines.Text() != "event: step"; {
			}
			end(b, leave)
			<-gone
		})
	}
}

func TestAWatchThatCrashesDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runs.watch = func(context.Context, func(runs.Event) error) error { panic("secret") }
	rec := b.do("GET", runPath+"/stream", "")
	if strings.Contains(rec.Body.String(), "secret") || !strings.Contains(b.log.String(), "secret") {
		t.Errorf("the answer tells the cause, or the log does not: %s\n%s", rec.Body, b.log)
	}
	if rec := b.do("GET", runPath, ""); rec.Code != 200 {
		t.Errorf("afterwards: %d", rec.Code)
	}
}
