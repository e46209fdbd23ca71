package event

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// Encode writes the envelope as it goes on the wire: declared members in a
// fixed order, then the extra ones by name; absent optional members are left
// out. Payload and Extra are written as they are, so they must be valid JSON.
// Extra cannot replace a declared member.
func (e *Envelope) Encode() []byte {
	b := make([]byte, 0, 512+len(e.Payload))
	b = append(b, `{"event_id":"`...)
	b = append(b, e.EventID.String()...)
	b = append(b, '"')
	b = appendMember(b, "event_type", e.Type)
	b = appendMember(b, "schema_version", orElse(e.SchemaVersion, SchemaVersion))
	b = append(b, `,"occurred_at":"`...)
	b = e.OccurredAt.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	b = appendMember(b, "correlation_id", e.CorrelationID)
	if e.CausationID != "" {
		b = appendMember(b, "causation_id", e.CausationID)
	}
	b = appendMember(b, "case_id", e.CaseID)
	b = appendMember(b, "org_id", e.OrgID)
	b = appendMember(b, "product_id", e.ProductID)
	b = appendRaw(b, "payload", e.Payload, "{}")
	if e.Traceparent != "" {
		b = appendMember(b, "traceparent", e.Traceparent)
	}
	if len(e.Extra) > 0 {
		for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
			if !slices.Contains(members[:], name) {
				b = appendRaw(b, name, e.Extra[name], "null")
			}
		}
	}
	return append(b, '}')
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func appendMember(b []byte, name, value string) []byte {
	b = append(b, ',')
	b = appendText(b, name)
	b = append(b, ':')
	return appendText(b, value)
}

func appendRaw(b []byte, name string, value json.RawMessage, otherwise string) []byte {
	b = append(b, ',')
	b = appendText(b, name)
	b = append(b, ':')
	if len(value) == 0 {
		return append(b, otherwise...)
	}
	return append(b, value...)
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
