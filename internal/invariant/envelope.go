package invariant

import "encoding/json"

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

func clip(b []byte) string {
	if b == nil {
		return "nothing"
	}
	if len(b) > 80 {
		return string(b[:80]) + "…"
	}
	return string(b)
}
