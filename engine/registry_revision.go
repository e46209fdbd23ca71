package engine

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// side is a definition before or after a change, as revisions show it. The body
// is there only when the change touched it.
type side struct {
	Status    rondo.DefinitionStatus `json:"status"`
	ProductID *string                `json:"product_id"`
	Body      json.RawMessage        `json:"definition,omitempty"`
}

// revision records a change of a definition: before is nil when it was created.
// The patch turns the side before into the side after.
func (e *Engine) revision(after rondo.Definition, p rondo.Principal, reason string, before *rondo.Definition) rondo.DefinitionRevision {
	diff := struct {
		Before *side           `json:"before"`
		After  *side           `json:"after"`
		Patch  json.RawMessage `json:"patch"`
	}{After: sideOf(after)}
	if before != nil {
		diff.Before = sideOf(*before)
		if string(before.Body) == string(after.Body) {
			diff.Before.Body, diff.After.Body = nil, nil
		}
	}
	diff.Patch = patchBetween(diff.Before, diff.After)
	return rondo.DefinitionRevision{
		ID: e.ids.New(), DefinitionID: after.ID, OrgID: after.OrgID, ChangedBy: p.User,
		Diff: encoded(diff), Reason: reason, CreatedAt: e.stamp(),
	}
}

func sideOf(d rondo.Definition) *side {
	s := &side{Status: d.Status, Body: d.Body}
	if d.ProductID != "" {
		s.ProductID = &d.ProductID
	}
	return s
}

func patchBetween(before, after *side) json.RawMessage {
	if patch, err := definition.JSONPatch(encoded(before), encoded(after)); err == nil {
		return patch
	}
	return json.RawMessage("[]") // bodies were read as JSON before: this is not reached
}

// encoded writes what consists of texts and bodies that were read as JSON
// before, so that it cannot fail.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
