package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/rondo-engine/rondo/internal/cond"
)

// Bounds on what selectors may make.
const (
	maxValue      = 1 << 20  // bytes of the context, and of one value
	maxSpent      = 16 << 20 // bytes of all values of one call
	maxValueDepth = 100      // objects and arrays inside each other
)

var errTooLarge = errors.New("the value becomes too large or too deep: keep less in the context")

// env is what guards ask.
func (r *run) env() cond.Env {
	return cond.Env{
		Lookup: r.lookup,
		Now:    func() int64 { return r.scope.Now.UnixMilli() },
		Sample: func(float64) bool { return false }, // refused by Compile
	}
}

// lookup finds a value for a guard. What was decoded once is kept until it
// changes.
func (r *run) lookup(path []string) (any, error) {
	name, rest := path[0], path[1:]
	if name == "context" && len(rest) > 0 {
		name, rest = "context."+rest[0], rest[1:]
	}
	value, known := r.decoded[name]
	if !known {
		raw, err := r.source(path[:len(path)-len(rest)])
		if err != nil {
			return nil, err
		}
		if raw != nil {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("%s is no JSON value", name)
			}
		}
		if name != "context" {
			r.decoded[name] = value
		}
	}
	for _, member := range rest {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, nil
		}
		value = object[member]
	}
	return value, nil
}

// source returns the JSON that a path begins in: a root, or a member of the
// context; nil = there is nothing.
func (r *run) source(path []string) (json.RawMessage, error) {
	switch {
	case path[0] == "context" && len(path) > 1:
		return r.context[path[1]], nil
	case path[0] == "context":
		return encode(r.context)
	case path[0] == "event":
		event := map[string]json.RawMessage{"type": appendJSON(nil, r.event.name)}
		if r.event.payload != nil {
			event["payload"] = r.event.payload
		}
		if r.event.output != nil {
			event["output"] = r.event.output
		}
		return encode(event)
	}
	if r.scope.Root == nil {
		return nil, nil
	}
	return r.scope.Root(path[0])
}

func encode(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a value is no JSON: %w", err)
	}
	return raw, nil
}

// resolve computes a selector; nil = there is nothing.
func (r *run) resolve(s *selector) (json.RawMessage, error) {
	raw, err := r.compute(s)
	if err != nil {
		return nil, err
	}
	if r.spent += len(raw); r.spent > maxSpent || len(raw) > maxValue || nesting(raw) > maxValueDepth {
		return nil, errTooLarge
	}
	return raw, nil
}

func (r *run) compute(s *selector) (json.RawMessage, error) {
	switch {
	case s.path != nil:
		return r.follow(s.path)
	case s.merge != nil:
		merged := map[string]json.RawMessage{}
		for _, part := range s.merge {
			members, err := r.members(part, "merge")
			if err != nil {
				return nil, err
			}
			maps.Copy(merged, members)
		}
		return encode(merged)
	case s.pick != nil:
		members, err := r.members(s.pick.from, "pick")
		if err != nil {
			return nil, err
		}
		picked := map[string]json.RawMessage{}
		for _, name := range s.pick.fields {
			if raw, ok := members[name]; ok {
				picked[name] = raw
			}
		}
		return encode(picked)
	case s.text != nil:
		raw, err := r.resolve(s.text)
		if err != nil {
			return nil, err
		}
		return textOf(raw)
	}
	return s.constant, nil
}

// follow walks a path.
func (r *run) follow(path []string) (json.RawMessage, error) {
	head := 1
	if path[0] == "context" {
		head = min(2, len(path))
	}
	raw, err := r.source(path[:head])
	for _, name := range path[head:] {
		if err != nil || !isObject(raw) {
			return nil, err
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil, fmt.Errorf("%s is no JSON value", strings.Join(path, "."))
		}
		raw = object[name]
	}
	return raw, err
}

// members returns the members of an object; nothing and null have none.
func (r *run) members(s *selector, what string) (map[string]json.RawMessage, error) {
	raw, err := r.resolve(s)
	if err != nil || raw == nil || string(bytes.TrimSpace(raw)) == "null" {
		return nil, err
	}
	var object map[string]json.RawMessage
	if !isObject(raw) || json.Unmarshal(raw, &object) != nil {
		return nil, fmt.Errorf("%s takes objects, and one of its values is none", what)
	}
	return object, nil
}

func isObject(raw json.RawMessage) bool { return value{raw: raw}.kind() == '{' && len(raw) > 0 }

// textOf writes a value as JSON text in a JSON string. The text depends on the
// value alone, not on how it was written.
func textOf(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return json.RawMessage(`"null"`), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, errors.New("a value is no JSON")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(decoded); err != nil {
		return nil, fmt.Errorf("write a value as text: %w", err)
	}
	return encode(strings.TrimSuffix(text.String(), "\n"))
}

// nesting is how deep objects and arrays are inside each other.
func nesting(raw json.RawMessage) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
