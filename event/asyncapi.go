package event

import (
	"encoding/json"
	"strings"
)

// AsyncAPI returns the AsyncAPI 3.0 document of one role: the streams that it
// sends to and receives from, with the schema of every event. The orchestrator's
// has them all; a module's is its mirror image. version is that of the program.
func AsyncAPI(version string, role Role) ([]byte, error) {
	var channels, operations, messages object
	for _, name := range Types() {
		action, ok := role.takesPart(name)
		if !ok {
			continue
		}
		title, description, payload := describe(name)
		channels = append(channels, member{name, object{
			{"address", "events:" + name},
			{"title", title},
			{"description", description},
			{"messages", object{{name, ref("#/components/messages/" + name)}}},
			{"tags", tags(name)},
		}})
		operations = append(operations, member{action + "." + name, object{
			{"action", action},
			{"channel", ref("#/channels/" + name)},
			{"title", strings.ToUpper(action[:1]) + action[1:] + " " + name},
			{"summary", description},
			{"tags", tags(name)},
			{"messages", []object{ref("#/channels/" + name + "/messages/" + name)}},
		}})
		messages = append(messages, member{name, object{
			{"name", name},
			{"title", title},
			{"summary", description},
			{"contentType", "application/json"},
			{"correlationId", ref("#/components/correlationIds/attempt")},
			{"payload", object{{"allOf", []object{ref("#/components/schemas/" + envelopeOf(name)), {
				{"type", "object"},
				{"properties", object{{"event_type", object{{"const", name}}}, {"payload", payload}}},
			}}}}},
		}})
	}
	return encodeDocument(object{
		{"asyncapi", "3.0.0"},
		{"info", object{
			{"title", "Rondo events: " + string(role)},
			{"version", version},
			{"description", "What the role " + string(role) + " sends and receives. There is one stream per event type; a consumer group shares the entries of its streams; delivery is at least once. Modules recognise repeats by correlation_id, the orchestrator by event_id."},
			{"tags", roleTags()},
		}},
		{"defaultContentType", "application/json"},
		{"servers", servers()},
		{"channels", channels},
		{"operations", operations},
		{"components", object{
			{"messages", messages},
			{"schemas", object{
				{"envelope", envelopeSchema("Envelope", "What every event has that is about a case. Members beyond these are kept.", false)},
				{"run_envelope", envelopeSchema("Envelope of a run", "What every event has that is about a run. Members beyond these are kept.", true)},
			}},
			{"correlationIds", object{{"attempt", object{
				{"description", "Of a request and its answer: the attempt that asks."},
				{"location", "$message.payload#/correlation_id"},
			}}}},
		}},
	})
}

// envelopeOf names the schema of a type's envelope.
func envelopeOf(eventType string) string {
	if AboutRun(eventType) {
		return "run_envelope"
	}
	return "envelope"
}

func envelopeSchema(title, description string, aboutRun bool) object {
	return object{
		{"title", title},
		{"description", description},
		{"type", "object"},
		{"properties", append(envelopeMembers(nil, aboutRun), member{"payload", object{{"type", "object"}}})},
		{"required", required(aboutRun)},
	}
}

// servers are the two ways on which events travel.
func servers() object {
	host := func(value, description string) object {
		return object{{"host", object{{"default", value}, {"description", description}}}}
	}
	return object{
		{"redis", object{
			{"host", "{host}"},
			{"protocol", "redis"},
			{"title", "Redis Streams"},
			{"description", "The address of a channel is the key of its stream. An entry has the field envelope with the event as JSON."},
			{"variables", host("localhost:6379", "Host and port of Redis.")},
		}},
		{"http", object{
			{"host", "{host}"},
			{"protocol", "http"},
			{"title", "Rondo's own API"},
			{"description", "For modules without Redis: POST /events publishes, GET /events/stream delivers as server-sent events, POST /events/acks acknowledges."},
			{"variables", host("localhost:3006", "Host and port of Rondo.")},
		}},
	}
}

// describe reads what a type's own schema says of it.
func describe(eventType string) (title, description string, payload any) {
	raw, _ := Schema(eventType) // every type of the catalogue has one
	var words struct{ Title, Description string }
	_ = json.Unmarshal(raw, &words) // so has every schema; the tests hold it
	return words.Title, words.Description, payloadSchema(raw)
}

func tags(eventType string) []object {
	var names []object
	for _, role := range partners(eventType) {
		names = append(names, object{{"name", string(role)}})
	}
	return names
}

func roleTags() []object {
	var names []object
	for _, role := range Roles() {
		names = append(names, object{{"name", string(role)}})
	}
	return names
}

func ref(to string) object { return object{{"$ref", to}} }
