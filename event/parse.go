package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// MaxIDBytes is how long an opaque id, an event type or a traceparent may be.
const MaxIDBytes = 128

// The bounds of one event. What modules send to Rondo is held to the first set.
// What Rondo publishes may carry a whole context and so gets more room.
const (
	MaxBytes          = canon.DefaultBytes // 256 KiB
	MaxDepth          = canon.DefaultDepth // 32
	MaxPublishedBytes = 1 << 20
	MaxPublishedDepth = 100
)

// Parse reads an envelope from the wire. It is strict about the members it
// knows and keeps the others. An absent payload is {}; causation_id and
// traceparent may be absent, null or empty.
//
// The error is a *rondo.Error that lists every problem at once, each with the
// JSON Pointer of its place: too_large for what exceeds MaxBytes, else invalid.
//
// The envelope refers to parts of raw: do not change raw afterwards.
func Parse(raw []byte) (*Envelope, error) {
	envelope, err := parse(raw, canon.Limits{Bytes: MaxBytes, Depth: MaxDepth})
	if refused, ok := errors.AsType[*canon.Error](err); !ok || !refused.Limit {
		return envelope, err
	}
	published, wideErr := parse(raw, canon.Limits{Bytes: MaxPublishedBytes, Depth: MaxPublishedDepth, Tokens: MaxPublishedBytes})
	if wideErr != nil || !PublishedByOrchestrator(published.Type) {
		return nil, err
	}
	return published, nil
}

func parse(raw []byte, limits canon.Limits) (*Envelope, error) {
	r := reader{envelope: &Envelope{}}
	if err := canon.Members(raw, limits, r.member); err != nil {
		return nil, malformed(err)
	}
	r.settle()
	r.requireAll()
	if len(r.problems) > 0 {
		return nil, &rondo.Error{
			Code:    rondo.CodeInvalid,
			Message: "the event envelope is not valid",
			Hint:    "correct the members that are named and send the event again",
			Fields:  r.problems,
		}
	}
	r.keepTexts()
	if r.envelope.Payload == nil {
		r.envelope.Payload = json.RawMessage("{}")
	}
	return r.envelope, nil
}

// malformed translates what the strict reader refuses.
func malformed(err error) error {
	refused, ok := errors.AsType[*canon.Error](err)
	if !ok {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the event envelope cannot be read", Err: err}
	}
	code := rondo.CodeInvalid
	if refused.TooLarge {
		code = rondo.CodeTooLarge
	}
	return &rondo.Error{
		Code:    code,
		Message: "the event envelope cannot be read",
		Hint:    "send one JSON object in UTF-8",
		Fields: []rondo.FieldError{{
			Code:    "malformed",
			Pointer: refused.Pointer,
			Message: fmt.Sprintf("%s (at byte %d)", refused.Message, refused.Offset),
		}},
		Err: refused,
	}
}

// reader fills an envelope member by member and gathers what is wrong.
type reader struct {
	envelope *Envelope
	seen     uint16               // one bit per declared member
	aboutRun bool                 // known once everything is read
	held     [len(members)][]byte // members whose meaning depends on the type
	texts    [len(members)][]byte // the members that are kept as text
	problems []rondo.FieldError
}

// The declared members, in the order in which they are written.
var members = [...]string{
	"event_id", "event_type", "schema_version", "occurred_at", "correlation_id", "causation_id",
	"case_id", "org_id", "product_id", "run_id", "payload", "traceparent",
}

// Indexes into members.
const (
	memberEventID = iota
	memberEventType
	memberSchemaVersion
	memberOccurredAt
	memberCorrelationID
	memberCausationID
	memberCaseID
	memberOrgID
	memberProductID
	memberRunID
	memberPayload
	memberTraceparent
)

// optional reports whether an envelope may lack a member, or have none in it.
func (r *reader) optional(member int) bool {
	switch member {
	case memberCausationID, memberPayload, memberTraceparent:
		return true
	case memberCaseID, memberProductID:
		return r.aboutRun
	case memberRunID:
		return !r.aboutRun
	}
	return false
}

