package flow

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// maxValues bounds how many values one path can be found by.
const maxValues = 20

// searchable adds what the case can be found by now: the declared paths that
// this decision may have changed, and at the start the case's tags. After a
// migration every path is new, and those that are no longer declared are empty.
func (m *move) searchable() {
	if m.decided.Created {
		m.attribute(rondo.TagPath, tags(m.contextAt("case", "metadata", "tags")))
	}
	for _, path := range m.snap.Search {
		if path != rondo.TagPath && m.touched(path) {
			m.attribute(path, scalars(m.contextAt(strings.Split(path, ".")...)))
		}
	}
	for _, path := range m.forgotten {
		if !slices.Contains(m.snap.Search, path) {
			m.attribute(path, nil)
		}
	}
}

// touched reports whether a decision may have changed what is at a path.
func (m *move) touched(path string) bool {
	if m.decided.Created || m.forgotten != nil {
		return true
	}
	root, _, _ := strings.Cut(path, ".")
	return slices.ContainsFunc(m.decided.Steps, func(row rondo.Step) bool { return row.StepID == root && row.Output != nil })
}

// attribute writes what a path holds. A new case holds nothing yet, so that
// there is nothing to write when it has no value.
func (m *move) attribute(path string, values []rondo.AttributeValue) {
	if m.decided.Created && len(values) == 0 {
		return
	}
	m.decided.Attributes = append(m.decided.Attributes, rondo.Attribute{OrgID: m.inst.OrgID, InstanceID: m.inst.ID, Path: path, Values: values})
}

// tags reads an array of strings; what is none is left out.
func tags(raw json.RawMessage) []rondo.AttributeValue {
	return elements(raw, func(one json.RawMessage) bool { return one[0] == '"' && string(one) != `""` })
}

// scalars reads what a value can be found by: itself, or the elements of an
// array.
func scalars(raw json.RawMessage) []rondo.AttributeValue {
	if value, ok := scalar(raw); ok {
		return []rondo.AttributeValue{value}
	}
	return elements(raw, func(json.RawMessage) bool { return true })
}

func elements(raw json.RawMessage, fits func(json.RawMessage) bool) []rondo.AttributeValue {
	var all []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	var values []rondo.AttributeValue
	for _, one := range all {
		value, ok := scalar(one)
		if ok && fits(one) && len(values) < maxValues && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// scalar reads a text, number or boolean. Texts that are too long cannot be
// searched for.
func scalar(raw json.RawMessage) (value rondo.AttributeValue, ok bool) {
	if len(raw) == 0 {
		return value, false
	}
	switch raw[0] {
	case '"':
		value.Text = text(raw)
		return value, len(value.Text) <= rondo.MaxAttributeBytes
	case 't', 'f':
		return rondo.AttributeValue{Text: string(raw)}, true
	case '{', '[', 'n':
		return value, false
	}
	if json.Unmarshal(raw, &value.Number) != nil {
		return value, false
	}
	written, err := json.Marshal(value.Number)
	value.Text, value.IsNumber = string(written), true
	return value, err == nil
}
