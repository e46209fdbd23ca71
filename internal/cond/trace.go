package cond

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Bounds on one trace.
const (
	MaxTraceSteps = 64
	MaxTraceValue = 256 // bytes of JSON; what is longer is cut
)

// Trace is what one evaluation looked at, in order: every comparison, helper
// call and path that stood for a condition. What was skipped because the result
// was certain is not there.
//
// A trace refers to the values that were looked at. Write it as JSON before
// they change.
type Trace struct {
	Result    bool        // false when there was an error
	Error     string      // why there is no result; "" = there is
	Steps     []TraceStep // at most MaxTraceSteps
	Truncated bool        // there were more steps
}

// TraceStep is one thing that was looked at.
type TraceStep struct {
	Expr     string // its source
	Left     any    // of a helper call, its argument
	Right    any
	Operands int // how many of Left and Right count
	Result   any // of no meaning with an error
	Error    string
}

func (t *Trace) note(step TraceStep) {
	if len(t.Steps) == MaxTraceSteps {
		t.Truncated = true
		return
	}
	t.Steps = append(t.Steps, step)
}

func (t *Trace) noteResult(step TraceStep, result any, err error) {
	if err != nil {
		step.Error = err.Error()
	} else {
		step.Result = result
	}
	t.note(step)
}

// MarshalJSON writes {"result", "steps": [{"expr", "left", "right", "result"}]},
// with "error" instead of "result" where there is none. Values that are longer
// than MaxTraceValue are texts that end in "…".
func (t *Trace) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON writes.
func (t *Trace) AppendJSON(b []byte) []byte {
	b = slices.Grow(b, 64+96*len(t.Steps))
	b = append(b, '{')
	b = appendResult(b, t.Result, t.Error)
	b = append(b, `,"steps":[`...)
	for i, step := range t.Steps {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"expr":`...)
		b = appendText(b, step.Expr)
		if step.Operands > 0 {
			b = appendTraced(append(b, `,"left":`...), step.Left)
		}
		if step.Operands > 1 {
			b = appendTraced(append(b, `,"right":`...), step.Right)
		}
		b = append(appendResult(append(b, ','), step.Result, step.Error), '}')
	}
	b = append(b, ']')
	if t.Truncated {
		b = append(b, `,"truncated":true`...)
	}
	return append(b, '}')
}

func appendResult(b []byte, result any, failure string) []byte {
	if failure != "" {
		return appendText(append(b, `"error":`...), failure)
	}
	return appendTraced(append(b, `"result":`...), result)
}

// appendTraced appends a value, cut when it is too long.
func appendTraced(b []byte, value any) []byte {
	start := len(b)
	b = appendValue(b, value, start+MaxTraceValue, 0)
	if len(b)-start <= MaxTraceValue {
		return b
	}
	cut := start + MaxTraceValue - len("…")
	for cut > start && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return appendText(b[:start], string(b[start:cut])+"…")
}

// appendValue appends a JSON value, members by name, and stops soon after the
// buffer is longer than limit.
func appendValue(b []byte, value any, limit, depth int) []byte {
	switch v := value.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return appendNumber(b, v)
	case string:
		if room := limit + 1 - len(b); len(v) > room {
			v = v[:max(room, 0)]
		}
		return appendText(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if len(b) > limit || depth > maxValueDepth {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item, limit, depth+1)
		}
		return append(b, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for i, name := range names {
			if len(b) > limit || depth > maxValueDepth {
				return b
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendValue(b, name, limit, depth), ':')
			b = appendValue(b, v[name], limit, depth+1)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendNumber(b []byte, n float64) []byte {
	switch size := math.Abs(n); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return append(b, "null"...)
	case size != 0 && (size < 1e-6 || size >= 1e21):
		return strconv.AppendFloat(b, n, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, n, 'f', -1, 64)
}

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}
