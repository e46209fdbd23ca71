package chart

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// limits bound the text of one machine: 16 levels of states need some 50 levels of
// JSON.
var limits = canon.Limits{Depth: 96, Tokens: 1 << 17, Bytes: 1 << 20}

// value is one place of the source: its JSON and its pointer.
type value struct {
	raw json.RawMessage
	at  string
}

// member is one named value of an object.
type member struct {
	name string
	value
}

// problems collects what is wrong with a machine.
type problems struct {
	list []rondo.FieldError
}

func (p *problems) add(code, at, format string, args ...any) {
	p.list = append(p.list, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// root checks the whole text and returns it as a value.
func (p *problems) root(config []byte) (value, bool) {
	err := canon.Check(config, limits)
	if err == nil {
		return value{raw: config}, true
	}
	at := ""
	if refused, ok := errors.AsType[*canon.Error](err); ok {
		at = refused.Pointer
	}
	p.add("syntax", at, "%v", err)
	return value{}, false
}

// kind names the JSON type of a value: one of { [ " t f n 0.
func (v value) kind() byte {
	for _, c := range v.raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[', '"', 't', 'f', 'n':
			return c
		}
		return '0'
	}
	return 'n'
}

// object returns the members in the order they are written.
func (p *problems) object(v value, what string) ([]member, bool) {
	if v.kind() != '{' {
		p.add("type", v.at, "%s must be an object", what)
		return nil, false
	}
	var members []member
	err := canon.Members(v.raw, limits, func(name, raw []byte) {
		key := string(name)
		members = append(members, member{name: key, value: value{raw: raw, at: v.at + "/" + escape(key)}})
	})
	if err != nil {
		p.add("syntax", v.at, "%v", err)
		return nil, false
	}
	return members, true
}

// array returns the items of an array, and a value that is none as its only item.
func (p *problems) array(v value) []value {
	if v.kind() != '[' {
		return []value{v}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(v.raw, &items); err != nil {
		p.add("syntax", v.at, "is not a JSON array")
		return nil
	}
	values := make([]value, len(items))
	for i, raw := range items {
		values[i] = value{raw: raw, at: v.at + "/" + strconv.Itoa(i)}
	}
	return values
}

func (p *problems) text(v value, what string) (string, bool) {
	var text string
	if v.kind() != '"' || json.Unmarshal(v.raw, &text) != nil {
		p.add("type", v.at, "%s must be a string", what)
		return "", false
	}
	return text, true
}

func (p *problems) boolean(v value, what string) bool {
	switch v.kind() {
	case 't':
		return true
	case 'f':
		return false
	}
	p.add("type", v.at, "%s must be true or false", what)
	return false
}

// unknown reports a member that has no meaning here.
func (p *problems) unknown(m member, what string, allowed []string) {
	p.add("unknown_member", m.at, "%s has no member %q; allowed are %s", what, m.name, strings.Join(allowed, ", "))
}

// escape writes a name as a token of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// scriptOrder puts members in the order in which JavaScript goes through them,
// which is the document order of XState.
func scriptOrder(members []member) []member {
	sorted := slices.Clone(members)
	slices.SortStableFunc(sorted, func(a, b member) int {
		left, leftIs := arrayIndex(a.name)
		right, rightIs := arrayIndex(b.name)
		switch {
		case leftIs && rightIs:
			return cmp.Compare(left, right)
		case leftIs:
			return -1
		case rightIs:
			return 1
		}
		return 0
	})
	return sorted
}

// arrayIndex reads a name that JavaScript takes for an index: decimal, without
// leading zeros, below 2^32−1.
func arrayIndex(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || n == 1<<32-1 || strconv.FormatUint(n, 10) != name {
		return 0, false
	}
	return n, true
}
