package caseloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

const (
	maxReason = 2000 // bytes of why an entry is a dead letter
	// maxNamed is how much of an entry is searched for whose it is.
	maxNamed = 4 * MaxEvent
)

// ReadEntry reads an entry of the bus. One that is no event, or that came on the
// stream of another type, gives no envelope but whose it is and why it can only be
// a dead letter.
func ReadEntry(d bus.Delivery) (envelope *event.Envelope, org, reason string) {
	envelope, err := event.Parse(d.Envelope)
	if err != nil {
		return nil, namedOrg(d.Envelope), unreadable(d.Envelope, err)
	}
	if envelope.Type != d.Stream {
		return nil, envelope.OrgID, "the event type is " + envelope.Type + " but it came on the stream of " + d.Stream
	}
	return envelope, envelope.OrgID, ""
}

// Reason says why an event is a dead letter, with every finding, as a store keeps it.
func Reason(err error) string {
	if told, ok := errors.AsType[*rondo.Error](err); ok {
		for inner, ok := errors.AsType[*rondo.Error](told.Err); ok && told.Message == ""; inner, ok = errors.AsType[*rondo.Error](told.Err) {
			told = inner
		}
		err = told
	}
	return unreadable([]byte("{}"), err)
}

// unreadable says why an entry is no event, with every finding.
func unreadable(body []byte, err error) string {
	if len(body) == 0 {
		return `the entry has no field "envelope", or it is empty`
	}
	told, ok := errors.AsType[*rondo.Error](err)
	if !ok || len(told.Fields) == 0 {
		return storable(err.Error())
	}
	findings := make([]string, len(told.Fields))
	for i, f := range told.Fields {
		findings[i] = strings.TrimSpace(f.Pointer + " " + f.Message)
	}
	return storable(told.Message + ": " + strings.Join(findings, "; "))
}

// storable keeps words that name members of an entry, which may be called
// anything, fit for a text column.
func storable(words string) string {
	words = strings.ReplaceAll(words, "\x00", "\ufffd")
	return strings.ToValidUTF8(words[:min(len(words), maxReason)], "")
}

// namedOrg is the organisation that an entry says it belongs to, however wrong
// the rest of it is; "" when it names none, or more than one.
func namedOrg(body []byte) (org string) {
	if len(body) > maxNamed {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return org
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return org // the rest cannot be read
		}
		if name != "org_id" {
			continue
		}
		var named string
		if json.Unmarshal(value, &named) != nil || !organisation(named) || org != "" && org != named {
			return ""
		}
		org = named
	}
	return org
}

// organisation reports whether an envelope may name an organisation so. What is
// not UTF-8 has become U+FFFD.
func organisation(s string) bool {
	return len(s) > 0 && len(s) <= event.MaxIDBytes && !strings.ContainsAny(s, "\x00\ufffd")
}
