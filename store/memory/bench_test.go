package memory_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// BenchmarkCommit is the life of one case in a store of its own, as the
// simulation has it: 30 commits, each with a step, an event and a request.
func BenchmarkCommit(b *testing.B) {
	const commits = 30
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	ids := rondo.NewIDs(func() time.Time { return start })
	ctx := b.Context()
	key := rondo.CaseKey{OrgID: "acme", CaseID: "c-1"}
	b.ReportAllocs()
	for b.Loop() {
		s := memory.Open(memory.Options{})
		for n := range commits {
			event := rondo.EventRecord{ID: ids.New(), OrgID: "acme", EventID: ids.New(), CaseID: "c-1", Outcome: rondo.OutcomeApplied}
			load := store.Load{Cases: []rondo.CaseKey{key}, Events: []rondo.EventKey{{OrgID: "acme", EventID: event.EventID}}}
			_, err := s.Update(ctx, load, func(loaded *store.Loaded) (*store.Write, error) {
				next := rondo.Instance{ID: event.ID, OrgID: "acme", CaseID: "c-1", Status: rondo.StatusRunning}
				previous := loaded.Cases[key].Instance
				if previous != nil {
					next = *previous
				}
				next.Version++
				next.WakeAt = start.Add(time.Duration(n) * time.Minute)
				next.Context = rondo.Context{"case": json.RawMessage(`{}`), "ai_review": json.RawMessage(`{"confidence":0.5}`)}
				next.Machine.Live = []rondo.Attempt{{StepID: "ai_review", Number: n + 1}}
				next.Machine.Steps = map[string]rondo.StepLife{"ai_review": {Attempts: n + 1}}
				return &store.Write{
					Instances: []store.InstanceWrite{{Instance: &next, Previous: int64(n)}},
					Steps:     []rondo.Step{{ID: ids.New(), OrgID: "acme", InstanceID: next.ID, StepID: "ai_review", Attempt: n + 1, Seq: n + 1}},
					Events:    []rondo.EventRecord{event},
					Outbox:    []rondo.Outgoing{{Stream: "ai_review.requested", OrgID: "acme", EventID: ids.New()}},
				}, nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
