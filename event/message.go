package event

import (
	"bytes"
	"encoding/json"
)

// MessageSchema returns the JSON Schema (2020-12) of a whole event of a type: the
// envelope with a payload that fits the given schema. A payload without a schema
// (nil) is any object.
func MessageSchema(eventType string, payload []byte) ([]byte, error) {
	return encodeDocument(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"$id", "urn:rondo:message:" + eventType + ":" + SchemaVersion},
		{"title", eventType},
		{"type", "object"},
		{"properties", append(envelopeMembers(object{{"const", eventType}}, AboutRun(eventType)), member{"payload", payloadSchema(payload)})},
		{"required", required(AboutRun(eventType))},
	})
}

// FailureSchema returns the JSON Schema of the payload of every failed event.
func FailureSchema() []byte {
	schema, _ := Schema(TypeAIReviewFailed) // embedded, and alike for every kind
	return schema
}

// envelopeMembers describes every member of the envelope but the payload.
func envelopeMembers(eventType object, aboutRun bool) object {
	id := object{{"type", "string"}, {"minLength", 1}, {"maxLength", 128}}
	of := func(description string) object {
		return append(append(object{}, id...), member{"description", description})
	}
	caseID, productID, run := of("The case."), of("What the case is about."), object{}
	if aboutRun {
		caseID, productID = of("The case that started the run; missing when none did."), of("What that case is about.")
		run = object{{"run_id", of("The run.")}}
	}
	return append(object{
		{"event_id", object{{"type", "string"}, {"format", "uuid"}, {"description", "New for every event, the same when it is sent again: repeats are told by it."}}},
		{"event_type", append(object{{"type", "string"}}, eventType...)},
		{"schema_version", object{{"const", SchemaVersion}}},
		{"occurred_at", object{{"type", "string"}, {"format", "date-time"}}},
		{"correlation_id", of("Of a request: new for every attempt. Of an answer: that of the request. Of workflow.* events: the instance. Of what becomes of a run: the run's own.")},
		{"causation_id", of("The event_id of what caused this.")},
		{"case_id", caseID},
		{"org_id", of("Whose it is.")},
		{"product_id", productID},
		{"traceparent", object{{"type", "string"}, {"description", "W3C trace context."}}},
	}, run...)
}

// required are the members that every envelope has: of a case, or about a run.
func required(aboutRun bool) []string {
	if aboutRun {
		return []string{"event_id", "event_type", "schema_version", "occurred_at", "correlation_id", "org_id", "run_id", "payload"}
	}
	return []string{"event_id", "event_type", "schema_version", "occurred_at", "correlation_id", "case_id", "org_id", "product_id", "payload"}
}

// payloadSchema is a payload's schema as a part of another document: without the
// members that only the root of a document has.
func payloadSchema(schema []byte) any {
	if len(schema) == 0 {
		return object{{"type", "object"}}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return json.RawMessage(schema) // true and false are schemas too
	}
	if _, resolves := members["$defs"]; resolves {
		return json.RawMessage(schema) // references are resolved within its own $id
	}
	delete(members, "$schema")
	delete(members, "$id")
	return members
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members as they come.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, m.name), ':')
		value, err := plain(m.value)
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, '}'), nil
}

// plain encodes without the escapes that HTML needs.
func plain(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// encodeDocument writes a document for people and programs.
func encodeDocument(document object) ([]byte, error) {
	compact, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
