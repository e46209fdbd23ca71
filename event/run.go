package event

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

const runPrefix = "run."

// AboutRun reports whether events of the type are about a run: they carry run_id,
// and case_id and product_id only when a case started the run. run.requested is
// not among them: it is a case's, which asks for a run that is not there yet.
func AboutRun(eventType string) bool {
	return strings.HasPrefix(eventType, runPrefix) && eventType != TypeRunRequested
}

// RunAnswer reports whether events of the type are a worker's answer to a step of
// a run. They are for the run, never for a case.
func RunAnswer(eventType string) bool {
	return eventType == TypeRunStepCompleted || eventType == TypeRunStepFailed
}

// RunEnvelope is an event about a run, correlated as the run is.
func RunEnvelope(id rondo.ID, eventType string, run *rondo.Run, at time.Time, payload json.RawMessage) *Envelope {
	e := &Envelope{
		EventID: id, Type: eventType, SchemaVersion: SchemaVersion, OccurredAt: at.UTC(),
		CorrelationID: cmp.Or(run.CorrelationID, run.ID.String()),
		OrgID:         run.TenantID, RunID: run.ID.String(), Payload: payload,
	}
	if run.Case != nil {
		e.CaseID, e.ProductID = run.Case.CaseID, run.ProductID
	}
	return e
}
