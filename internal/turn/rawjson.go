package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	fastjson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rondo-engine/rondo/internal/canon"
)

// Values travel as they were written: a number that an agent gives as 1.50 is
// stored and shown as 1.50.

// errNotEncoded is what a value that did not come from JSON is met with.
var errNotEncoded = errors.New("a value cannot be written as JSON")

// compact writes a value without spaces and without the escapes that HTML would
// need, in raw values too.
func compact(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return nil, errNotEncoded // the cause could show the value
	}
	return plain(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// plain copies a JSON text without the escapes that encoding/json writes for HTML
// and scripts: a value that was stored reads as it did before.
func plain(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return bytes.Clone(raw)
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		size := 1
		if raw[0] == '\\' && len(raw) > 1 {
			size = 2
			if char, escaped := needless(raw); escaped {
				out, raw = append(out, char...), raw[len(`\u0026`):]
				continue
			}
		}
		out, raw = append(out, raw[:size]...), raw[size:]
	}
	return out
}

// needless is the character of an escape that JSON does not need.
func needless(raw []byte) (string, bool) {
	if len(raw) < len(`\u0026`) {
		return "", false
	}
	switch strings.ToLower(string(raw[:len(`\u0026`)])) {
	case `\u003c`:
		return "<", true
	case `\u003e`:
		return ">", true
	case `\u0026`:
		return "&", true
	case `\u2028`:
		return "\u2028", true
	case `\u2029`:
		return "\u2029", true
	}
	return "", false
}

// lenient reads what encoding/json reads too, in a third of its time.
var lenient = fastjson.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// object reads an object; false for anything else, for null too. What is not
// UTF-8 in it is replaced, as in every text that is read from JSON.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var members map[string]json.RawMessage
	if fastjson.Unmarshal(bytes.ToValidUTF8(raw, []byte("\uFFFD")), &members, lenient) != nil || members == nil {
		return nil, false
	}
	return members, true
}

// text reads a string; false for anything else.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// texts reads a list of strings; nil for anything else.
func texts(raw json.RawMessage) []string {
	var items []*string
	if json.Unmarshal(raw, &items) != nil || slices.Contains(items, nil) {
		return nil
	}
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = *item
	}
	return list
}

// isNull reports whether a member is missing or null.
func isNull(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || string(trimmed) == "null"
}

// same reports whether two values say the same: 1 and 1.0 do.
func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, err := canon.JSON(a)
	if err != nil {
		return false
	}
	second, err := canon.JSON(b)
	return err == nil && bytes.Equal(first, second)
}

func sameMembers(a, b map[string]json.RawMessage) bool { return maps.EqualFunc(a, b, same) }

// cloneMembers copies an object down to its bytes, in the form that plain gives
// them; nil becomes an empty one.
func cloneMembers(members map[string]json.RawMessage) map[string]json.RawMessage {
	copied := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		copied[name] = plain(value)
	}
	return copied
}

// pointer writes a JSON Pointer (RFC 6901).
func pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}
