package flow

import (
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// Bounds on what a case keeps for later.
const (
	MaxParked = 100                 // events parked at a time
	ParkedFor = 30 * 24 * time.Hour // how long one waits for its case to begin, unless Env says otherwise
)

// Expired returns the events of a case without an instance that have been parked
// for so long that nobody will create it: they are unmatched now. The rows given
// are not changed.
func Expired(parked []rondo.EventRecord, now time.Time, after time.Duration) []rondo.EventRecord {
	var expired []rondo.EventRecord
	for _, row := range parked {
		if row.ReceivedAt.Add(after).After(now) {
			continue
		}
		note(&row, judgement{outcome: rondo.OutcomeUnmatched, err: errParkedTooLong})
		expired = append(expired, row)
	}
	return expired
}

// expireParked drops what has waited too long for its case to begin.
func (m *move) expireParked() {
	after := m.env.ParkedFor
	if after <= 0 {
		after = ParkedFor
	}
	expired := Expired(m.parked, m.now, after)
	if len(expired) == 0 {
		return
	}
	m.decided.Rejudged = append(m.decided.Rejudged, expired...)
	still := make([]rondo.EventRecord, 0, len(m.parked)-len(expired))
	for _, row := range m.parked {
		if !slices.ContainsFunc(expired, func(gone rondo.EventRecord) bool { return gone.EventID == row.EventID }) {
			still = append(still, row)
		}
	}
	m.parked = still
}

// capParked refuses to park more than a case may keep: each is read again after
// every move, and a sender that repeats itself under new event ids must not slow
// its case down for good.
func (m *move) capParked(j judgement) judgement {
	if j.outcome == rondo.OutcomeParked && len(m.parked) >= MaxParked {
		j.outcome, j.err = rondo.OutcomeRejected, errTooManyParked
	}
	return j
}

// settleParked looks at the parked events again, oldest first, after anything
// that may have changed what they mean. When one is applied the case has moved,
// so it begins again with the oldest. One that stays belongs to the instance from
// now on, with the verdict on how it came. Once the instance has ended, what is
// still parked is stale.
func (m *move) settleParked() {
	if len(m.parked) == 0 || !m.owned {
		return
	}
	cause := m.cause
	for i := 0; i < len(m.parked); {
		row := m.parked[i]
		j := m.rejudge(&row)
		row.InstanceID = m.inst.ID
		note(&row, j)
		if j.outcome == rondo.OutcomeParked {
			m.keepParked(i, row)
			i++
			continue
		}
		m.parked = slices.Concat(m.parked[:i], m.parked[i+1:])
		m.decided.Rejudged = append(m.decided.Rejudged, row)
		if j.outcome == rondo.OutcomeApplied {
			i = 0
		}
	}
	m.cause = cause
}

// keepParked notes what is new about an event that stays parked.
func (m *move) keepParked(i int, row rondo.EventRecord) {
	if was := &m.parked[i]; was.InstanceID == row.InstanceID && was.Verdict == row.Verdict {
		return
	}
	m.parked = slices.Clone(m.parked)
	m.parked[i] = row
	m.revised = append(m.revised, row.EventID)
}

// writeRevised writes what is new about events that are parked in the end.
func (m *move) writeRevised() {
	for i := range m.parked {
		if slices.Contains(m.revised, m.parked[i].EventID) {
			m.decided.Rejudged = append(m.decided.Rejudged, m.parked[i])
		}
	}
}

// rejudge judges a parked event, applying it when its time has come. One that no
// instance has judged before this one ended was early for all of it.
func (m *move) rejudge(row *rondo.EventRecord) judgement {
	if m.inst.Status.Terminal() {
		j := judgement{outcome: rondo.OutcomeStale}
		if m.inst.Mode == rondo.ModeClientDriven {
			j.verdict = verdictEarly
		}
		return j
	}
	envelope := m.parkedEnvelope(row)
	if envelope == nil {
		return judgement{outcome: rondo.OutcomeRejected, err: "the stored envelope cannot be read"}
	}
	j := m.judge(envelope)
	if j.outcome == rondo.OutcomeApplied {
		m.cause = envelope.EventID.String()
		j = m.applied(j, envelope)
	}
	return j
}

// parkedEnvelope reads the envelope of a parked event, once in a decision; nil
// when it cannot be read.
func (m *move) parkedEnvelope(row *rondo.EventRecord) *event.Envelope {
	if known, ok := m.envelopes[row.EventID]; ok {
		return known
	}
	envelope, err := event.Parse(row.Envelope)
	if err != nil {
		return nil
	}
	if m.envelopes == nil {
		m.envelopes = make(map[rondo.ID]*event.Envelope, len(m.parked))
	}
	m.envelopes[row.EventID] = envelope
	return envelope
}
