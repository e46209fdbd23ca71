package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

func TestATerminalShowsStepsAtWorkAndABar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, true)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(before time.Duration) *time.Time {
		since := now.Add(-before)
		return &since
	}
	tell := func(e client.RunEvent) {
		t.Helper()
		if err := p.tell(e); err != nil {
			t.Fatal(err)
		}
	}
	p.expect(client.Run{StepsSummary: &client.StepsSummary{Total: 8}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "plan", Status: rondo.RunStepRunning, StartedAt: at(90 * time.Second)}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "plan", Status: rondo.RunStepCompleted}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "music", Status: rondo.RunStepSkipped}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "film", Status: rondo.RunStepRunning, StartedAt: at(2500 * time.Millisecond)}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "mix", Status: rondo.RunStepRunning, StartedAt: at(61 * time.Second)}})
	tell(client.RunEvent{Step: &client.RunStep{StepID: "sound", Status: rondo.RunStepPending, Attempt: 1, Error: &rondo.StepError{Message: "exit status 1"}, RetryAt: at(-6 * time.Second)}})
	p.saved = client.RunCacheAnalysis{TimeSavedMs: 1500, CostSaved: 0.25}
	got := strings.Join(p.lines(now, 80, 24), "\n")
	want := "    1m1s  mix\n    2.5s  film\n          sound failed (exit status 1), attempt 2 in 6s\n[######------------------] 2 of 8, 1 reused, saved 1.5s and a cost of 0.25"
	if got != want {
		t.Errorf("shows\n%s\nwant\n%s", got, want)
	}
	if got := p.lines(now, 13, 4); len(got) != 3 || got[1] != "  and 2 more" || len(got[2]) > 12 {
		t.Errorf("a small terminal shows %q", got)
	}
	for width, want := range map[int]string{
		60: "[##-------] 2 of 8, 1 reused, saved 1.5s and a cost of 0.25",
		50: "2 of 8, 1 reused, saved 1.5s and a cost of 0.25",
	} {
		if got := p.lines(now, width, 24); got[3] != want {
			t.Errorf("a terminal %d wide shows %q, want %q", width, got[3], want)
		}
	}
	p.show(80, 24)
	p.show(80, 24)
	if text := out.String(); strings.Count(text, "\x1b[4A\x1b[J") != 1 || strings.Count(text, "film") != 2 {
		t.Errorf("the second drawing does not replace the first: %q", text)
	}
}

func TestATerminalSaysThatARunWaitsForOthers(t *testing.T) {
	t.Parallel()
	p := newProgress(&bytes.Buffer{}, true)
	p.expect(client.Run{StepsSummary: &client.StepsSummary{Total: 2}})
	got := p.lines(time.Now(), 100, 24)
	if len(got) != 2 || !strings.Contains(got[0], "another run that computes the same: 2 steps left") {
		t.Errorf("a run of which nothing is at work shows %q", got)
	}
}

func TestElsewhereEverythingIsALine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, false)
	took := int64(1234)
	retry := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, step := range []client.RunStep{
		{StepID: "plan", Status: rondo.RunStepRunning, Attempt: 1, Reason: &rondo.Reason{Code: rondo.ReasonFirstRun}},
		{StepID: "plan", Status: rondo.RunStepPending, Attempt: 1, DurationMs: &took, Error: &rondo.StepError{Message: "no\nanswer"}, RetryAt: &retry},
		{StepID: "plan", Status: rondo.RunStepCompleted, Attempt: 2, DurationMs: &took},
		{StepID: "film", Status: rondo.RunStepSkipped, Reason: &rondo.Reason{Code: rondo.ReasonCacheHot}},
	} {
		if err := p.tell(client.RunEvent{Step: &step}); err != nil {
			t.Fatal(err)
		}
	}
	want := `running    plan: it had never run before
failed     plan, 1.2s: no; answer; next attempt at 2026-01-02 03:04:05
ran        plan, attempt 2, 1.2s
reused     film: the same was computed before: it was just now in the hot cache
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestArtifactsAreNamedSafely(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"index.html": "index.html", "a/b.txt": "b.txt", "../../etc/passwd": "passwd", `..\evil.txt`: "evil.txt", "": "page.html", "..": "page.html", "/": "page.html",
	} {
		got := artifactName(rondo.Artifact{Filename: given, StepID: "page", Type: "text/html"})
		if got != want {
			t.Errorf("%q is written as %q, want %q", given, got, want)
		}
	}
}
