package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/canon"
)

// secretWords are in the names of members that are never shown.
var secretWords = []string{"token", "key", "secret", "password", "authorization", "credential", "cookie"}

const (
	maxPreview    = 40 // characters of a value that a manifest shows
	previewDigest = 8  // digits that tell values apart which are not shown
)

// Preview shows a value as manifests show it, by the name it has: the beginning of
// a scalar, a short list or object whole, and of others how long they are and how
// their digest begins. Nothing is shown of what looks secret, nor of what is not
// JSON.
func Preview(name string, value json.RawMessage) string {
	canonical, err := canon.JSON(value)
	if err != nil {
		return ""
	}
	return preview(name, canonical, digestOf(canonical))
}

func preview(name string, canonical []byte, digest string) string {
	if looksSecret(name) {
		return ""
	}
	word := "object"
	switch kindOf(canonical) {
	case '[':
		word = "list"
	case '{':
	default:
		return clip(string(canonical))
	}
	if len(canonical) <= maxPreview && !hasSecret(canonical) {
		return string(canonical)
	}
	return fmt.Sprintf("%s, %d bytes, %s", word, len(canonical), digest[:min(len(digest), previewDigest)])
}

func looksSecret(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(lower, word) })
}

// hasSecret reports whether a canonical value has a name anywhere that looks secret: a
// string that a colon follows, the variable of NAME=value, or the option of a command.
func hasSecret(canonical []byte) bool {
	for i := 0; i < len(canonical); i++ {
		if canonical[i] != '"' {
			continue
		}
		end := skipText(canonical, i)
		if end < 0 {
			return true
		}
		text := string(canonical[i:end])
		named := end < len(canonical) && canonical[end] == ':' || strings.Contains(text, "=") || strings.HasPrefix(text, `"-`)
		if named && looksSecret(text) {
			return true
		}
		i = end - 1
	}
	return false
}

// clip cuts a text to what a preview may have.
func clip(text string) string {
	if len(text) <= maxPreview {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == maxPreview {
			return text[:i] + "…"
		}
	}
	return text
}
