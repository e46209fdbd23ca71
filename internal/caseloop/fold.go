package caseloop

import (
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// attributeKey is what a searchable value belongs to.
type attributeKey struct {
	instance rondo.ID
	path     string
}

// fold adds a decision to the write and moves the case on for later inputs.
func (b *batch) fold(work *caseWork, in *Input, d flow.Decision) {
	w := b.write
	if d.Replaced != nil {
		b.put(work, d.Replaced)
		work.position, work.previous = -1, 0
	}
	if d.Instance != nil {
		b.put(work, d.Instance)
		work.state.Snapshot = driving(work, in, d)
		work.state.Instance = d.Instance
	}
	w.Steps = append(w.Steps, d.Steps...)
	w.Outbox = append(w.Outbox, d.Outbox...)
	if d.Intervention != nil {
		w.Interventions = append(w.Interventions, *d.Intervention)
	}
	for _, attribute := range d.Attributes {
		b.attribute(attribute)
	}
	switch {
	case d.Event == nil:
	case in.Event != nil && in.Event.Replay:
		b.replay(work, *d.Event)
	default:
		b.record(work, *d.Event)
	}
	for _, row := range d.Rejudged {
		b.rejudge(work, row)
	}
}

// put writes an instance: once in a batch, as the last decision left it.
func (b *batch) put(work *caseWork, instance *rondo.Instance) {
	w := b.write
	if work.position < 0 {
		work.position = len(w.Instances)
		w.Instances = append(w.Instances, store.InstanceWrite{Previous: work.previous})
	}
	w.Instances[work.position].Instance = instance
}

// driving is the snapshot that drives the instance after a decision: a new
// instance runs what was started, a migrated one what it was migrated to.
func driving(work *caseWork, in *Input, d flow.Decision) *definition.Snapshot {
	current := work.state.Snapshot
	switch {
	case d.Created:
		return work.state.Start.Snapshot
	case current != nil && current.Hash == d.Instance.SnapshotHash:
		return current
	case in.Command != nil && in.Command.Command.Target != nil:
		return in.Command.Command.Target.Snapshot
	}
	return current
}

// attribute writes a searchable value; a later one of the batch replaces it.
func (b *batch) attribute(attribute rondo.Attribute) {
	key := attributeKey{attribute.InstanceID, attribute.Path}
	if position, ok := b.attributes[key]; ok {
		b.write.Attributes[position] = attribute
		return
	}
	if b.attributes == nil {
		b.attributes = map[attributeKey]int{}
	}
	b.attributes[key] = len(b.write.Attributes)
	b.write.Attributes = append(b.write.Attributes, attribute)
}

func (b *batch) record(work *caseWork, row rondo.EventRecord) {
	b.fresh[rondo.EventKey{OrgID: row.OrgID, EventID: row.EventID}] = len(b.write.Events)
	b.write.Events = append(b.write.Events, row)
	work.park(row)
}

// replay gives a stored row that was unmatched its new outcome: in the ledger,
// or in this very write when an earlier input of the batch brought it.
func (b *batch) replay(work *caseWork, row rondo.EventRecord) {
	key := rondo.EventKey{OrgID: row.OrgID, EventID: row.EventID}
	if position, ok := b.fresh[key]; ok {
		row.ID, row.ReceivedAt = b.write.Events[position].ID, b.write.Events[position].ReceivedAt
		b.write.Events[position] = row
	} else {
		if b.replayed == nil {
			b.replayed = map[rondo.EventKey]rondo.Outcome{}
		}
		b.replayed[key] = row.Outcome
		b.write.Rejudged = append(b.write.Rejudged, row)
	}
	work.park(row)
}

// park keeps a parked event in sight of later inputs.
func (w *caseWork) park(row rondo.EventRecord) {
	if row.Outcome == rondo.OutcomeParked {
		w.state.Parked = append(slices.Clip(w.state.Parked), row)
	}
}

// rejudge gives a parked event its new judgement, which may be to stay parked: in
// the ledger, or in this very write when an earlier input of the batch parked it.
func (b *batch) rejudge(work *caseWork, row rondo.EventRecord) {
	key := rondo.EventKey{OrgID: row.OrgID, EventID: row.EventID}
	if position, ok := b.fresh[key]; ok {
		b.write.Events[position] = row
	} else {
		if _, ok := b.replayed[key]; ok {
			b.replayed[key] = row.Outcome
		}
		b.write.Rejudged = append(b.write.Rejudged, row)
	}
	still := make([]rondo.EventRecord, 0, len(work.state.Parked))
	for _, parked := range work.state.Parked {
		switch {
		case parked.EventID != row.EventID:
			still = append(still, parked)
		case row.Outcome == rondo.OutcomeParked:
			still = append(still, row)
		}
	}
	work.state.Parked = still
}
