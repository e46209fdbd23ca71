package flow

import (
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// settleParked looks at the parked events again, oldest first, after anything
// that may have changed what they mean. When one is applied the case has moved,
// so it begins again with the oldest. Once the instance has ended, what is still
// parked is stale.
func (m *move) settleParked() {
	if len(m.parked) == 0 || !m.owned {
		return
	}
	cause := m.cause
	for i := 0; i < len(m.parked); {
		row := m.parked[i]
		j := m.rejudge(&row)
		if j.outcome == rondo.OutcomeParked {
			i++
			continue
		}
		m.parked = slices.Concat(m.parked[:i], m.parked[i+1:])
		row.InstanceID = m.inst.ID
		note(&row, j)
		m.decided.Rejudged = append(m.decided.Rejudged, row)
		if j.outcome == rondo.OutcomeApplied {
			i = 0
		}
	}
	m.cause = cause
}

// rejudge judges a parked event, applying it when its time has come.
func (m *move) rejudge(row *rondo.EventRecord) judgement {
	if m.inst.Status.Terminal() {
		return judgement{outcome: rondo.OutcomeStale}
	}
	envelope, err := event.Parse(row.Envelope)
	if err != nil {
		return judgement{outcome: rondo.OutcomeRejected, err: "the stored envelope cannot be read"}
	}
	j := m.judge(envelope)
	if j.outcome == rondo.OutcomeApplied {
		m.cause = envelope.EventID.String()
		m.apply(j.live, envelope)
	}
	return j
}
