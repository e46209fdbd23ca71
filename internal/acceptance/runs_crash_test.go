package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

// chainsOfSteps is a workflow of chains side by side, 200 steps in all, that meet
// in a last one. Every execution leaves a line with the name of its step in the
// journal, whatever becomes of the process that asked for it.
func chainsOfSteps(t *testing.T, journal string) (source string, steps int) {
	t.Helper()
	const chains, length = 20, 10
	var list []map[string]any
	add := func(id string, needs []string) {
		input := map[string]any{"id": map[string]any{"const": id}, "seed": map[string]any{"trigger": "seed"}}
		list = append(list, map[string]any{"id": id, "skill": "note.down@1", "depends_on": append([]string{}, needs...), "input": input})
	}
	var ends []string
	for c := range chains {
		var needs []string
		for i := range length {
			id := fmt.Sprintf("c%d_s%d", c, i)
			if c == chains-1 && i == length-1 {
				break // its place is that of the last step
			}
			add(id, needs)
			needs = []string{id}
		}
		ends = append(ends, needs...)
	}
	add("last", ends)
	// The step's name is in the input, which is on standard input as JSON.
	script := fmt.Sprintf(`read -r call; id=${call##*'"id":"'}; id=${id%%%%'"'*}; echo "$id" >> %q; printf '"%%s"' "$id"`, journal)
	body, err := json.Marshal(map[string]any{
		"name": "crash.chains", "version": "1.0.0", "steps": list,
		"skills": map[string]any{"note.down@1": map[string]any{"type": "exec", "config": map[string]any{"command": "sh", "args": []string{"-c", script}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body), len(list)
}

// TestAKilledServerFinishesARunWithoutRepeatingACompletedStep kills the real
// program in the middle of a run of 200 steps, twice.
func TestAKilledServerFinishesARunWithoutRepeatingACompletedStep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes for some seconds: not in short mode")
	}
	for _, p := range []pair{{store: "sqlite"}, {store: "postgres"}, {store: "postgres", redis: true}, {store: "mariadb", redis: true}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), crashLimit)
			defer cancel()
			g := newGround(t, p)
			journal := filepath.Join(t.TempDir(), "journal")
			source, total := chainsOfSteps(t, journal)
			if total != 200 {
				t.Fatalf("the workflow has %d steps", total)
			}
			flags := []string{
				"serve", "--migrate", "--no-auth-required", "--allow-exec", "--database", g.database,
				"--blobs", "file:" + filepath.Join(t.TempDir(), "blobs"), "--run-lease", "1s", "--log-level", "error",
			}
			if g.redis {
				flags = append(flags, "--redis", g.redisURL)
			}
			server := startProgram(t, flags...)
			server.publishRun(t, source)
			run := server.startRun(t, `{"workflowName":"crash.chains","triggerPayload":{"seed":1}}`)

			type cut struct {
				done     []string // before the kill
				executed int      // executions before the kill
			}
			var cuts []cut
			for _, point := range []int{60, 130} {
				if !poll(ctx, func() bool { return len(server.doneSteps(run)) >= point }) {
					t.Fatalf("the run never came to %d steps; the server said:\n%s", point, server.errors)
				}
				done := server.doneSteps(run)
				server.kill()
				cuts = append(cuts, cut{done, len(readLines(t, journal))})
				server.start(t)
			}
			if !poll(ctx, func() bool { return server.runStatus(run).Ended() }) {
				t.Fatalf("after the kills the run does not end: %s; the server said:\n%s", server.runStatus(run), server.errors)
			}
			if status := server.runStatus(run); status != rondo.RunCompleted {
				t.Fatalf("the run ended as %s", status)
			}
			if done := server.doneSteps(run); len(done) != total {
				t.Errorf("%d of %d steps are done", len(done), total)
			}

			journaled := readLines(t, journal)
			for _, c := range cuts {
				for _, id := range journaled[c.executed:] {
					if slices.Contains(c.done, id) {
						t.Errorf("step %s had completed before a kill and was executed again after it", id)
					}
				}
			}
			executed := map[string]bool{}
			for _, id := range journaled {
				executed[id] = true
			}
			again := len(journaled) - len(executed)
			if len(executed) != total {
				t.Errorf("%d of %d steps were executed", len(executed), total)
			}
			// Two kills, each of which cuts short what ten slots do and what they have
			// done since the last commit began.
			const inFlight = 2 * (10 + 10)
			if again > inFlight {
				t.Errorf("%d executions were repeated, and at most %d were under way at the kills", again, inFlight)
			}
		})
	}
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// publishRun makes a source the active run definition of its name and version.
func (p *program) publishRun(t *testing.T, source string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"kind": "run", "definition": source})
	if err != nil {
		t.Fatal(err)
	}
	p.createAndPublish(t, body)
}

func (p *program) startRun(t *testing.T, body string) string {
	t.Helper()
	status, answer, err := p.call(http.MethodPost, "/runs", []byte(body))
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("start a run: %d %s %v", status, answer, err)
	}
	var accepted struct {
		RunID string `json:"runId"`
	}
	if err := json.Unmarshal(answer, &accepted); err != nil {
		t.Fatal(err)
	}
	return accepted.RunID
}

// runStatus is "" while the server does not answer.
func (p *program) runStatus(run string) rondo.RunStatus {
	var r struct {
		Status rondo.RunStatus `json:"status"`
	}
	p.read("/runs/"+run, &r)
	return r.Status
}

// doneSteps are the steps of a run that have completed, none while the server
// does not answer.
func (p *program) doneSteps(run string) []string {
	var list struct {
		Steps []struct {
			StepID string              `json:"stepId"`
			Status rondo.RunStepStatus `json:"status"`
		} `json:"steps"`
	}
	p.read("/runs/"+run+"/steps", &list)
	var ids []string
	for _, s := range list.Steps {
		if s.Status.Done() {
			ids = append(ids, s.StepID)
		}
	}
	return ids
}

// read leaves out as it is when there is no good answer.
func (p *program) read(path string, out any) {
	if status, answer, err := p.call(http.MethodGet, path, nil); err == nil && status == http.StatusOK {
		_ = json.Unmarshal(answer, out) // what is no answer says nothing
	}
}
