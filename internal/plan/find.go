package plan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Finding values inside JSON without decoding it. What is searched was checked
// when it came in; the functions here only must not break on anything else, and
// what they find is checked once more where it is used.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// kindOf returns the first character of a value: { [ " t f n - or a digit; 0 when
// there is none.
func kindOf(raw []byte) byte {
	if i := skipSpace(raw, 0); i < len(raw) {
		return raw[i]
	}
	return 0
}

// skipText returns the place behind a string that begins at i, or −1.
func skipText(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// skipValue returns the place behind the value that begins at i, or −1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				if i = skipText(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// eachMember calls yield with every member of an object, the name as it is written
// in quotes. It reports false when raw is not an object to its end.
func eachMember(raw []byte, yield func(name, value []byte)) bool {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return false
	}
	if i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '}' {
		return true
	}
	for {
		if i >= len(raw) || raw[i] != '"' {
			return false
		}
		end := skipText(raw, i)
		if end < 0 {
			return false
		}
		name := raw[i:end]
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ':' {
			return false
		}
		i = skipSpace(raw, i+1)
		if end = skipValue(raw, i); end < 0 {
			return false
		}
		yield(name, raw[i:end])
		if i = skipSpace(raw, end); i >= len(raw) {
			return false
		}
		switch raw[i] {
		case '}':
			return true
		case ',':
			i = skipSpace(raw, i+1)
		default:
			return false
		}
	}
}

// isName reports whether a name in quotes says want.
func isName(quoted []byte, want string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == want
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == want
}

// memberOf returns a member of an object; of several with one name the last, as
// readers of JSON do. nil = raw has none, or is no object.
func memberOf(raw []byte, name string) (found []byte, ok bool) {
	ok = eachMember(raw, func(quoted, value []byte) {
		if isName(quoted, name) {
			found = value
		}
	})
	return found, ok
}

// elementOf returns an element of an array. nil = raw has none, or is no array.
func elementOf(raw []byte, n int) (found []byte, ok bool) {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil, false
	}
	if i = skipSpace(raw, i+1); i < len(raw) && raw[i] == ']' {
		return nil, true
	}
	for ; ; n-- {
		end := skipValue(raw, i)
		if end < 0 {
			return nil, false
		}
		if n == 0 {
			return raw[i:end], true
		}
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' && raw[i] != ']' {
			return nil, false
		}
		if raw[i] == ']' {
			return nil, true
		}
		i = skipSpace(raw, i+1)
	}
}

// find follows a path. nil without broken: there is nothing. broken: what was
// searched is not JSON.
func find(raw []byte, way path) (found []byte, broken bool) {
	for _, part := range way {
		opening := byte('{')
		if part.name == "" {
			opening = '['
		}
		if kindOf(raw) != opening {
			return nil, false
		}
		var ok bool
		if part.name == "" {
			raw, ok = elementOf(raw, part.index)
		} else {
			raw, ok = memberOf(raw, part.name)
		}
		if !ok {
			return nil, true
		}
		if raw == nil {
			return nil, false
		}
	}
	return bytes.TrimSpace(raw), false
}
