package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// changes keeps what an observer was told.
type changes struct {
	mu  sync.Mutex
	all []engine.Change
}

func (c *changes) Committed(commit engine.Commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, commit.Changes...)
}

func TestObserversAreToldOfBothInstancesWhenOneIsSuperseded(t *testing.T) {
	seen := &changes{}
	e, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true}), Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.WithoutCancel(t.Context()))
	publishTemplate(t, e, "ai_only")
	if _, err := e.PublishEvent(t.Context(), user(), caseCreated("c1")); err != nil {
		t.Fatal(err)
	}
	found, err := e.Instances(t.Context(), user(), store.InstanceFilter{}, store.Page{})
	if err != nil || len(found) != 1 {
		t.Fatalf("instances are %v, %v", found, err)
	}
	old := found[0]
	fresh, err := e.Act(t.Context(), user(), old.ID, rondo.Action{Name: rondo.ActionSupersede, Reason: "anew"})
	if err != nil {
		t.Fatal(err)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	var ended, started bool
	for _, change := range seen.all {
		ended = ended || change.Before != nil && change.After.ID == old.ID && change.After.Status == rondo.StatusCancelled
		started = started || change.Before == nil && change.After.ID == fresh.ID
	}
	if !ended || !started {
		t.Errorf("told of the end of the old one: %v; of the start of the new one: %v", ended, started)
	}
}