func memberIndex(name []byte) int {
	for i := range members {
		if string(name) == members[i] {
			return i
		}
	}
	return -1
}

func (r *reader) member(name, value []byte) {
	index := memberIndex(name)
	if index < 0 {
		r.extra(string(name), value)
		return
	}
	r.seen |= 1 << index
	e := r.envelope
	switch index {
	case memberEventID:
		e.EventID = r.eventID(value)
	case memberEventType:
		r.eventType(value)
	case memberSchemaVersion:
		r.schemaVersion(value)
	case memberOccurredAt:
		e.OccurredAt = r.occurredAt(value)
	case memberPayload:
		if value[0] != '{' {
			r.problem("type", index, "must be a JSON object; leave it out when there is nothing to say")
			return
		}
		e.Payload = value
	case memberCaseID, memberProductID, memberRunID:
		r.held[index] = value
	default:
		r.opaque(index, value)
	}
}

// settle reads what could not be read before the type was known. run_id is a
// member of events about runs alone: in any other it is an extra one like those
// that a module invents.
func (r *reader) settle() {
	r.aboutRun = AboutRun(string(r.texts[memberEventType]))
	for _, index := range [...]int{memberCaseID, memberProductID, memberRunID} {
		value := r.held[index]
		switch {
		case value == nil:
		case index == memberRunID && !r.aboutRun:
			r.keep(members[index], value)
		default:
			r.opaque(index, value)
		}
	}
	if !r.aboutRun {
		return
	}
	for name := range r.envelope.Extra {
		if strings.EqualFold(name, members[memberRunID]) {
			r.lookalike(name, members[memberRunID])
		}
	}
	if hasCase, hasProduct := len(r.texts[memberCaseID]) > 0, len(r.texts[memberProductID]) > 0; hasCase != hasProduct {
		missing := memberCaseID
		if hasCase {
			missing = memberProductID
		}
		r.problem("required", missing, "is missing: an event about a run has both case_id and product_id, or neither")
	}
}

// keepTexts gives the envelope its own copy of the texts: one allocation for
// all of them, and none of the rest of raw is kept alive by an id.
func (r *reader) keepTexts() {
	size := 0
	for _, text := range r.texts {
		size += len(text)
	}
	var all strings.Builder
	all.Grow(size)
	for _, text := range r.texts {
		all.Write(text)
	}
	rest := all.String()
	take := func(member int) string {
		text := rest[:len(r.texts[member])]
		rest = rest[len(text):]
		return text
	}
	// In the order of the indexes.
	e := r.envelope
	e.Type = take(memberEventType)
	e.CorrelationID = take(memberCorrelationID)
	e.CausationID = take(memberCausationID)
	e.CaseID = take(memberCaseID)
	e.OrgID = take(memberOrgID)
	e.ProductID = take(memberProductID)
	e.RunID = take(memberRunID)
	e.Traceparent = take(memberTraceparent)
	e.SchemaVersion = SchemaVersion
}

// extra keeps a member that is not declared. One that differs from a declared
// name by case only is refused: some readers would take it for the declared one.
func (r *reader) extra(name string, value []byte) {
	for index, declared := range members {
		if index != memberRunID && strings.EqualFold(name, declared) { // of run_id settle decides
			r.lookalike(name, declared)
			return
		}
	}
	r.keep(name, value)
}

func (r *reader) keep(name string, value []byte) {
	if r.envelope.Extra == nil {
		r.envelope.Extra = make(map[string]json.RawMessage)
	}
	r.envelope.Extra[name] = value
}

func (r *reader) lookalike(name, declared string) {
	r.problems = append(r.problems, rondo.FieldError{
		Code: "name", Pointer: "/" + name, Message: "looks like a declared member: write it as " + declared,
	})
}

