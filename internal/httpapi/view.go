package httpapi

import (
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// timeForm is RFC 3339 in UTC with microseconds, always six digits, so that
// times sort as text.
const timeForm = `"2006-01-02T15:04:05.000000Z"`

// instant is a time on the wire.
type instant time.Time

// MarshalJSON writes the time.
func (t instant) MarshalJSON() ([]byte, error) {
	return []byte(time.Time(t).UTC().Format(timeForm)), nil
}

// Schema describes the time.
func (instant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// maybeInstant is a time that may be absent: zero is null.
type maybeInstant time.Time

// MarshalJSON writes the time or null.
func (t maybeInstant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return instant(t).MarshalJSON()
}

// Schema describes the time.
func (maybeInstant) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Nullable: true}
}

// anyJSON is JSON that Rondo passes on as it is; absent is null.
type anyJSON json.RawMessage

// MarshalJSON writes the document or null.
func (d anyJSON) MarshalJSON() ([]byte, error) {
	if len(d) == 0 {
		return []byte("null"), nil
	}
	return d, nil
}

// Schema says that it can be anything.
func (anyJSON) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// maybe is a text that may be absent: empty is null.
func maybe(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// maybeNumber is a number that may be absent: zero is null.
func maybeNumber(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// maybeID is an id that may be absent: zero is null.
func maybeID(id rondo.ID) *string {
	if id.IsZero() {
		return nil
	}
	s := id.String()
	return &s
}
