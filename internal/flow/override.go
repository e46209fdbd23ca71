package flow

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// overridden is a step whose next request differs from what the definition says:
// members of override replace members of the request, or params that it is built
// from. Only that one attempt is asked so; automatic retries after it follow the
// definition again. What the kind or the event's schema does not allow is
// refused.
func (m *move) overridden(step *definition.Step, override json.RawMessage) (*definition.Step, error) {
	if isNull(override) {
		return step, nil
	}
	if !isObject(override) || !json.Valid(override) {
		return nil, invalidParam(overrideAt, "type", "input_override must be an object")
	}
	if step.Contract.Behaviour != definition.BehaviourRequest {
		return nil, invalidParam(overrideAt, "not_a_request", "step "+step.ID+" sends no request that could be overridden: leave input_override out")
	}
	asked, contract := *step, *step.Contract
	asked.Params, contract.Request = maps.Clone(step.Params), maps.Clone(step.Contract.Request)
	asked.Contract = &contract
	if asked.Params == nil {
		asked.Params = map[string]json.RawMessage{}
	}
	usable := paramsOf(step.Contract.Request)
	members := map[string]string{} // param → the member that gives it
	var wrong []rondo.FieldError
	for key, value := range eachMember(override) {
		name := text(key)
		selector, isMember := step.Contract.Request[name]
		switch {
		case isMember:
			contract.Request[name] = definition.Selector{Const: value}
			if selector.Param != "" {
				asked.Params[selector.Param], members[selector.Param] = value, name
			}
		case slices.Contains(usable, name):
			asked.Params[name] = value
		default:
			wrong = append(wrong, rondo.FieldError{
				Code: "unknown_member", Pointer: overrideAt + "/" + escaped(name),
				Message: "is no member of the request of " + step.Kind + "; use " + listed(slices.Sorted(maps.Keys(step.Contract.Request)), "or"),
			})
		}
	}
	if len(wrong) == 0 {
		wrong = m.checkOverride(&asked, members)
	}
	if len(wrong) > 0 {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "input_override does not fit the step: " + wrong[0].Pointer + " " + wrong[0].Message, Fields: wrong}
	}
	return &asked, nil
}

const overrideAt = "/input_override"

// checkOverride checks the params and the request that result.
func (m *move) checkOverride(asked *definition.Step, members map[string]string) []rondo.FieldError {
	if err := asked.Contract.ParamsSchema.Validate(writeMembers(asked.Params)); err != nil {
		return fieldsBelow(err, overrideAt, members)
	}
	payload, broken := m.requestPayload(asked)
	if broken != "" {
		return []rondo.FieldError{{Code: "incomplete", Pointer: overrideAt, Message: broken}}
	}
	schema, err := requestSchema(asked.Contract.Requested)
	if err != nil || schema == nil {
		return nil // an organisation's own event: its kind's params are all that is known
	}
	return fieldsBelow(schema.Validate(payload), overrideAt, nil)
}

// requestSchema is the schema of a request in the catalogue; nil = it is not in
// there.
func requestSchema(eventType string) (*definition.Schema, error) {
	raw, ok := event.Schema(eventType)
	if !ok {
		return nil, nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	delete(doc, "$id") // it names the document, and schemas here stand alone
	return definition.CompileSchema(writeMembers(doc))
}

// fieldsBelow moves the places of a schema's complaints below base. renamed says
// which first names stand for others.
func fieldsBelow(err error, base string, renamed map[string]string) []rondo.FieldError {
	if err == nil {
		return nil
	}
	refusal, ok := errors.AsType[*rondo.Error](err)
	if !ok || len(refusal.Fields) == 0 {
		return []rondo.FieldError{{Code: "schema", Pointer: base, Message: err.Error()}}
	}
	fields := slices.Clone(refusal.Fields)
	for i := range fields {
		first, rest, nested := strings.Cut(strings.TrimPrefix(fields[i].Pointer, "/"), "/")
		if name, ok := renamed[first]; ok {
			fields[i].Pointer = "/" + escaped(name)
			if nested {
				fields[i].Pointer += "/" + rest
			}
		}
		fields[i].Pointer = base + fields[i].Pointer
	}
	return fields
}

// paramsOf lists the params that a request is built from.
func paramsOf(request map[string]definition.Selector) []string {
	var params []string
	var visit func(s *definition.Selector)
	visit = func(s *definition.Selector) {
		if s.Param != "" {
			params = append(params, s.Param)
		}
		for i := range s.Merge {
			visit(&s.Merge[i])
		}
		if s.Pick != nil {
			visit(&s.Pick.From)
		}
	}
	for _, selector := range request {
		visit(&selector)
	}
	return params
}

// escaped writes a name as one part of a JSON Pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
