package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store/memory"
)

// A replica learns of a definition when its first case comes: it must not read
// it inside the transaction that decides, which would wait for itself on a store
// of one connection.
func TestAReplicaStartsCasesOfADefinitionThatAnotherPublished(t *testing.T) {
	s := memory.Open(memory.Options{Embedded: true})
	var replicas [2]*engine.Engine
	for i := range replicas {
		e, err := engine.New(engine.Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		replicas[i] = e
	}
	publishTemplate(t, replicas[0], "ai_only")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	receipt, err := replicas[1].PublishEvent(ctx, user(), caseCreated("c1"))
	if err != nil || receipt.Outcome != rondo.OutcomeApplied {
		t.Fatalf("case.created was %q (%v), want applied", receipt.Outcome, err)
	}
	for _, e := range replicas {
		e.Stop(t.Context())
	}
}
