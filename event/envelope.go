// Package event is the wire contract between Rondo and the modules around it:
// the envelope, the catalogue of event types and their JSON Schemas. Modules
// written in Go import it; everything else reads the same contract from the
// documents that Rondo serves.
//
// # Guarantees
//
//  1. Parse refuses whatever two readers could understand differently: duplicate
//     members, case variants of declared members, invalid UTF-8, numbers that
//     lose digits, trailing data.
//  2. Parse of Encode gives the same envelope, extra members included, and
//     Encode of that gives the same bytes.
//  3. Errors name places and rules, never values: payloads are confidential.
//
// It imports the standard library, the root package and internal/canon only,
// and does no I/O.
package event

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// SchemaVersion is the version of the envelope and of every payload here.
const SchemaVersion = "v1"

// Envelope is what travels on every stream. Members that it does not name are
// kept in Extra and written back.
type Envelope struct {
	EventID       rondo.ID
	Type          string
	SchemaVersion string
	OccurredAt    time.Time
	CorrelationID string
	CausationID   string // "" = none
	CaseID        string // "" = none: of an event about a run that no case started
	OrgID         string
	ProductID     string          // "" exactly when CaseID is
	RunID         string          // of an event about a run (AboutRun) alone
	Payload       json.RawMessage // always a JSON object
	Traceparent   string          // "" = none
	Extra         map[string]json.RawMessage
}

// Key is the case that the event is about.
func (e *Envelope) Key() rondo.CaseKey { return rondo.CaseKey{OrgID: e.OrgID, CaseID: e.CaseID} }
