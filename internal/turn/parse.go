package turn

import (
	"slices"

	"github.com/rondo-engine/rondo"
)

// Parse says what an agent's answer means. It never fails: structured data that
// does not match the schema makes a parse_error, and none at all a passthrough.
// All messages are shown whatever they mean.
func (d *Definition) Parse(reply Reply) rondo.ParsedTurn {
	parsed := rondo.ParsedTurn{
		Kind:            rondo.TurnPassthrough,
		DisplayMessages: cloneMessages(reply.Messages),
		Citations:       []string{},
		ParseErrors:     []string{},
	}
	if reply.Payload == nil {
		return parsed
	}
	if wrong := checkSchema(d.schema, reply.Payload.Data); len(wrong) > 0 {
		parsed.Kind, parsed.ParseErrors = rondo.TurnParseError, wrong
		return parsed
	}
	parsed.Kind = rondo.TurnStructured
	parsed.Data = cloneMembers(reply.Payload.Data)
	if action, ok := text(parsed.Data["action"]); ok {
		parsed.NextAction = &action
	}
	if prompt, ok := text(parsed.Data["prompt"]); ok {
		parsed.NextPrompt = &prompt
	}
	confidence := reply.Payload.Confidence
	parsed.Confidence = &confidence
	switch cited := texts(parsed.Data["citations"]); {
	case cited != nil:
		parsed.Citations = cited
	case len(reply.Citations) > 0:
		parsed.Citations = slices.Clone(reply.Citations)
	}
	return parsed
}

// cloneMessages copies messages with all they hold.
func cloneMessages(messages []rondo.NormalizedMessage) []rondo.NormalizedMessage {
	copied := make([]rondo.NormalizedMessage, len(messages))
	for i, m := range messages {
		m.CardJSON = slices.Clone(m.CardJSON)
		if m.ExtractedPayload != nil {
			m.ExtractedPayload = clonePayload(m.ExtractedPayload)
		}
		copied[i] = m
	}
	return copied
}
