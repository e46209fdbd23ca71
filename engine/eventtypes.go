package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/store"
)

// Who publishes a type, as EventSchema says it.
const (
	byOrchestrator = "orchestrator"
	byModules      = "modules"
)

// EventSchemas describes every event type that the organisation can meet: the
// catalogue, and those of its own step kinds and definitions, by name.
func (e *Engine) EventSchemas(ctx context.Context, p rondo.Principal) ([]rondo.EventSchema, error) {
	payloads, err := e.payloads(ctx, p.Tenant)
	if err != nil {
		return nil, err
	}
	schemas := make([]rondo.EventSchema, 0, len(payloads))
	for _, name := range slices.Sorted(maps.Keys(payloads)) {
		schema, err := eventSchema(name, payloads[name])
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, schema)
	}
	return schemas, nil
}

// EventSchema describes one event type of the organisation.
func (e *Engine) EventSchema(ctx context.Context, p rondo.Principal, eventType string) (rondo.EventSchema, error) {
	payload, known := event.Schema(eventType)
	if !known {
		payloads, err := e.payloads(ctx, p.Tenant)
		if err != nil {
			return rondo.EventSchema{}, err
		}
		if payload, known = payloads[eventType]; !known {
			return rondo.EventSchema{}, rondo.NotFound("event type")
		}
	}
	return eventSchema(eventType, payload)
}

func eventSchema(eventType string, payload []byte) (rondo.EventSchema, error) {
	schema, err := event.MessageSchema(eventType, payload)
	if err != nil {
		return rondo.EventSchema{}, rondo.Op("write the schema of "+eventType, err)
	}
	publisher := byModules
	if event.PublishedByOrchestrator(eventType) {
		publisher = byOrchestrator
	}
	return rondo.EventSchema{Type: eventType, PublishedBy: publisher, Schema: schema}, nil
}

// payloads are the payload schemas of every event type of an organisation; nil =
// any object. A type of a newer contract replaces that of an older one.
func (e *Engine) payloads(ctx context.Context, org string) (map[string][]byte, error) {
	found := map[string][]byte{}
	published, err := e.store.DefinitionList(ctx, store.DefinitionFilter{OrgID: org, Kind: rondo.KindCase}, store.Page{})
	if err != nil {
		return nil, rondo.Op("list definitions", err)
	}
	for _, d := range slices.Backward(published) { // newest first
		if d.SnapshotHash == "" {
			continue
		}
		snapshot, err := e.snapshots.Get(ctx, d.SnapshotHash)
		if err != nil {
			return nil, err
		}
		for _, step := range snapshot.Steps {
			if step.WaitFor != "" && found[step.WaitFor] == nil {
				found[step.WaitFor] = nil
			}
			contractPayloads(step.Contract, found)
		}
	}
	kinds, err := e.store.StepKinds(ctx, org)
	if err != nil {
		return nil, rondo.Op("list step kinds", err)
	}
	for _, kind := range kinds {
		if contract, err := definition.ParseContract(kind.Contract); err == nil { // else it cannot be used
			contractPayloads(contract, found)
		}
	}
	for _, name := range event.Types() {
		found[name], _ = event.Schema(name)
	}
	return found, nil
}

// contractPayloads adds the payload schemas of a kind's own event types.
func contractPayloads(c *definition.Contract, found map[string][]byte) {
	var written struct {
		OutputSchema json.RawMessage `json:"output_schema"`
	}
	_ = json.Unmarshal(c.JSON(), &written) // it was compiled from this
	if c.Requested != "" {
		found[c.Requested] = requestSchema(c)
	}
	if c.Completed != "" {
		found[c.Completed] = written.OutputSchema
	}
	for _, eventType := range []string{c.Failed, c.Cancelled} {
		if eventType != "" {
			found[eventType] = event.FailureSchema()
		}
	}
}

// requestSchema says which members a request has; their values are what params
// and context hold, so only constants are known.
func requestSchema(c *definition.Contract) []byte {
	type property struct {
		Const json.RawMessage `json:"const,omitempty"`
	}
	schema := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
	}{Type: "object", Properties: map[string]property{}}
	for _, name := range slices.Sorted(maps.Keys(c.Request)) {
		selector := c.Request[name]
		schema.Properties[name] = property{Const: selector.Const}
		if selector.Required || selector.Const != nil {
			schema.Required = append(schema.Required, name)
		}
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil // any object
	}
	return raw
}

// checkType refuses an event type that the organisation has no use for. Whether
// another one has is not told.
func (e *Engine) checkType(ctx context.Context, org, eventType string) error {
	if event.Known(eventType) || e.types.owns(org, eventType) {
		return nil
	}
	payloads, err := e.payloads(ctx, org)
	if err != nil {
		return err
	}
	if _, known := payloads[eventType]; known {
		e.types.own(org, eventType)
		return nil
	}
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: fmt.Sprintf("the event type %s is not known here", eventType),
		Hint:   "GET /events/schemas lists the event types of your organisation; those of a step kind are there once it is published",
		Fields: []rondo.FieldError{{Code: "unknown_event_type", Pointer: "/event_type", Message: "use an event type of the catalogue or of a published step kind"}},
	}
}

// checkTypes refuses event types that the organisation has no use for.
func (e *Engine) checkTypes(ctx context.Context, org string, types []string) error {
	var payloads map[string][]byte
	var unknown []string
	for _, name := range types {
		if event.Known(name) {
			continue
		}
		if payloads == nil {
			var err error
			if payloads, err = e.payloads(ctx, org); err != nil {
				return err
			}
		}
		if _, known := payloads[name]; !known {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	refusal := &rondo.Error{
		Code: rondo.CodeInvalid, Message: "not known here: " + strings.Join(unknown, ", "),
		Hint: "GET /events/schemas lists the event types of your organisation; those of a step kind are there once it is published",
	}
	for _, name := range unknown {
		refusal.Fields = append(refusal.Fields, rondo.FieldError{
			Code: "unknown_event_type", Pointer: "query/types", Message: name + " is neither in the catalogue nor an event type of your published step kinds",
		})
	}
	return refusal
}
