package definition

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// reader takes JSON apart member by member and notes every member that is not
// of its type. Its input has passed canon.Check.
type reader struct{ *problems }

// value is one member, or none.
type value struct {
	r   *reader
	raw json.RawMessage // nil = absent
	at  string
}

func (r *reader) object(raw json.RawMessage, at string) (map[string]json.RawMessage, bool) {
	return value{r: r, raw: raw, at: at}.object()
}

func (r *reader) member(members map[string]json.RawMessage, at, name string) value {
	return value{r: r, raw: members[name], at: at + pointer(name)}
}

// known refuses every member of owner ("a step") but the named ones; case
// variants are unknown too. A member that is there under a near name counts as
// dropped rather than missing.
func (r *reader) known(members map[string]json.RawMessage, at, owner string, names ...string) {
	allowed := make(map[string]bool, len(names))
	for _, name := range names {
		allowed[name] = true
	}
	for name := range members {
		if allowed[name] {
			continue
		}
		meant := nearest(name, names)
		var advice string
		switch {
		case allowed["transitions"] && strings.HasPrefix(name, "on_"):
			meant, advice = "transitions", "write it inside transitions"
		case meant != "":
			advice = "did you mean " + quote(meant) + "?"
		default:
			advice = "remove it, or use one of " + list(names, "and")
		}
		r.add("unknown_member", at+pointer(name), "%s is not a member of %s; %s", quote(name), owner, advice)
		if meant != "" && members[meant] == nil {
			r.drop(at + pointer(meant))
		}
	}
}

// decode reads the member into target. A member that is absent is left alone
// silently; one of the wrong type, null included, is noted.
func (v value) decode(target any, want string) bool {
	if v.raw == nil {
		return false
	}
	if string(v.raw) != "null" && json.Unmarshal(v.raw, target) == nil {
		return true
	}
	v.r.add("wrong_type", v.at, "must be %s%s", want, v.insteadOf(want))
	v.r.drop(v.at)
	return false
}

// insteadOf says what the member is, by type and never by value, and the way
// out of the common slips.
func (v value) insteadOf(want string) string {
	got := typeOf(v.raw)
	switch {
	case got == want:
		return ""
	case got == "null":
		return ", not null; give it a value or leave it out"
	case got == "a string" && (want == "a number" || want == "true or false"):
		var text string
		if json.Unmarshal(v.raw, &text) != nil {
			break
		}
		_, err := strconv.ParseFloat(text, 64)
		if want == "a number" && err == nil || want == "true or false" && (text == "true" || text == "false") {
			return ", not a string; remove the quotes"
		}
	}
	return ", not " + got
}

// typeOf names the type of a JSON value.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func (v value) object() (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	ok := v.decode(&members, "an object")
	return members, ok
}

func (v value) array() ([]json.RawMessage, bool) {
	var items []json.RawMessage
	ok := v.decode(&items, "an array")
	return items, ok
}

func (v value) text() (string, bool) {
	var s string
	ok := v.decode(&s, "a string")
	return s, ok
}

func (v value) textPointer() *string {
	if s, ok := v.text(); ok {
		return &s
	}
	return nil
}

func (v value) number() (float64, bool) {
	var n float64
	ok := v.decode(&n, "a number")
	return n, ok
}

func (v value) numberPointer() *float64 {
	if n, ok := v.number(); ok {
		return &n
	}
	return nil
}

func (v value) boolean() bool {
	var b bool
	v.decode(&b, "true or false")
	return b
}

// texts reads an array of strings. An item of another type is noted and "", so
// that the others keep their places.
func (v value) texts() []string {
	var items []json.RawMessage
	if !v.decode(&items, "an array of strings") {
		return nil
	}
	var texts []string
	for i, item := range items {
		s, _ := value{r: v.r, raw: item, at: v.at + pointer(fmt.Sprint(i))}.text()
		texts = append(texts, s)
	}
	return texts
}
