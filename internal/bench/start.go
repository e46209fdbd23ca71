package bench

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// starter publishes case.created over the bus, as any producer would.
type starter struct {
	bus bus.Publisher
	ids *rondo.IDs
}

func newStarter(b bus.Publisher) *starter { return &starter{bus: b, ids: rondo.NewIDs(time.Now)} }

func (s *starter) start(ctx context.Context, caseID string) error {
	created := event.Envelope{
		EventID: s.ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC().Truncate(time.Microsecond),
		CorrelationID: caseID, CaseID: caseID, OrgID: org, ProductID: product, Payload: json.RawMessage(`{"metadata":{"source":"bench"}}`),
	}
	return s.bus.Publish(ctx, []bus.Message{{Stream: created.Type, EventID: created.EventID, Envelope: created.Encode()}})
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
