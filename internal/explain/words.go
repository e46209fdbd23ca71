package explain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// failureWords is what is known of a failure beyond its code: Rondo's message,
// else the module's own error, when that is a text or has one.
func failureWords(failure json.RawMessage) string {
	if message := text(failure, "message"); message != "" {
		return message
	}
	detail := member(failure, "error")
	var words string
	if json.Unmarshal(detail, &words) == nil {
		return clip(words)
	}
	for _, name := range []string{"message", "detail"} {
		if words := text(detail, name); words != "" {
			return clip(words)
		}
	}
	return ""
}

// bracketed adds words to a sentence that may have to do without.
func bracketed(words string) string {
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}

// traced is one thing that an expression looked at.
type traced struct {
	Expr   string          `json:"expr"`
	Left   json.RawMessage `json:"left"`
	Right  json.RawMessage `json:"right"`
	Result json.RawMessage `json:"result"`
}

// looked says what a condition looked at, from the trace in its row. What is
// part of a comparison is told by that; a condition that is one comparison is
// not written twice.
func looked(input json.RawMessage) string {
	var trace []traced
	if json.Unmarshal(member(input, "trace"), &trace) != nil {
		return ""
	}
	whole := text(input, "expr")
	var parts []string
	for i, t := range trace {
		compares := t.Left != nil && t.Right != nil
		part := func(later traced) bool { return later.Right != nil && strings.Contains(later.Expr, t.Expr) }
		switch {
		case compares && t.Expr == whole:
			parts = append(parts, fmt.Sprintf("compared %s with %s", clip(string(t.Left)), clip(string(t.Right))))
		case compares:
			parts = append(parts, fmt.Sprintf("%s compared %s with %s", t.Expr, clip(string(t.Left)), clip(string(t.Right))))
		case slices.ContainsFunc(trace[i+1:], part):
		case t.Left != nil && string(t.Left) != string(t.Result):
			parts = append(parts, fmt.Sprintf("%s of %s is %s", t.Expr, clip(string(t.Left)), clip(string(t.Result))))
		case t.Expr != whole && t.Result != nil:
			parts = append(parts, fmt.Sprintf("%s is %s", t.Expr, clip(string(t.Result))))
		}
	}
	return strings.Join(parts, ", ")
}

// clip keeps a value short enough for a sentence.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xc0 == 0x80 { // not in the middle of a rune
		cut--
	}
	return s[:cut] + "…"
}
