package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rondo-engine/rondo"
)

// anyJSON accepts what readers of JSON accept. What has two readings still passes:
// it is for Key to say that it cannot be kept.
var anyJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Resolve makes the input of a step: an object of what its selectors find, members
// by name. A selector that finds nothing leaves its member out.
//
//	{"trigger": path}             into the trigger payload; "$" is all of it
//	{"step": id, "path": path}    into {"data": …, "artifacts": [{type, name, uri, hash, size,
//	                              metadata}]} of a step before; without a path, all of it
//	{"base": id, "path": path}    the same of the base run
//	{"change": path}              into {"type": …, "payload": …} of the change request
//	{"const": value}              the value
//	{"registry": {"prompt" or "config": id, "version": v}}
//	{"merge": [selectors]}        one object of several, the later wins; what is not there is skipped
//	{"pick": {"from": selector, "keys": [names]}}
//
// An output has neither ids nor times there, so that equal content makes equal
// inputs. Its error is CodeInputSelector.
func (w *Workflow) Resolve(step int, s Sources) (json.RawMessage, error) {
	st := &w.Steps[step]
	input := make([]byte, 1, 256)
	input[0] = '{'
	for i := range st.input {
		m := &st.input[i]
		value, problem := m.selector.read(w, s)
		if problem != "" {
			return nil, selectorError(st.ID, "input "+quoted(m.name), problem)
		}
		if value == nil {
			continue
		}
		if len(input) > 1 {
			input = append(input, ',')
		}
		input = append(append(input, m.quoted...), value...)
	}
	input = append(input, '}')
	if !jsontext.Value(input).IsValid(anyJSON...) {
		return nil, selectorError(st.ID, "input", "what it reads is not JSON")
	}
	return input, nil
}

// ResolveRaise makes what a step's raise sends when the step gave out: whom to, and
// the payload, {} without one. Its selectors may read the step's own output. Its
// error is CodeInputSelector.
func (w *Workflow) ResolveRaise(step int, s Sources, out Output) (caseID string, payload json.RawMessage, err error) {
	st := &w.Steps[step]
	if st.Raise == nil {
		return "", nil, &rondo.Error{Code: rondo.CodeInternal, Message: "the step " + st.ID + " raises nothing"}
	}
	others := s.Step
	s.Step = func(i int) (Output, bool) {
		if i == step {
			return out, true
		}
		if others == nil {
			return Output{}, false
		}
		return others(i)
	}
	raw, problem := st.Raise.caseID.read(w, s)
	if problem == "" && (raw == nil || json.Unmarshal(raw, &caseID) != nil || caseID == "") {
		problem = "it must find a string with something in it"
	}
	if problem != "" {
		return "", nil, selectorError(st.ID, "raise.case_id", problem)
	}
	payload = json.RawMessage("{}")
	if st.Raise.hasPayload {
		found, problem := st.Raise.payload.read(w, s)
		if found != nil {
			payload = found
		}
		if problem == "" && !jsontext.Value(payload).IsValid(anyJSON...) {
			problem = "what it reads is not JSON"
		}
		if problem != "" {
			return "", nil, selectorError(st.ID, "raise.payload", problem)
		}
	}
	return caseID, payload, nil
}

func selectorError(step, what, problem string) error {
	return &rondo.Error{
		Code:    rondo.CodeInputSelector,
		Message: fmt.Sprintf("step %s, %s: %s", step, what, problem),
		Hint:    "look at the selector and at what the steps before it gave",
	}
}

const notJSON = "what it reads is not JSON"

// read returns what a selector finds; nil = nothing. A problem says why it cannot
// be read.
func (c *selector) read(w *Workflow, s Sources) (value json.RawMessage, problem string) {
	switch c.word {
	case "trigger":
		return follow(s.Trigger, c.path)
	case "change":
		if s.Change == nil {
			return nil, ""
		}
		return readChange(s.Change, c.path)
	case "const", "registry":
		return c.value, ""
	case "step":
		if s.Step == nil {
			return nil, ""
		}
		out, ok := s.Step(c.step)
		if !ok {
			return nil, ""
		}
		return readOutput(out, c.path)
	case "base":
		if s.Base == nil {
			return nil, ""
		}
		out, ok := s.Base(c.id)
		if !ok {
			return nil, ""
		}
		return readOutput(out, c.path)
	case "merge":
		return c.merge(w, s)
	case "pick":
		return c.pick(w, s)
	}
	return nil, "the selector is of no known kind"
}

func follow(raw json.RawMessage, way path) (json.RawMessage, string) {
	if len(raw) == 0 {
		return nil, ""
	}
	found, broken := find(raw, way)
	if broken {
		return nil, notJSON
	}
	return found, ""
}

func readChange(change *rondo.ChangeRequest, way path) (json.RawMessage, string) {
	if len(way) > 0 && way[0].name == "payload" {
		return follow(change.Payload, way[1:])
	}
	seen := append([]byte(`{"type":`), quoted(change.Type)...)
	if len(change.Payload) > 0 {
		seen = append(append(seen, `,"payload":`...), change.Payload...)
	}
	return follow(append(seen, '}'), way)
}

func (c *selector) merge(w *Workflow, s Sources) (json.RawMessage, string) {
	members := map[string]json.RawMessage{}
	found := false
	for i := range c.parts {
		part, problem := c.parts[i].read(w, s)
		if problem != "" {
			return nil, problem
		}
		if part == nil {
			continue
		}
		found = true
		if problem := addMembers(members, part, "merge"); problem != "" {
			return nil, problem
		}
	}
	if !found {
		return nil, ""
	}
	return objectOf(members, sortedKeys(members)), ""
}

func (c *selector) pick(w *Workflow, s Sources) (json.RawMessage, string) {
	from, problem := c.parts[0].read(w, s)
	if problem != "" || from == nil {
		return nil, problem
	}
	members := map[string]json.RawMessage{}
	if problem := addMembers(members, from, "pick"); problem != "" {
		return nil, problem
	}
	return objectOf(members, c.keys), ""
}

func addMembers(members map[string]json.RawMessage, object json.RawMessage, word string) string {
	if kindOf(object) != '{' {
		return word + " needs objects, and found something else"
	}
	ok := eachMember(object, func(quotedName, value []byte) {
		name, err := jsontext.AppendUnquote(nil, quotedName)
		if err != nil {
			name = slices.Clone(quotedName) // a lone surrogate: it stays what it is, beside the others
		}
		members[string(name)] = value
	})
	if !ok {
		return notJSON
	}
	return ""
}

// objectOf writes those of the members that are there.
func objectOf(members map[string]json.RawMessage, names []string) json.RawMessage {
	object := []byte{'{'}
	for _, name := range names {
		value, ok := members[name]
		if !ok {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(object, quoted(name)...), ':'), value...)
	}
	return append(object, '}')
}
