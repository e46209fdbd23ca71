package exec

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxComplaint is how much of standard error a message has. Whoever keeps messages
// cuts long ones at their end, where the cause stands: so a message stays well below
// the 2 KiB that are kept.
const maxComplaint = 1536

// escapes are the sequences with which programs colour what they print and move on
// the screen: those with parameters, titles and links, and the short ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]*[0-~])")

// lastLines is the end of what a command printed, as a text for people, without
// escape sequences and other controls. cut says that more stood before.
func lastLines(printed []byte, cut bool) string {
	text := strings.ToValidUTF8(string(printed), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = escapes.ReplaceAllString(text, "")
	text = strings.TrimSpace(strings.Map(printable, text))
	if len(text) > maxComplaint {
		text = text[len(text)-maxComplaint:]
		for !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		return "…" + strings.TrimSpace(text)
	}
	// It may begin with half a sequence, which nobody can read.
	if _, rest, more := strings.Cut(text, "\n"); cut && more {
		return "…" + strings.TrimSpace(rest)
	}
	return text
}

// printable drops controls; a progress bar's return begins a line.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r':
		return '\n'
	case unicode.IsControl(r):
		return -1
	}
	return r
}
