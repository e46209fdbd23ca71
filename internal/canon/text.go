package canon

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string; the position is at its opening quote. It reports whether
// the string has escapes.
func (s *scanner) text() (escaped bool, _ *Error) {
	start := s.pos
	raw, pos := s.raw, s.pos+1
	for pos < len(raw) {
		switch c := raw[pos]; {
		case c == '"':
			s.pos = pos + 1
			return escaped, nil
		case c >= 0x20 && c < utf8.RuneSelf && c != '\\':
			pos++
		case c == '\\':
			escaped = true
			size, problem := escapeSize(raw[pos:])
			if problem != "" {
				return false, s.fail(pos, problem)
			}
			pos += size
		case c < 0x20:
			return false, s.fail(pos, "a control character in a string must be escaped")
		default:
			r, size := utf8.DecodeRune(raw[pos:])
			if r == utf8.RuneError && size == 1 {
				return false, s.fail(pos, "the string is not valid UTF-8")
			}
			pos += size
		}
	}
	return false, s.fail(start, "the string is not closed")
}

// escapeSize measures the escape at the beginning of b: a surrogate pair counts
// as one. It names the problem when there is one.
func escapeSize(b []byte) (size int, problem string) {
	if len(b) < 2 {
		return 0, "the string is not closed after a backslash"
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ""
	case 'u':
		first, ok := hex4(b[2:])
		if !ok {
			return 0, `\u needs four hex digits`
		}
		if !utf16.IsSurrogate(first) {
			return 6, ""
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if second, ok := hex4(b[8:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
				return 12, ""
			}
		}
		return 0, "half of a surrogate pair stands alone"
	}
	return 0, "unknown escape in a string"
}

// unescape returns the value of a string that text has accepted; of any other
// it keeps what it cannot read.
func unescape(b []byte) []byte {
	value := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] != '\\' {
			value = append(value, b[0])
			b = b[1:]
			continue
		}
		size, problem := escapeSize(b)
		if problem != "" {
			return append(value, b...)
		}
		switch b[1] {
		case 'b':
			value = append(value, '\b')
		case 'f':
			value = append(value, '\f')
		case 'n':
			value = append(value, '\n')
		case 'r':
			value = append(value, '\r')
		case 't':
			value = append(value, '\t')
		case 'u':
			r, _ := hex4(b[2:])
			if size == 12 {
				low, _ := hex4(b[8:])
				r = utf16.DecodeRune(r, low)
			}
			value = utf8.AppendRune(value, r)
		default:
			value = append(value, b[1])
		}
		b = b[size:]
	}
	return value
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// Text returns the value of a JSON string that Check or Members has accepted;
// it is false for a value of another type. The result may share the bytes of
// value.
func Text(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = unescape(inner)
	}
	return inner, true
}
