package invariant

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// correlationOf reads the correlation id of a stored envelope, "" when it has
// none.
func correlationOf(envelope []byte) string {
	var e struct {
		CorrelationID string `json:"correlation_id"`
	}
	if json.Unmarshal(envelope, &e) != nil {
		return ""
	}
	return e.CorrelationID
}

// delayedUntil reads when a delay was to be over; zero for every other row.
func delayedUntil(row rondo.Step) time.Time {
	var input struct {
		DueAt time.Time `json:"due_at"`
	}
	if row.Kind != "delay" || json.Unmarshal(row.Input, &input) != nil {
		return time.Time{}
	}
	return input.DueAt
}

func clip(b []byte) string {
	if b == nil {
		return "nothing"
	}
	if len(b) > 80 {
		return string(b[:80]) + "…"
	}
	return string(b)
}
