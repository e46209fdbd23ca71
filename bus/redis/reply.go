package redis

import (
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo/bus"
)

// parseRead reads the answer to XREADGROUP: [[key, [entry …]] …]. fullest is the
// most entries that one stream had.
func parseRead(reply any, types map[string]string) (deliveries []bus.Delivery, fullest int, err error) {
	streams, ok := reply.([]any)
	if !ok {
		return nil, 0, unexpected(reply)
	}
	for _, s := range streams {
		pair, ok := s.([]any)
		if !ok || len(pair) != 2 {
			return nil, 0, unexpected(s)
		}
		key, _ := pair[0].(string)
		entries, ok := pair[1].([]any)
		if !ok {
			return nil, 0, unexpected(pair[1])
		}
		fullest = max(fullest, len(entries))
		if deliveries == nil {
			deliveries = make([]bus.Delivery, 0, len(entries)*len(streams))
		}
		deliveries, _, err = appendEntries(deliveries, types[key], entries, 1)
		if err != nil {
			return nil, 0, err
		}
	}
	return deliveries, fullest, nil
}

// appendEntries reads [[id, [field, value …]] …]. gone are the ids of entries
// that are pending although they were deleted from the stream.
func appendEntries(to []bus.Delivery, stream string, entries []any, attempt int) (out []bus.Delivery, gone []any, err error) {
	for _, e := range entries {
		pair, ok := e.([]any)
		if !ok || len(pair) != 2 {
			if e == nil {
				continue
			}
			return nil, nil, unexpected(e)
		}
		id, _ := pair[0].(string)
		fields, ok := pair[1].([]any)
		if !ok {
			gone = append(gone, id)
			continue
		}
		d := bus.Delivery{Stream: stream, EntryID: id, Attempt: attempt}
		found := false
		for i := 0; i+1 < len(fields); i += 2 {
			value, _ := fields[i+1].(string)
			switch fields[i] {
			case fieldEnvelope:
				d.Envelope, found = []byte(value), true
			case fieldRelayed:
				d.Relayed = value == "1"
			case fieldOwn:
				d.Own = value == "1"
			}
		}
		if !found {
			d.Envelope = foreign(fields)
		}
		to = append(to, d)
	}
	return to, gone, nil
}

// foreign shows an entry that is not one of ours, so that a dead letter can tell
// what it was.
func foreign(fields []any) []byte {
	text, err := json.Marshal(fields)
	if err != nil {
		return []byte("[]")
	}
	return text
}

func unexpected(reply any) error { return fmt.Errorf("unexpected answer of type %T", reply) }
