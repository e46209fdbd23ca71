package runs

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// BenchmarkRuns drives whole runs of steps that do nothing, one run at a time: what
// is left is the engine and the store.
func BenchmarkRuns(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		for _, shape := range []struct {
			name   string
			nodes  []node
			cached bool
		}{{"fan", fan(100), false}, {"chain", chain(100), false}, {"cached", chain(100), true}} {
			b.Run(kind+"/"+shape.name, func(b *testing.B) {
				var db store.Store = memory.Open(memory.Options{})
				if kind == "sqlite" {
					opened, err := sqlite.Open(filepath.Join(b.TempDir(), "runs.db"), sqlite.Options{})
					if err != nil {
						b.Fatal(err)
					}
					if err := opened.Migrate(b.Context()); err != nil {
						b.Fatal(err)
					}
					db = opened
				}
				defer db.Close()
				counted := &countedCommits{Runs: db.(store.Runs)}
				h := &house{t: b, shelf: &shelf{byName: map[string]*plan.Workflow{}, byHash: map[string]*plan.Workflow{}}, craft: newCraft()}
				s, err := New(Config{Store: counted, Definitions: h.shelf, Skills: h.craft, Slots: 128, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				defer kill(s)
				h.define("w", shape.nodes...)
				run := func(n int) {
					started, err := s.Trigger(b.Context(), bob, Request{WorkflowName: "w", TriggerPayload: payload(n)})
					if err != nil {
						b.Fatal(err)
					}
					if err := s.Watch(b.Context(), bob, started.ID, 1<<40, func(Event) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				run(-1)
				counted.commits.Store(0)
				b.ResetTimer()
				b.ReportAllocs()
				began := time.Now()
				for i := range b.N {
					if shape.cached {
						i = -1
					}
					run(i)
				}
				steps := float64(b.N * len(shape.nodes))
				b.ReportMetric(steps/time.Since(began).Seconds(), "steps/s")
				b.ReportMetric(float64(counted.commits.Load())/float64(b.N), "commits/run")
			})
		}
	}
}
