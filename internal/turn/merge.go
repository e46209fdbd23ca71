package turn

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
)

// The policies by which new data meets what was collected before.
const (
	mergeLatest  = "latest"             // the newest value wins
	mergeHighest = "highest_confidence" // it wins unless the old one is of a higher confidence
	mergeAppend  = "append"             // values gather in a list
	mergeConfirm = "confirm_on_change"  // a change counts once it was said in two turns
)

func mergePolicies() []string { return []string{mergeLatest, mergeHighest, mergeAppend, mergeConfirm} }

// policies are a definition's, by field.
type policies struct {
	byDefault string
	fields    map[string]string
}

func (p policies) of(field string) string {
	if policy, said := p.fields[field]; said {
		return policy
	}
	return p.byDefault
}

// rank orders confidences; an unknown one is the lowest.
func rank(confidence string) int {
	return slices.Index([]string{rondo.ConfidenceLow, rondo.ConfidenceMedium, rondo.ConfidenceHigh}, confidence)
}

// merge puts what one turn brought into the state. It says what was collected,
// and which fields keep their old value until they are confirmed.
func (p policies) merge(state *rondo.ConversationState, data map[string]json.RawMessage, from rondo.Provenance) (collected map[string]json.RawMessage, unconfirmed []string) {
	collected = map[string]json.RawMessage{}
	for _, field := range slices.Sorted(maps.Keys(data)) {
		value := json.RawMessage(plain(data[field]))
		old, had := state.CollectedData[field]
		switch p.of(field) {
		case mergeHighest:
			if had && rank(from.Confidence) < rank(state.Provenance[field].Confidence) {
				continue
			}
		case mergeAppend:
			value = appended(old, value)
		case mergeConfirm:
			if had && !same(old, value) && !confirmed(state, field, value) {
				propose(state, field, value, from)
				unconfirmed = append(unconfirmed, field)
				continue
			}
			delete(state.Proposed, field)
		}
		state.CollectedData[field] = value
		setProvenance(state, field, value, from)
		collected[field] = slices.Clone(value)
	}
	return collected, unconfirmed
}

// confirmed reports whether an earlier turn proposed the same value.
func confirmed(state *rondo.ConversationState, field string, value json.RawMessage) bool {
	proposal, there := state.Proposed[field]
	return there && same(proposal.Value, value)
}

func propose(state *rondo.ConversationState, field string, value json.RawMessage, from rondo.Provenance) {
	if state.Proposed == nil {
		state.Proposed = map[string]rondo.Provenance{}
	}
	from.Value = value
	state.Proposed[field] = from
}

func setProvenance(state *rondo.ConversationState, field string, value json.RawMessage, from rondo.Provenance) {
	if state.Provenance == nil {
		state.Provenance = map[string]rondo.Provenance{}
	}
	from.Value = slices.Clone(value)
	state.Provenance[field] = from
}

// appended lists old and new: each that is a list counts by its items.
func appended(old, value json.RawMessage) json.RawMessage {
	list := append(items(old), items(value)...)
	written, err := compact(list)
	if err != nil {
		return value
	}
	return written
}

// items are those of a list; another value is the only one, and a missing one is
// none.
func items(raw json.RawMessage) []json.RawMessage {
	if raw == nil {
		return []json.RawMessage{}
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return list
	}
	return []json.RawMessage{raw}
}
