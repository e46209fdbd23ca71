package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// fanOut is how many steps one commit of the benchmark takes off and another lands.
const fanOut = 100

// BenchmarkRuns measures the fan cycle of the engine on an empty store: one commit
// that takes off a hundred steps and one that lands them, with the rows of the
// steps and the entries. An operation is one step.
func BenchmarkRuns(b *testing.B, s store.Runs) {
	ids := rondo.NewIDs(time.Now)
	now := time.Now().UTC()
	if err := s.Heartbeat(b.Context(), ann, now, 24*time.Hour); err != nil {
		b.Fatal(err)
	}
	manifest := json.RawMessage(`{"v":1,"skill":"noop@1","inputs":{"n":"` + digest("n") + `"},"config":"` + digest("config") + `"}`)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += fanOut {
		now = now.Add(time.Millisecond)
		run := &rondo.Run{
			ID: ids.New(), TenantID: "acme", WorkflowName: "fan.v1", WorkflowVersion: "1.0.0", DefinitionHash: digest("definition"), TriggerType: rondo.TriggerInitial,
			TriggerPayload: json.RawMessage(`{"n":1}`), Status: rondo.RunRunning, TotalSteps: fanOut, CreatedAt: now, StartedAt: now, Seq: 1,
		}
		first := store.RunWrite{Run: run, Insert: true}
		second := store.RunWrite{Run: run, Fence: 1}
		for i := range fanOut {
			step := rondo.RunStep{
				RunID: run.ID, StepID: fmt.Sprint("step_", i), Attempt: 1, Skill: "noop@1", Status: rondo.RunStepRunning, InputHash: digest("input"),
				CacheKey: digest(fmt.Sprint(run.ID, i)), Manifest: manifest, Reason: rondo.Reason{Code: rondo.ReasonFirstRun}, Correlation: ids.New(), StartedAt: now, Seq: 2,
			}
			first.Takeoffs = append(first.Takeoffs, store.Takeoff{Name: step.CacheKey, Key: true, Step: step})
			step.Status, step.Data, step.OutputHash, step.CompletedAt = rondo.RunStepCompleted, json.RawMessage(`{"n":1,"text":"what a step that does nothing answers"}`), digest("output"), now
			second.Steps = append(second.Steps, step)
			second.Landings = append(second.Landings, store.Landing{Name: step.CacheKey, Fence: 1, Entry: &rondo.CacheEntry{
				Key: step.CacheKey, TenantID: "acme", WorkflowName: "fan.v1", StepID: step.StepID, InputHash: step.InputHash, Manifest: manifest, Data: step.Data,
				OutputHash: step.OutputHash, RunID: run.ID, Class: "deterministic", CreatedAt: now, LastUsedAt: now, DurationMs: 1,
			}})
		}
		for _, write := range []store.RunWrite{first, second} {
			results, err := s.CommitRuns(b.Context(), store.RunCommit{Owner: ann, At: now, Writes: []store.RunWrite{write}})
			if err != nil || results[0].Err != nil {
				b.Fatal(err, results)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
