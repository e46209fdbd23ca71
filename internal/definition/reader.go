package definition

import (
	"encoding/json"
	"fmt"
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

// known refuses every member but the named ones; case variants are unknown too.
func (r *reader) known(members map[string]json.RawMessage, at string, names ...string) {
	allowed := make(map[string]bool, len(names))
	for _, name := range names {
		allowed[name] = true
	}
	for name := range members {
		if !allowed[name] {
			r.add("unknown_member", at+pointer(name), "%s is not a member that is known here; remove it%s", quote(name), suggestion(name, names))
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
	v.r.add("wrong_type", v.at, "must be %s", want)
	return false
}

func (v value) object() (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	ok := v.decode(&members, "an object")
	return members, ok
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

func (v value) texts() []string {
	var items []json.RawMessage
	if !v.decode(&items, "an array of strings") {
		return nil
	}
	var texts []string
	for i, item := range items {
		if s, ok := (value{r: v.r, raw: item, at: v.at + pointer(fmt.Sprint(i))}).text(); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
