package flow

import (
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
)

// supersede cancels the instance and starts another one of the same case on the
// definition that is active now, in one decision. The new one takes the case and
// the patient from the old, and nothing else of what it knew.
func (m *move) supersede(start *Start, c Command) Decision {
	if start == nil || start.Snapshot == nil {
		refusal := rondo.WrongState(fmt.Sprintf("the instance is %s, but no definition is active that could replace it", m.inst.Status))
		refusal.Hint = "publish a definition for the product or the organisation first, or cancel the instance"
		return Decision{Refused: refusal}
	}
	mode := m.inst.Mode
	if c.Mode != "" {
		mode = c.Mode
	}
	if err := checkMode(mode); err != nil {
		return Decision{Refused: err}
	}
	before := standing(m.inst)
	next := &move{env: m.env, now: m.now}
	next.create(start, &rondo.Instance{
		OrgID: m.inst.OrgID, CaseID: m.inst.CaseID, ProductID: m.inst.ProductID, Mode: mode, SupersedesID: m.inst.ID,
		Context: rondo.Context{},
	})
	for _, name := range []string{"case_id", "org_id", "product_id", "patient_id", "case"} {
		if value, ok := m.inst.Context[name]; ok {
			next.inst.Context[name] = value
		}
	}
	m.cancel(c.By, "superseded_by:"+next.inst.ID.String(), "superseded")
	m.inst.SupersededByID = next.inst.ID
	m.settleParked()
	next.depart()
	next.intervened(c, m.inst, before, standing(m.inst))
	return replacing(m.finish(), next.finish())
}

// replacing joins what ends the old instance and what starts the new one.
func replacing(old, fresh Decision) Decision {
	fresh.Replaced = old.Instance
	fresh.Steps = slices.Concat(old.Steps, fresh.Steps)
	fresh.Rejudged = slices.Concat(old.Rejudged, fresh.Rejudged)
	fresh.Outbox = slices.Concat(old.Outbox, fresh.Outbox)
	fresh.Attributes = slices.Concat(old.Attributes, fresh.Attributes)
	return fresh
}
