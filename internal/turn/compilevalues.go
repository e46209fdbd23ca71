package turn

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// How the values of a definition are read: each says what is wrong and where.

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *compiler) object(raw json.RawMessage, at string) (map[string]json.RawMessage, bool) {
	written, ok := object(raw)
	if !ok {
		c.add("wrong_type", at, "this must be an object")
	}
	return written, ok
}

// list reads an array; nil when it is none.
func (c *compiler) list(raw json.RawMessage, at string, most int) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		c.add("wrong_type", at, "this must be an array")
		return nil
	}
	if len(list) > most {
		c.add("out_of_range", at, "this must have at most %d items", most)
	}
	return list
}

// text reads a string with at least one character, and at most so many; 0 = any
// number of them, none too.
func (c *compiler) text(raw json.RawMessage, at string, most int) string {
	s, ok := text(raw)
	switch {
	case !ok:
		c.add("wrong_type", at, "this must be a string")
	case most > 0 && s == "":
		c.add("out_of_range", at, "this must not be empty")
	case most > 0 && utf8.RuneCountInString(s) > most:
		c.add("out_of_range", at, "this must have at most %d characters", most)
	}
	return s
}

// required reads a string member that must be there.
func (c *compiler) required(written map[string]json.RawMessage, name, at string, most int) string {
	raw, has := written[name]
	if !has {
		c.add("missing_member", at, "this must have %q", name)
		return ""
	}
	s := c.text(raw, at+pointer(name), most)
	if s == "" && most == 0 && string(raw) == `""` {
		c.add("out_of_range", at+pointer(name), "this must not be empty")
	}
	return s
}

func (c *compiler) oneOf(raw json.RawMessage, at string, allowed []string) string {
	s, ok := text(raw)
	if !ok || !slices.Contains(allowed, s) {
		c.add("unknown_value", at, "this must be one of %s", strings.Join(allowed, ", "))
	}
	return s
}

// milliseconds reads a whole number of them.
func (c *compiler) milliseconds(raw json.RawMessage, at string, least float64) time.Duration {
	var ms *float64
	most := float64(maxWait.Milliseconds())
	switch err := json.Unmarshal(raw, &ms); {
	case err != nil || ms == nil || *ms != math.Trunc(*ms):
		c.add("wrong_type", at, "this must be a whole number of milliseconds")
	case *ms < least || *ms > most:
		c.add("out_of_range", at, "this must be at least %g and at most %g", least, most)
	default:
		return time.Duration(*ms) * time.Millisecond
	}
	return 0
}

func (c *compiler) refuseOthers(written map[string]json.RawMessage, at string, allowed []string) {
	for _, name := range keys(written) {
		if !slices.Contains(allowed, name) {
			c.add("unknown_member", at+pointer(name), "this is not allowed here; known are %s", strings.Join(allowed, ", "))
		}
	}
}
