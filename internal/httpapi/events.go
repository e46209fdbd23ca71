package httpapi

import (
	"context"
	"net/http"
)

// envelope documents the body of POST /events. Members beyond these are kept.
type envelope struct {
	EventID       string         `json:"event_id" format:"uuid"`
	EventType     string         `json:"event_type"`
	SchemaVersion string         `json:"schema_version" enum:"v1"`
	OccurredAt    string         `json:"occurred_at" format:"date-time"`
	CorrelationID string         `json:"correlation_id"`
	CausationID   string         `json:"causation_id,omitempty"`
	CaseID        string         `json:"case_id"`
	OrgID         string         `json:"org_id" doc:"Must be the organisation of the token; an admin may publish for any"`
	ProductID     string         `json:"product_id"`
	Payload       map[string]any `json:"payload"`
	Traceparent   string         `json:"traceparent,omitempty"`
	_             struct{}       `additionalProperties:"true"`
}

type receipt struct {
	EventID string  `json:"event_id" format:"uuid"`
	Outcome string  `json:"outcome" enum:"applied,stale,parked,repeated,noted,unmatched,rejected"`
	Error   *string `json:"error" doc:"Why it was unmatched or rejected, else null"`
}

type receiptOut struct {
	Status int
	Body   receipt
}

func (a *API) registerEvents(r *registrar) {
	handle(r, "publish-event", envelope{}, a.publishEvent)
	r.also("publish-event", http.StatusOK, "The event was known already; the outcome is the first one's")
}

// publishEvent answers 202 for an event that is new and 200 for one that is
// known already.
func (a *API) publishEvent(ctx context.Context, c *call) (*receiptOut, error) {
	got, err := a.cfg.Cases.PublishEvent(ctx, c.principal, c.body)
	if err != nil {
		return nil, err
	}
	out := &receiptOut{Status: http.StatusAccepted, Body: receipt{EventID: got.EventID.String(), Outcome: string(got.Outcome), Error: maybe(got.Error)}}
	if got.Duplicate {
		out.Status = http.StatusOK
	}
	return out, nil
}
