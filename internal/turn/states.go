package turn

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// state is what a turn must know of a state of the machine beside its behaviour:
// what it says of the workflow's status, and how it is nested, to find the way back
// to it from its step alone.
type state struct {
	key      string // "" = the machine itself
	at       string // JSON Pointer into the definition
	parallel bool
	history  bool
	initial  string
	step     string // meta.step
	status   string // meta.status
	on       []string
	parent   *state
	children []*state // in written order
}

// readStates reads a machine that was compiled.
func readStates(raw json.RawMessage, key, at string, parent *state) *state {
	s := &state{key: key, at: at, parent: parent}
	var written struct {
		Type    string                     `json:"type"`
		Initial json.RawMessage            `json:"initial"`
		States  json.RawMessage            `json:"states"`
		On      map[string]json.RawMessage `json:"on"`
		Meta    struct {
			Step   json.RawMessage `json:"step"`
			Status json.RawMessage `json:"status"`
		} `json:"meta"`
	}
	_ = json.Unmarshal(raw, &written) // compiled before: what it has of these is of these types
	s.parallel, s.history = written.Type == "parallel", written.Type == "history"
	s.initial = initialOf(written.Initial)
	s.step, _ = text(written.Meta.Step)
	if s.status, _ = text(written.Meta.Status); s.status == "" && !isNull(written.Meta.Status) {
		s.status = string(written.Meta.Status) // of a wrong type: refused by its text
	}
	for name := range written.On {
		s.on = append(s.on, name)
	}
	for name, child := range members(written.States) {
		s.children = append(s.children, readStates(child, name, at+pointer("states", name), s))
	}
	return s
}

// initialOf reads ".key", "key" or an object with a target.
func initialOf(raw json.RawMessage) string {
	key, ok := text(raw)
	if !ok {
		var written struct {
			Target json.RawMessage `json:"target"`
		}
		if json.Unmarshal(raw, &written) != nil {
			return ""
		}
		key, _ = text(written.Target)
	}
	if key != "" && key[0] == '.' {
		key = key[1:]
	}
	return key
}

// members yields the members of an object in written order.
func members(raw json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		type member struct {
			name  string
			value json.RawMessage
		}
		var list []member
		if canon.Members(raw, canon.Limits{Depth: maxDepth, Bytes: maxBytes, Tokens: maxBytes}, func(name, value []byte) {
			list = append(list, member{string(name), slices.Clone(value)})
		}) != nil {
			return
		}
		for _, m := range list {
			if !yield(m.name, m.value) {
				return
			}
		}
	}
}

// all yields a state and everything below it, in written order.
func (s *state) all(yield func(*state) bool) bool {
	if !yield(s) {
		return false
	}
	for _, child := range s.children {
		if !child.all(yield) {
			return false
		}
	}
	return true
}

// active yields the children that are active in a state's value, with theirs.
func (s *state) active(value json.RawMessage) func(yield func(*state, json.RawMessage) bool) {
	return func(yield func(*state, json.RawMessage) bool) {
		one, _ := text(value)
		several, _ := object(value)
		for _, child := range s.children {
			inside, there := several[child.key]
			if (there || one != "" && one == child.key) && !yield(child, inside) {
				return
			}
		}
	}
}

// statusIn is what the active states say of the workflow's status: the deepest one
// that says something, in the first region that does; "" when none does.
func (s *state) statusIn(value json.RawMessage) rondo.WorkflowStatus {
	for child, inside := range s.active(value) {
		if status := child.statusIn(inside); status != "" {
			return status
		}
	}
	return rondo.WorkflowStatus(s.status)
}

// listens reports whether an active state names an event; a wildcard does not.
func (s *state) listens(value json.RawMessage, event string) bool {
	if slices.Contains(s.on, event) {
		return true
	}
	for child, inside := range s.active(value) {
		if child.listens(inside, event) {
			return true
		}
	}
	return false
}

// hears reports whether some state waits for an event, by name or by wildcard.
func (s *state) hears(event string) bool {
	return !s.all(func(s *state) bool {
		return !slices.ContainsFunc(s.on, func(name string) bool {
			family, wild := strings.CutSuffix(name, ".*")
			return name == event || name == "*" || wild && (event == family || strings.HasPrefix(event, family+"."))
		})
	})
}

// place writes the value in which the wanted states are active, as far as they can
// be together, the first before the others; whatever they leave open is where it
// begins.
func (s *state) place(wanted []*state) any {
	if s.parallel {
		regions := map[string]any{}
		for _, child := range s.children {
			if !child.history {
				regions[child.key] = child.place(wanted)
			}
		}
		return regions
	}
	child := s.toward(wanted)
	switch {
	case child == nil:
		return map[string]any{}
	case len(child.children) == 0:
		return child.key
	}
	return map[string]any{child.key: child.place(wanted)}
}

// toward is the child that leads to the first wanted state below s, else the
// initial one; nil when s has none.
func (s *state) toward(wanted []*state) *state {
	for _, target := range wanted {
		for ; target != nil; target = target.parent {
			if target.parent == s {
				return target
			}
		}
	}
	for _, child := range s.children {
		if child.key == s.initial {
			return child
		}
	}
	return nil
}
