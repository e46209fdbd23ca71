package runs

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
)

// sent gathers what goes out with commits.
type sent struct {
	door
	telling sync.Mutex
	out     []rondo.Outgoing
}

func newSent(h *house) *sent {
	s := &sent{door: door{Runs: &eavesdropper{Runs: h.runs}}}
	s.Runs.(*eavesdropper).tell = func(o []rondo.Outgoing) {
		s.telling.Lock()
		defer s.telling.Unlock()
		s.out = append(s.out, o...)
	}
	return s
}

// eavesdropper tells the events of commits that happened.
type eavesdropper struct {
	store.Runs
	tell func([]rondo.Outgoing)
}

func (e *eavesdropper) CommitRuns(ctx context.Context, c store.RunCommit) ([]store.RunResult, error) {
	results, err := e.Runs.CommitRuns(ctx, c)
	for i := range results {
		if results[i].Err != nil {
			continue
		}
		e.tell(c.Writes[i].Outbox)
		for k, f := range results[i].Flights {
			if f.Taken {
				e.tell(c.Writes[i].Takeoffs[k].Outbox)
			}
		}
	}
	return results, err
}

// of returns what was sent of a type.
func (s *sent) of(t *testing.T, kind string) []*event.Envelope {
	t.Helper()
	s.telling.Lock()
	defer s.telling.Unlock()
	var list []*event.Envelope
	for _, o := range s.out {
		e, err := event.Parse(o.Envelope)
		if err != nil {
			t.Fatalf("%s: %v", o.Stream, err)
		}
		if o.Stream != e.Type || o.OrgID != e.OrgID || o.EventID != e.EventID {
			t.Errorf("the row of %s does not fit its envelope", e.Type)
		}
		if e.Type == kind {
			list = append(list, e)
		}
	}
	return list
}

// answer is a worker's answer to a request.
func answer(request *event.Envelope, kind, body string) *event.Envelope {
	e := *request
	e.EventID, e.Type, e.Payload = event.DerivedID(request.EventID, kind+body), kind, json.RawMessage(body)
	e.OccurredAt = time.Now().UTC()
	return &e
}

func far(attempts int) map[string]any {
	return map[string]any{"skill": "far@1", "timeout": "1m", "retry": map[string]any{"max_attempts": attempts, "backoff": "1s"}}
}

func TestRemoteWorkersAreAskedAndAnswer(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		h.define("w", node{id: "far", more: far(3)}, node{id: "near", needs: []string{"far"}})
		bus := newSent(h)
		s := h.open(func(c *Config) { c.Store, c.Slots = bus, 1 })
		run := begin(t, s, "w", 1)
		requests := bus.of(t, event.TypeRunStepRequested)
		if len(requests) != 1 || requests[0].RunID != run.ID.String() || requests[0].CaseID != "" {
			t.Fatalf("requests: %+v", requests)
		}
		var asked struct {
			StepID   string `json:"step_id"`
			Attempt  int
			Skill    string
			Input    json.RawMessage
			Deadline time.Time
		}
		if err := json.Unmarshal(requests[0].Payload, &asked); err != nil || asked.StepID != "far" || asked.Attempt != 1 || asked.Skill != "far@1" ||
			string(asked.Input) != `{"n":1}` || !asked.Deadline.Equal(time.Now().Add(time.Minute)) {
			t.Errorf("asked %s: %v", requests[0].Payload, err)
		}
		// The first attempt fails, the second is not answered, the third is done.
		failed := answer(requests[0], event.TypeRunStepFailed, `{"error":"busy","retryable":true}`)
		for range 2 { // twice is once
			if err := s.Deliver(t.Context(), failed); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		requests = bus.of(t, event.TypeRunStepRequested)
		if len(requests) != 3 || requests[1].CorrelationID == requests[0].CorrelationID {
			t.Fatalf("%d requests", len(requests))
		}
		late := answer(requests[1], event.TypeRunStepCompleted, `{"data":"too late"}`)
		if err := s.Deliver(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		foreign := answer(requests[2], event.TypeRunStepCompleted, `{"data":"foreign"}`)
		foreign.OrgID = "eve"
		if err := s.Deliver(t.Context(), foreign); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Errorf("an answer in the name of another tenant: %v", err)
		}
		done := answer(requests[2], event.TypeRunStepCompleted, `{"data":{"made":true},"artifacts":[{"type":"text/plain","bytes":"aGk="}],"debug":{"cost":0.5}}`)
		if err := s.Deliver(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		h.finish(run.ID, rondo.RunCompleted)
		row := h.steps(run.ID)["far"]
		if row.Attempt != 3 || string(row.Data) != `{"made":true}` || len(row.ArtifactIDs) != 1 {
			t.Errorf("attempt %d gave %s with %d artifacts", row.Attempt, row.Data, len(row.ArtifactIDs))
		}
		if err := s.Deliver(t.Context(), done); err != nil {
			t.Errorf("an answer to a run that has ended: %v", err)
		}
		again := h.steps(h.finish(begin(t, s, "w", 1).ID, rondo.RunCompleted).ID)["far"]
		if again.Status != rondo.RunStepSkipped {
			t.Errorf("the second time it is %s", again.Status)
		}
		for kind, want := range map[string]int{event.TypeRunStarted: 2, event.TypeRunCompleted: 2} {
			if got := bus.of(t, kind); len(got) != want {
				t.Errorf("%d events %s, not %d", len(got), kind, want)
			}
		}
	})
}

func TestARemoteAnswerIsWaitedForAcrossATakeover(t *testing.T) {
	t.Parallel()
	inHouses(t, func(t *testing.T, h *house) {
		more := far(1)
		more["timeout"] = "5m"
		h.define("w", node{id: "far", more: more})
		bus := newSent(h)
		first := h.open(func(c *Config) { c.Store = bus })
		id := begin(t, first, "w", 1).ID
		kill(first)
		second := h.open(func(c *Config) { c.Store = bus })
		other := h.open() // the answer comes to a process that does not drive the run
		time.Sleep(time.Minute)
		requests := bus.of(t, event.TypeRunStepRequested)
		if len(requests) != 1 {
			t.Fatalf("the worker was asked %d times", len(requests))
		}
		_ = second
		if err := other.Deliver(t.Context(), answer(requests[0], event.TypeRunStepCompleted, `{"data":1}`)); err != nil {
			t.Fatal(err)
		}
		h.finish(id, rondo.RunCompleted)
		if row := h.steps(id)["far"]; row.Attempt != 1 || string(row.Data) != "1" {
			t.Errorf("attempt %d gave %s", row.Attempt, row.Data)
		}
		// Its result is kept like any other.
		equal := h.steps(h.finish(begin(t, second, "w", 1).ID, rondo.RunCompleted).ID)["far"]
		if equal.Status != rondo.RunStepSkipped {
			t.Errorf("an equal step is %s", equal.Status)
		}
	})
}
