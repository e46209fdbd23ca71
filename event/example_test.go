package event_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// A module reads a request and answers it. The event id of the answer derives
// from the request, so that answering twice is the same as answering once.
func Example() {
	request, err := event.Parse([]byte(`{
		"event_id": "018f3c2e-7a10-7c3d-9b1e-0123456789ab", "event_type": "consent.check.requested",
		"schema_version": "v1", "occurred_at": "2026-01-31T12:00:00Z", "correlation_id": "c-1",
		"case_id": "case-42", "org_id": "org-1", "product_id": "skin",
		"payload": {"types": ["ai_analysis"], "patient_id": "p-7"}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := event.Envelope{
		EventID:       event.DerivedID(request.EventID, event.TypeConsentCheckCompleted),
		Type:          event.TypeConsentCheckCompleted,
		OccurredAt:    request.OccurredAt.Add(time.Second),
		CorrelationID: request.CorrelationID,
		CausationID:   request.EventID.String(),
		CaseID:        request.CaseID,
		OrgID:         request.OrgID,
		ProductID:     request.ProductID,
		Payload:       json.RawMessage(`{"granted":true,"missing_types":[]}`),
	}
	fmt.Println(string(answer.Encode()))
	// Output:
	// {"event_id":"299d3cd7-a0c0-52d0-a1d5-0ce7931e6421","event_type":"consent.check.completed","schema_version":"v1","occurred_at":"2026-01-31T12:00:01Z","correlation_id":"c-1","causation_id":"018f3c2e-7a10-7c3d-9b1e-0123456789ab","case_id":"case-42","org_id":"org-1","product_id":"skin","payload":{"granted":true,"missing_types":[]}}
}

func ExampleParse_problems() {
	_, err := event.Parse([]byte(`{"event_id": 7, "event_type": "case.created", "schema_version": "v2",
		"occurred_at": "yesterday", "correlation_id": "c", "case_id": "a", "org_id": "o"}`))
	if problem, ok := err.(*rondo.Error); ok {
		for _, field := range problem.Fields {
			fmt.Println(field.Pointer, field.Message)
		}
	}
	// Output:
	// /event_id must be a string
	// /schema_version must be "v1", the only version this Rondo reads
	// /occurred_at must be an RFC 3339 time, such as 2026-01-31T12:00:00Z
	// /product_id is missing: every envelope has it
}
