package definition

import "strings"

// isWord reports whether s matches ^[a-z][a-z0-9_]*$.
func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '_'):
		default:
			return false
		}
	}
	return s != ""
}

// isIdentifier reports whether s is an identifier of the condition language.
func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// isPath reports whether s is identifiers joined by dots.
func isPath(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isIdentifier(part) {
			return false
		}
	}
	return len(s) <= 512
}

// isEventType reports whether s is two or more words joined by dots.
func isEventType(s string) bool {
	parts := strings.Split(s, ".")
	for _, part := range parts {
		if !isWord(part) {
			return false
		}
	}
	return len(parts) >= 2 && len(s) <= 128
}

// isReserved reports whether a step may not have this id: it would hide a
// member of the context or a word of the condition language.
func isReserved(id string) bool {
	switch id {
	case "case_id", "org_id", "product_id", "patient_id", "case",
		Terminal, Join,
		"true", "false", "null", "in",
		"sample", "now", "len", "coalesce":
		return true
	}
	return false
}