func (r *reader) requireAll() {
	for index := range members {
		if r.seen&(1<<index) == 0 && !r.optional(index) {
			r.problem("required", index, "is missing: every envelope has it")
		}
	}
}

func (r *reader) problem(code string, member int, message string) {
	r.problems = append(r.problems, rondo.FieldError{
		Code: code, Pointer: "/" + members[member], Message: message,
	})
}

func (r *reader) text(member int, value []byte) ([]byte, bool) {
	text, ok := canon.Text(value)
	if !ok {
		r.problem("type", member, "must be a string")
	}
	return text, ok
}

func (r *reader) opaque(member int, value []byte) {
	if r.optional(member) && (string(value) == "null" || string(value) == `""`) {
		return
	}
	text, ok := r.text(member, value)
	switch {
	case !ok:
	case len(text) == 0 || len(text) > MaxIDBytes:
		r.problem("length", member, "must be 1 to 128 bytes long")
	case bytes.IndexByte(text, 0) >= 0:
		r.problem("format", member, "must not contain the character U+0000, which not every database can keep")
	}
	r.texts[member] = text
}

func (r *reader) eventID(value []byte) rondo.ID {
	text, ok := r.text(memberEventID, value)
	if !ok {
		return rondo.ID{}
	}
	id, err := rondo.ParseID(string(text))
	if err != nil || id.IsZero() {
		r.problem("format", memberEventID, "must be a UUID of 36 characters, not all zero")
	}
	return id
}

func (r *reader) eventType(value []byte) {
	text, ok := r.text(memberEventType, value)
	if ok && !validType(text) {
		r.problem("format", memberEventType, "must be 1 to 128 characters: lower-case words of letters, digits and _ joined by dots, such as case.created")
	}
	r.texts[memberEventType] = text
}

func validType(text []byte) bool {
	if len(text) == 0 || len(text) > MaxIDBytes || text[0] < 'a' || text[0] > 'z' {
		return false
	}
	for i, c := range text {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
		case c == '.' && text[i-1] != '.' && i < len(text)-1:
		default:
			return false
		}
	}
	return true
}

func (r *reader) schemaVersion(value []byte) {
	if text, ok := r.text(memberSchemaVersion, value); ok && string(text) != SchemaVersion {
		r.problem("value", memberSchemaVersion, `must be "v1", the only version this Rondo reads`)
	}
}

// occurredAt accepts times that can be written in UTC again.
func (r *reader) occurredAt(value []byte) time.Time {
	text, ok := r.text(memberOccurredAt, value)
	if !ok {
		return time.Time{}
	}
	at, ok := parseTime(text)
	if !ok || at.Year() < 0 || at.Year() > 9999 {
		r.problem("format", memberOccurredAt, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z")
	}
	return at
}

// parseTime reads RFC 3339 to the letter: the standard library alone also takes
// hours of one digit, decimal commas and impossible offsets.
func parseTime(text []byte) (time.Time, bool) {
	const shape = "0000-00-00T00:00:00"
	if len(text) <= len(shape) || !hasShape(text[:len(shape)], shape) {
		return time.Time{}, false
	}
	zone := text[len(shape):]
	if zone[0] == '.' {
		digits := 1
		for digits < len(zone) && '0' <= zone[digits] && zone[digits] <= '9' {
			digits++
		}
		zone = zone[digits:]
	}
	if string(zone) != "Z" {
		if !hasShape(zone, "+00:00") && !hasShape(zone, "-00:00") || string(zone[1:3]) > "23" || string(zone[4:6]) > "59" {
			return time.Time{}, false
		}
	}
	var at time.Time
	err := at.UnmarshalText(text)
	return at.UTC(), err == nil
}

// hasShape compares with a pattern in which 0 stands for any digit.
func hasShape(text []byte, shape string) bool {
	if len(text) != len(shape) {
		return false
	}
	for i, c := range text {
		if '0' <= c && c <= '9' {
			c = '0'
		}
		if c != shape[i] {
			return false
		}
	}
	return true
}
