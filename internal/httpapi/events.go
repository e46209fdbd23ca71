package httpapi

import (
	"context"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Events is what the edge needs of the ledger and of the bus. Whatever it is
// asked for, it answers for the organisation of the principal.
type Events interface {
	// EventList lists newest first; Page.After is the ID of a row.
	EventList(ctx context.Context, p rondo.Principal, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error)
	Event(ctx context.Context, p rondo.Principal, eventID rondo.ID) (*rondo.EventRecord, error)
	// ReplayEvent judges an unmatched event again; any other is CodeWrongState.
	ReplayEvent(ctx context.Context, p rondo.Principal, eventID rondo.ID) (rondo.Receipt, error)
	EventSchemas(ctx context.Context, p rondo.Principal) ([]rondo.EventSchema, error)
	EventSchema(ctx context.Context, p rondo.Principal, eventType string) (rondo.EventSchema, error)
	DeadLetters
	Consumption
}

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
	Verdict *string `json:"verdict" doc:"Client-driven mode: whether the client kept to the path: on_path, early, repeated, skipped_gate or unknown. Null in active mode, and for an event that was known already"`
	Error   *string `json:"error" doc:"What is wrong with the event: why it was unmatched or rejected, or stale because nothing asked for it, or how it broke its step's contract. Null when nothing is, and for an event that was known already"`
}

func viewReceipt(r rondo.Receipt) receipt {
	return receipt{EventID: r.EventID.String(), Outcome: string(r.Outcome), Verdict: maybe(r.Verdict), Error: maybe(r.Error)}
}

type receiptOut struct {
	Status int
	Body   receipt
}

// eventSchema is an event type on the wire.
type eventSchema struct {
	EventType   string  `json:"event_type"`
	PublishedBy string  `json:"published_by" enum:"orchestrator,modules"`
	Schema      anyJSON `json:"schema" doc:"JSON Schema of the whole event, envelope and payload"`
}

func viewEventSchema(s rondo.EventSchema) eventSchema {
	return eventSchema{EventType: s.Type, PublishedBy: s.PublishedBy, Schema: anyJSON(s.Schema)}
}

type (
	eventOut   struct{ Body ledgerEvent }
	schemaOut  struct{ Body eventSchema }
	schemasOut struct{ Body page[eventSchema] }
)

func (a *API) registerEvents(r *registrar) {
	handle(r, "publish-event", envelope{}, a.publishEvent)
	r.also("publish-event", http.StatusOK, "The event was known already; the outcome is the first one's")
	handle(r, "search-events", nil, a.searchEvents)
	handle(r, "get-event", nil, a.getEvent)
	handle(r, "replay-event", nil, a.replayEvent)
	handle(r, "list-event-schemas", nil, a.listEventSchemas)
	handle(r, "get-event-schema", nil, a.getEventSchema)
	a.registerDeadLetters(r)
	a.registerConsumption(r)
	a.registerAsyncAPI(r)
}

// publishEvent answers 202 for an event that is new and 200 for one that is
// known already.
func (a *API) publishEvent(ctx context.Context, c *call) (*receiptOut, error) {
	got, err := a.cfg.Cases.PublishEvent(ctx, c.principal, c.body)
	if err != nil {
		return nil, err
	}
	out := &receiptOut{Status: http.StatusAccepted, Body: viewReceipt(got)}
	if got.Duplicate {
		out.Status = http.StatusOK
	}
	return out, nil
}

func (a *API) searchEvents(ctx context.Context, c *call) (*ledgerOut, error) {
	if !c.query.Has("case_id") && !c.query.Has("outcome") {
		const told = "give case_id, or outcome, or both"
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the ledger as a whole is not a list", Hint: told,
			Fields: []rondo.FieldError{{Code: "required", Pointer: "query/case_id", Message: told}},
		}
	}
	pg, err := queryPage(c.query, listLedger)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Events.EventList(ctx, c.principal, store.EventFilter{
		OrgID: c.principal.Tenant, CaseID: c.query.Get("case_id"), Outcome: rondo.Outcome(c.query.Get("outcome")), Type: c.query.Get("event_type"),
	}, pg)
	if err != nil {
		return nil, err
	}
	id := func(e rondo.EventRecord) rondo.ID { return e.ID }
	return &ledgerOut{Body: paged(rows, pg.Limit, listLedger, id, viewEvent)}, nil
}

func (a *API) getEvent(ctx context.Context, c *call) (*eventOut, error) {
	row, err := a.cfg.Events.Event(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &eventOut{Body: viewEvent(*row)}, nil
}

func (a *API) replayEvent(ctx context.Context, c *call) (*receiptOut, error) {
	got, err := a.cfg.Events.ReplayEvent(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &receiptOut{Status: http.StatusOK, Body: viewReceipt(got)}, nil
}

func (a *API) listEventSchemas(ctx context.Context, c *call) (*schemasOut, error) {
	found, err := a.cfg.Events.EventSchemas(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listSchemas, viewed(found, viewEventSchema), func(s eventSchema) string { return s.EventType })
	return &schemasOut{Body: body}, err
}

func (a *API) getEventSchema(ctx context.Context, c *call) (*schemaOut, error) {
	found, err := a.cfg.Events.EventSchema(ctx, c.principal, c.name)
	if err != nil {
		return nil, err
	}
	return &schemaOut{Body: viewEventSchema(found)}, nil
}
