package flow

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// delay lets a token wait for a time, in either mode: it asks nobody. A time
// that has come already lets it pass at once.
func (m *move) delay(att rondo.Attempt, step *definition.Step) string {
	due, broken := m.delayedUntil(step)
	if broken != "" {
		return m.fail(att, step, violated(broken))
	}
	att.Input = newObject(96).optional("until", step.Until).text("due_at", due.Format(time.RFC3339Nano)).done()
	if due.After(m.now) {
		att.DueAt = due
		m.setLive(att)
		return ""
	}
	m.record(att, m.fired())
	return step.Transitions[definition.OnComplete]
}

// elapse ends a delay whose time has come.
func (m *move) elapse(i int, step *definition.Step) {
	att := m.end(i, m.fired())
	m.follow(tokenOf(&att), step.Transitions[definition.OnComplete])
}

func (m *move) fired() ending {
	return ending{
		status: rondo.StepCompleted, outcome: definition.OnComplete,
		output: newObject(64).text("fired_at", m.now.Format(time.RFC3339Nano)).done(),
	}
}

// delayedUntil is when a delay is over; broken says why that cannot be known.
func (m *move) delayedUntil(step *definition.Step) (due time.Time, broken string) {
	if step.Until == "" {
		return m.now.Add(step.Delay), ""
	}
	raw := m.contextAt(strings.Split(step.Until, ".")...)
	if raw == nil {
		return time.Time{}, "the delay needs " + step.Until + ", which the case does not have"
	}
	due, ok := readTime(raw)
	if !ok {
		return time.Time{}, step.Until + " is not a time: write RFC 3339 text or epoch milliseconds"
	}
	return due, ""
}

// readTime reads RFC 3339 text or epoch milliseconds. Years that RFC 3339 cannot
// write are no times.
func readTime(raw json.RawMessage) (at time.Time, ok bool) {
	if len(raw) == 0 {
		return at, false
	}
	if raw[0] == '"' {
		parsed, err := time.Parse(time.RFC3339, text(raw))
		at, ok = parsed, err == nil
	} else if ms, err := strconv.ParseFloat(string(raw), 64); err == nil && ms > -1e14 && ms < 1e15 {
		at, ok = time.UnixMilli(int64(ms)), true
	}
	at = at.UTC().Truncate(time.Microsecond)
	return at, ok && at.Year() >= 0 && at.Year() <= 9999
}
