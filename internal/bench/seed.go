package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// seedBatch is how many finished cases go into one transaction.
const seedBatch = 250

// seedFinished puts n finished cases into the store, each as the engine would
// have left it: the instance, its step rows and its ledger rows.
func seedFinished(ctx context.Context, s store.Cases, definitionID rondo.ID, hash string, steps, n int) error {
	clock := time.Now().Add(-24 * time.Hour)
	ids := rondo.NewIDs(func() time.Time { return clock })
	for done := 0; done < n; done += seedBatch {
		size := min(seedBatch, n-done)
		write := &store.Write{}
		load := store.Load{}
		for range size {
			clock = clock.Add(time.Millisecond)
			seedOne(write, ids, clock.UTC().Truncate(time.Microsecond), definitionID, hash, steps)
		}
		for _, w := range write.Instances {
			load.Cases = append(load.Cases, w.Instance.Key())
		}
		if _, err := s.Update(ctx, load, func(*store.Loaded) (*store.Write, error) { return write, nil }); err != nil {
			return err
		}
	}
	return nil
}

func seedOne(w *store.Write, ids *rondo.IDs, at time.Time, definitionID rondo.ID, hash string, steps int) {
	id, caseID := ids.New(), ids.New().String()
	value, _ := json.Marshal(output{Value: answer})
	instance := &rondo.Instance{
		ID: id, OrgID: org, CaseID: caseID, ProductID: product, DefinitionID: definitionID, SnapshotHash: hash,
		Mode: rondo.ModeActive, Status: rondo.StatusCompleted, StartedAt: at, DeadlineAt: at.Add(720 * time.Hour), CompletedAt: at,
		Context: rondo.Context{"case_id": json.RawMessage(`"` + caseID + `"`)}, Version: int64(steps) + 1,
	}
	record := func(eventType, correlation string, payload []byte) {
		e := event.Envelope{
			EventID: ids.New(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: at, CorrelationID: correlation,
			CaseID: caseID, OrgID: org, ProductID: product, Payload: payload,
		}
		w.Events = append(w.Events, rondo.EventRecord{
			ID: ids.New(), OrgID: org, EventID: e.EventID, CaseID: caseID, InstanceID: id, Type: eventType,
			Envelope: e.Encode(), ReceivedAt: at, Processed: true, Outcome: rondo.OutcomeApplied,
		})
	}
	record(event.TypeCaseCreated, caseID, []byte(`{}`))
	for i := 1; i <= steps; i++ {
		name := fmt.Sprintf("step_%d", i)
		instance.Context[name] = value
		row := rondo.Step{
			ID: ids.New(), OrgID: org, InstanceID: id, StepID: name, Kind: stepKind, Status: rondo.StepCompleted, Attempt: 1, Seq: i,
			StartedAt: at, CompletedAt: at, Input: json.RawMessage(`{"case":"` + caseID + `"}`), Output: value,
			CorrelationID: ids.New().String(), Outcome: "on_complete",
		}
		w.Steps = append(w.Steps, row)
		record("ext.bench_noop.completed", row.CorrelationID, value)
	}
	instance.Machine.Finished = steps
	w.Instances = append(w.Instances, store.InstanceWrite{Instance: instance})
}
