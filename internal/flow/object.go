package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// object writes one JSON object, member by member, in the order of the calls.
type object struct{ buf []byte }

func newObject(size int) *object { return &object{buf: append(make([]byte, 0, size), '{')} }

func (o *object) raw(name string, value json.RawMessage) *object {
	o.name(name)
	if len(value) == 0 {
		o.buf = append(o.buf, null...)
		return o
	}
	o.buf = append(o.buf, value...)
	return o
}

func (o *object) text(name, value string) *object {
	o.name(name)
	o.buf = appendText(o.buf, value)
	return o
}

// optional writes the member only when there is something to say.
func (o *object) optional(name, value string) *object {
	if value == "" {
		return o
	}
	return o.text(name, value)
}

func (o *object) boolean(name string, value bool) *object {
	o.name(name)
	o.buf = strconv.AppendBool(o.buf, value)
	return o
}

func (o *object) integer(name string, value int64) *object {
	o.name(name)
	o.buf = strconv.AppendInt(o.buf, value, 10)
	return o
}

// members copies the members of another object.
func (o *object) members(from json.RawMessage) *object {
	for key, value := range eachMember(from) {
		o.raw(text(key), value)
	}
	return o
}

func (o *object) done() json.RawMessage { return append(o.buf, '}') }

func (o *object) name(name string) {
	if len(o.buf) > 1 {
		o.buf = append(o.buf, ',')
	}
	o.buf = append(appendText(o.buf, name), ':')
}

const null = "null"

// quoted is a JSON string.
func quoted(s string) json.RawMessage { return appendText(make([]byte, 0, len(s)+2), s) }

// appendText appends a JSON string. Ids and words, which is nearly everything
// here, need no escaping.
func appendText(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			escaped, err := json.Marshal(s)
			if err != nil { // strings always marshal
				escaped = []byte(`""`)
			}
			return append(buf, escaped...)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}

// writeMembers is a JSON object of raw members, by name.
func writeMembers[M ~map[string]json.RawMessage](members M) json.RawMessage {
	size := 2
	for name, value := range members {
		size += len(name) + len(value) + 4
	}
	o := newObject(size)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o.raw(name, members[name])
	}
	return o.done()
}

// isNull reports a missing value: absent, or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == null }
