package event

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
)

// Encode writes the envelope as it goes on the wire: declared members in a
// fixed order, then the extra ones by name; absent optional members are left
// out. Payload and Extra are written as they are, so they must be valid JSON.
// Extra cannot replace a declared member.
func (e *Envelope) Encode() []byte {
	b := make([]byte, 0, e.sizeHint())
	b = append(b, `{"event_id":"`...)
	b = appendID(b, e.EventID)
	b = append(b, `","event_type":`...)
	b = appendText(b, e.Type)
	b = append(b, `,"schema_version":`...)
	b = appendText(b, cmp.Or(e.SchemaVersion, SchemaVersion))
	b = append(b, `,"occurred_at":"`...)
	b = e.OccurredAt.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","correlation_id":`...)
	b = appendText(b, e.CorrelationID)
	if e.CausationID != "" {
		b = append(b, `,"causation_id":`...)
		b = appendText(b, e.CausationID)
	}
	aboutRun := AboutRun(e.Type)
	if !aboutRun || e.CaseID != "" {
		b = append(b, `,"case_id":`...)
		b = appendText(b, e.CaseID)
	}
	b = append(b, `,"org_id":`...)
	b = appendText(b, e.OrgID)
	if !aboutRun || e.ProductID != "" {
		b = append(b, `,"product_id":`...)
		b = appendText(b, e.ProductID)
	}
	if aboutRun {
		b = append(b, `,"run_id":`...)
		b = appendText(b, e.RunID)
	}
	b = append(b, `,"payload":`...)
	b = appendRaw(b, e.Payload, "{}")
	if e.Traceparent != "" {
		b = append(b, `,"traceparent":`...)
		b = appendText(b, e.Traceparent)
	}
	return append(e.appendExtra(b, aboutRun), '}')
}

// sizeHint is enough for an envelope without escapes.
func (e *Envelope) sizeHint() int {
	const names = 256 // the names of the declared members, the id and the time
	size := names + len(e.Type) + len(e.CorrelationID) + len(e.CausationID) + len(e.CaseID) +
		len(e.OrgID) + len(e.ProductID) + len(e.RunID) + len(e.Payload) + len(e.Traceparent)
	for name, value := range e.Extra {
		size += len(name) + len(value) + len(`,"":null`)
	}
	return size
}

func (e *Envelope) appendExtra(b []byte, aboutRun bool) []byte {
	if len(e.Extra) == 0 {
		return b
	}
	names := make([]string, 0, len(e.Extra))
	for name := range e.Extra {
		if !slices.Contains(members[:], name) || name == members[memberRunID] && !aboutRun {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = append(b, ',')
		b = appendText(b, name)
		b = append(b, ':')
		b = appendRaw(b, e.Extra[name], "null")
	}
	return b
}

func appendRaw(b []byte, value json.RawMessage, otherwise string) []byte {
	if len(value) == 0 {
		return append(b, otherwise...)
	}
	return append(b, value...)
}

func appendID(b []byte, id rondo.ID) []byte {
	b = hex.AppendEncode(b, id[0:4])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[4:6])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[6:8])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[8:10])
	b = append(b, '-')
	return hex.AppendEncode(b, id[10:16])
}

// appendText writes a JSON string with as few escapes as the grammar allows.
// Bytes that are not UTF-8 become U+FFFD: JSON cannot carry them.
func appendText(b []byte, text string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(b, text[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, text[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	b = append(b, text[start:]...)
	return append(b, '"')
}
