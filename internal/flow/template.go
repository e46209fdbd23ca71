package flow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/definition"
)

// render fills a template: a string that is exactly {{path}} becomes the context
// value there, or null; all else stays as it is. fits is false when the result
// would be larger than MaxOutput: a short template can refer to a large value
// many times, so filling stops at the bound and what was filled is dropped.
func (m *move) render(template json.RawMessage) (rendered json.RawMessage, fits bool) {
	if isNull(template) {
		return json.RawMessage("{}"), true
	}
	if !bytes.Contains(template, []byte("{{")) {
		return template, len(template) <= MaxOutput
	}
	decoder := json.NewDecoder(bytes.NewReader(template))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return template, len(template) <= MaxOutput
	}
	r := rendering{context: m.inst.Context, members: map[string]map[string]json.RawMessage{}}
	if !r.value(value) {
		return nil, false
	}
	return r.buf, true
}

// rendering is a template being filled. Its methods return false once the next
// piece would not fit.
type rendering struct {
	context map[string]json.RawMessage
	buf     []byte
	// members are the objects that references led through, by path: thousands of
	// references into one large object must not read it thousands of times.
	members map[string]map[string]json.RawMessage
}

func (r *rendering) value(value any) bool {
	switch v := value.(type) {
	case string:
		if path, ok := definition.TemplatePath(v); ok {
			return r.add(r.at(path))
		}
		return r.add(quoted(v))
	case json.Number:
		return r.add([]byte(v))
	case bool:
		if v {
			return r.add([]byte("true"))
		}
		return r.add([]byte("false"))
	case []any:
		return r.list(v)
	case map[string]any:
		return r.object(v)
	}
	return r.add([]byte(null))
}

func (r *rendering) list(list []any) bool {
	for i, one := range list {
		if !r.add([]byte{opening(i == 0, '[')}) || !r.value(one) {
			return false
		}
	}
	if len(list) == 0 {
		return r.add([]byte("[]"))
	}
	return r.add([]byte{']'})
}

func (r *rendering) object(object map[string]any) bool {
	for i, name := range slices.Sorted(maps.Keys(object)) {
		if !r.add([]byte{opening(i == 0, '{')}) || !r.add(quoted(name)) || !r.add([]byte{':'}) || !r.value(object[name]) {
			return false
		}
	}
	if len(object) == 0 {
		return r.add([]byte("{}"))
	}
	return r.add([]byte{'}'})
}

func opening(first bool, bracket byte) byte {
	if first {
		return bracket
	}
	return ','
}

func (r *rendering) add(piece []byte) bool {
	if len(r.buf)+len(piece) > MaxOutput {
		return false
	}
	r.buf = append(r.buf, piece...)
	return true
}

// at is the context value at a path, null when nothing is there.
func (r *rendering) at(path []string) json.RawMessage {
	value := r.context[path[0]]
	for i := 1; i < len(path) && value != nil; i++ {
		value = r.membersAt(strings.Join(path[:i], "."), value)[path[i]]
	}
	if isNull(value) {
		return json.RawMessage(null)
	}
	return value
}

func (r *rendering) membersAt(path string, value json.RawMessage) map[string]json.RawMessage {
	if known, ok := r.members[path]; ok {
		return known
	}
	found := map[string]json.RawMessage{}
	for key, value := range eachMember(value) {
		name := text(key)
		if _, twice := found[name]; !twice {
			found[name] = value
		}
	}
	r.members[path] = found
	return found
}
