package flow

import (
	"bytes"
	"encoding/json"
)

// The context holds raw JSON that was checked when it came in. To read one value
// out of it, the functions here walk over the text without building anything;
// text that is not JSON after all reads as if nothing were there.

// descend follows names into a JSON value; nil when nothing, or null, is there.
func descend(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		if raw = member(raw, name); raw == nil {
			return nil
		}
	}
	if isNull(raw) {
		return nil
	}
	return raw
}

// member is the value of one member of an object; nil when it is not there or
// raw is no object.
func member(raw json.RawMessage, name string) json.RawMessage {
	for key, value := range eachMember(raw) {
		if sameName(key, name) {
			return value
		}
	}
	return nil
}

// eachMember yields the members of an object: the name as written, with its
// quotes, and the value.
func eachMember(raw json.RawMessage) func(yield func(key, value json.RawMessage) bool) {
	return func(yield func(key, value json.RawMessage) bool) {
		i := skipSpace(raw, 0)
		if i >= len(raw) || raw[i] != '{' {
			return
		}
		for i++; ; i++ {
			start := skipSpace(raw, i)
			end := skipValue(raw, start)
			colon := skipSpace(raw, end)
			if start >= len(raw) || raw[start] != '"' || colon >= len(raw) || raw[colon] != ':' {
				return
			}
			from := skipSpace(raw, colon+1)
			to := skipValue(raw, from)
			if to <= from || to > len(raw) || !yield(raw[start:end], raw[from:to]) {
				return
			}
			if i = skipSpace(raw, to); i >= len(raw) || raw[i] != ',' {
				return
			}
		}
	}
}

// isObject reports whether a JSON value is an object.
func isObject(raw json.RawMessage) bool {
	i := skipSpace(raw, 0)
	return i < len(raw) && raw[i] == '{'
}

// sameName compares a written name with a plain one.
func sameName(key json.RawMessage, name string) bool {
	if len(key) < 2 {
		return false
	}
	inner := key[1 : len(key)-1]
	if string(inner) == name {
		return true
	}
	return bytes.IndexByte(inner, '\\') >= 0 && text(key) == name
}

// text is the content of a JSON string; "" when raw is none.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipValue is the end of the value that begins at i.
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		return skipNested(raw, i)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func skipNested(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
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
	return len(raw)
}
