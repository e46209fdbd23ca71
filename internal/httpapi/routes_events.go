package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

const (
	nounEvent      = "event"
	nounDeadLetter = "dead letter"
	nounEventType  = "event type"
	nounGroup      = "consumer group"
)

func eventRoutes() []Route {
	events := []string{rondo.ScopeEvents}
	schemas := []string{rondo.ScopeRead, rondo.ScopeEvents}
	return []Route{
		{ID: "publish-event", Method: post, Path: "/events", Tag: "events", Summary: "Publish one event envelope; answers after it is durable", Scopes: events, Body: BodyRequired, Success: http.StatusAccepted},
		{ID: "search-events", Method: get, Path: "/events", Tag: "events", Summary: "List inbound events of a case or with an outcome, newest first", Scopes: readInstances, Query: eventFilters()},
		{ID: "get-event", Method: get, Path: "/events/{id}", Tag: "events", Summary: "Read one inbound event by its event id, with the verdict on it", Scopes: readInstances, Noun: nounEvent, Query: orgOnly()},
		{ID: "replay-event", Method: post, Path: "/events/{id}/replay", Tag: "events", Summary: "Judge an unmatched event again, in place", Scopes: administering, Noun: nounEvent, Query: orgOnly(), Errors: conflict},

		{ID: "list-event-schemas", Method: get, Path: "/events/schemas", Tag: "events", Summary: "List the event types of the organisation, each with its JSON Schema", Scopes: schemas, Query: orgPaged()},
		{ID: "get-event-schema", Method: get, Path: "/events/schemas/{name}", Tag: "events", Summary: "Read the JSON Schema of one event type", Scopes: schemas, Noun: nounEventType, Query: orgOnly()},

		{ID: "stream-events", Method: get, Path: "/events/stream", Tag: "events", Summary: "Receive events as server-sent events, for modules without Redis", Scopes: events, Query: streamParams(), Errors: []int{http.StatusTooManyRequests}},
		{ID: "ack-events", Method: post, Path: "/events/acks", Tag: "events", Summary: "Say that events of a stream are done; others come again after a minute", Scopes: events, Body: BodyRequired},
		{ID: "list-groups", Method: get, Path: "/events/groups", Tag: "events", Summary: "List the consumer groups on the bus and how far each is behind", Scopes: administering, Query: paging()},
		{ID: "retire-group", Method: del, Path: "/events/groups/{name}", Tag: "events", Summary: "Remove a consumer group that nobody reads, so that it keeps no old events", Scopes: administering, Noun: nounGroup, Errors: conflict},

		{ID: "list-dead-letters", Method: get, Path: "/events/dead-letters", Tag: "dead letters", Summary: "List entries that could not be applied, newest first", Scopes: readDefinitions, Query: letterFilters()},
		{ID: "get-dead-letter", Method: get, Path: "/events/dead-letters/{id}", Tag: "dead letters", Summary: "Inspect one dead letter", Scopes: readDefinitions, Noun: nounDeadLetter, Query: orgOnly()},
		{ID: "replay-dead-letter", Method: post, Path: "/events/dead-letters/{id}/replay", Tag: "dead letters", Summary: "Read a dead letter again and apply it if it is an event now", Scopes: intervening, Noun: nounDeadLetter, Query: orgOnly(), Errors: conflict},
		{ID: "discard-dead-letter", Method: post, Path: "/events/dead-letters/{id}/discard", Tag: "dead letters", Summary: "Say that a dead letter is of no use", Scopes: intervening, Noun: nounDeadLetter, Query: orgOnly(), Body: BodyRequired, Errors: conflict},

		{ID: "get-asyncapi", Method: get, Path: "/asyncapi.json", Tag: "documentation", Summary: "The events as an AsyncAPI 3.0 document, of the orchestrator or of a module", Query: roleParam(), Quiet: true},
	}
}

func eventFilters() []Param {
	return append(append(orgOnly(),
		Param{Name: "outcome", Doc: "With this outcome only. Needed unless case_id is given", Enum: []string{string(rondo.OutcomeParked), string(rondo.OutcomeUnmatched), string(rondo.OutcomeRejected)}},
		Param{Name: "case_id", Doc: "Of this case only. Needed unless outcome is given"},
		Param{Name: "event_type", Doc: "Of this type only"},
	), paging()...)
}

func letterFilters() []Param {
	return append(append(orgOnly(),
		Param{Name: "status", Doc: "In this state only", Enum: []string{string(rondo.DeadLetterOpen), string(rondo.DeadLetterReplayed), string(rondo.DeadLetterDiscarded)}},
		Param{Name: "stream", Doc: "From the stream of this event type only"},
	), paging()...)
}

func streamParams() []Param {
	return []Param{
		{Name: "types", Doc: "The event types to receive, joined by commas, at most 64", Format: "list"},
		{Name: "group", Doc: "The consumer group: streams of one group share its events. 1 to 64 letters, digits, dots, hyphens and underscores", Format: "group"},
	}
}

func roleParam() []Param {
	var roles []string
	for _, role := range event.Roles() {
		roles = append(roles, string(role))
	}
	return []Param{{Name: "role", Doc: "Whose document: default orchestrator", Enum: roles}}
}
