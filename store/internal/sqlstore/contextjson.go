package sqlstore

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo"
)

// A context is stored as the JSON object that it is. Its members are already
// JSON, so encoding only joins them and decoding only cuts: an order of magnitude
// cheaper than encoding/json, which checks and copies every byte, and the
// members keep their bytes exactly.

func encodeContext(c rondo.Context) []byte {
	if c == nil {
		return []byte("null")
	}
	size := 2
	keys := make([]string, 0, len(c))
	for key, member := range c {
		keys = append(keys, key)
		size += len(key) + len(member) + 4
	}
	slices.Sort(keys)
	b := append(make([]byte, 0, size), '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, key)
		b = append(b, ':')
		if member := c[key]; len(member) > 0 {
			b = append(b, member...)
		} else {
			b = append(b, "null"...)
		}
	}
	return append(b, '}')
}

func appendKey(b []byte, key string) []byte {
	for i := range len(key) {
		if key[i] < ' ' || key[i] >= 0x7f || key[i] == '"' || key[i] == '\\' {
			quoted, err := json.Marshal(key)
			if err != nil {
				break
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"')
}

// decodeContext returns members that share b. What it cannot cut it leaves to
// encoding/json, which says what is wrong.
func decodeContext(b []byte) (rondo.Context, error) {
	if c, ok := cutContext(b); ok {
		return c, nil
	}
	var c rondo.Context
	err := json.Unmarshal(b, &c)
	return c, err
}

// cutContext reads only the form that encodeContext writes: no space between
// tokens of the object itself and no escape in its keys.
func cutContext(b []byte) (rondo.Context, bool) {
	if len(b) < 2 || b[0] != '{' {
		return nil, false
	}
	c := make(rondo.Context, 12)
	if len(b) == 2 && b[1] == '}' {
		return c, true
	}
	for at := 1; ; {
		if at >= len(b) || b[at] != '"' {
			return nil, false
		}
		end := endOfString(b, at)
		if end < 0 || end >= len(b) || b[end] != ':' {
			return nil, false
		}
		key := b[at+1 : end-1]
		if slices.Contains(key, '\\') {
			return nil, false
		}
		from := end + 1
		to := endOfValue(b, from)
		if to <= from || to >= len(b) {
			return nil, false
		}
		c[string(key)] = b[from:to:to]
		switch b[to] {
		case ',':
			at = to + 1
		case '}':
			return c, to == len(b)-1
		default:
			return nil, false
		}
	}
}

// endOfString returns the index after the closing quote of the string that
// starts at b[at], or -1.
func endOfString(b []byte, at int) int {
	for i := at + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// endOfValue returns the index of the comma or brace after the value that starts
// at b[at], or -1.
func endOfValue(b []byte, at int) int {
	depth := 0
	for i := at; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := endOfString(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case ']':
			depth--
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}
