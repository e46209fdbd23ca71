package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/turn"
)

// chatReplay names the definition to replay through: exactly one member.
type chatReplay struct {
	_            struct{}           `json:"-" additionalProperties:"true"`
	DefinitionID *string            `json:"definitionId,omitempty" format:"uuid" doc:"Of a definition of the registry, a draft too"`
	Definition   *string            `json:"definition,omitempty" doc:"Name of an active or shipped definition"`
	Body         map[string]anyJSON `json:"body,omitempty" doc:"A definition as it would be written into the registry"`
}

// replayConversation takes the recorded turns through another definition. It
// changes nothing.
func (a *API) replayConversation(ctx context.Context, service Chat, c *call) (any, error) {
	var id, name string
	var body json.RawMessage
	err := decodeOpen(c.body,
		phrase("definitionId", false, &id, func(s string) (string, string) {
			if _, err := rondo.ParseID(s); err != nil {
				return "not_a_uuid", "use a UUID"
			}
			return "", ""
		}),
		phrase("definition", false, &name, func(s string) (string, string) {
			if !identifier(s) {
				return "not_an_identifier", "use " + identifierRule
			}
			return "", ""
		}),
		object("body", &body))
	if err != nil {
		return nil, err
	}
	var definition *turn.Definition
	switch {
	case id != "" && name == "" && body == nil:
		definition, err = a.registered(ctx, c.principal, id)
	case id == "" && name != "" && body == nil:
		definition, _, err = service.Definition(ctx, c.chatCaller(), name)
		if rondo.CodeOf(err) == rondo.CodeNotFound {
			err = unknownDefinition()
		}
	case id == "" && name == "" && body != nil:
		definition, err = compiled(body, "/body")
	default:
		err = badBody(rondo.FieldError{Code: "required", Message: "give exactly one of definitionId, definition and body"})
	}
	if err != nil {
		return nil, err
	}
	return service.Replay(ctx, c.chatCaller(), c.chat.id, definition)
}

// registered is a conversation definition of the caller's organisation.
func (a *API) registered(ctx context.Context, p rondo.Principal, id string) (*turn.Definition, error) {
	which, err := rondo.ParseID(id)
	if err != nil {
		return nil, rondo.Op("read definitionId", err)
	}
	found, err := a.cfg.Definitions.Definition(ctx, p, which)
	if rondo.CodeOf(err) == rondo.CodeNotFound || err == nil && found.Kind != rondo.KindConversation {
		return nil, badBody(rondo.FieldError{Code: "unknown_definition", Pointer: "/definitionId", Message: "name a conversation definition of your organisation"})
	}
	if err != nil {
		return nil, err
	}
	return compiled(found.Body, "")
}

// compiled reads a definition; what is wrong with it is told with pointers below
// the given place.
func compiled(body []byte, place string) (*turn.Definition, error) {
	definition, wrong := turn.Compile(body)
	if len(wrong) == 0 {
		return definition, nil
	}
	for i := range wrong {
		wrong[i].Pointer = place + wrong[i].Pointer
	}
	return nil, &rondo.Error{Code: rondo.CodeInvalidDef, Message: "the definition breaks publish rules", Hint: "correct what errors lists", Fields: wrong}
}

// unknownDefinition says that a body names a definition which is not there, and
// what is there for everybody.
func unknownDefinition() error {
	shipped := strings.Join(slices.Sorted(maps.Keys(turn.Shipped())), ", ")
	return badBody(rondo.FieldError{
		Code: "unknown_definition", Pointer: "/definition",
		Message: "name a conversation definition that is published or shipped; shipped ones are " + shipped,
	})
}
