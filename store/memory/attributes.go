package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// put replaces what a path holds.
func (row *instanceRow) put(attribute rondo.Attribute) {
	values := searchable(attribute.Values)
	if len(values) == 0 {
		delete(row.attributes, attribute.Path)
		return
	}
	if row.attributes == nil {
		row.attributes = map[string][]rondo.AttributeValue{}
	}
	row.attributes[attribute.Path] = values
}

// searchable is the values by text, each text once and as a number if it is one
// in any place, without those that are too long.
func searchable(values []rondo.AttributeValue) []rondo.AttributeValue {
	kept := make([]rondo.AttributeValue, 0, len(values))
	for _, v := range values {
		if len(v.Text) > rondo.MaxAttributeBytes {
			continue
		}
		if !v.IsNumber {
			v.Number = 0
		}
		at, known := slices.BinarySearchFunc(kept, v.Text, func(have rondo.AttributeValue, text string) int { return cmp.Compare(have.Text, text) })
		switch {
		case !known:
			kept = slices.Insert(kept, at, v)
		case v.IsNumber:
			kept[at] = v
		}
	}
	return kept
}

// holds reports whether the values of an instance pass a filter.
func (row *instanceRow) holds(filter store.InstanceFilter) bool {
	if filter.Tag != "" && !row.any(store.AttributeTest{Path: rondo.TagPath, Op: "=", Value: rondo.AttributeValue{Text: filter.Tag}}) {
		return false
	}
	for _, test := range filter.Where {
		if !row.any(test) {
			return false
		}
	}
	return true
}

func (row *instanceRow) any(test store.AttributeTest) bool {
	return slices.ContainsFunc(row.attributes[test.Path], func(v rondo.AttributeValue) bool { return passes(v, test) })
}

func passes(v rondo.AttributeValue, test store.AttributeTest) bool {
	order := cmp.Compare(v.Text, test.Value.Text)
	switch test.Op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	}
	if test.Value.IsNumber {
		if !v.IsNumber {
			return false
		}
		order = cmp.Compare(v.Number, test.Value.Number)
	}
	switch test.Op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	default:
		return false
	}
}

// Attributes implements store.Ledger.
func (s *Store) Attributes(ctx context.Context, org string, instance rondo.ID) ([]rondo.Attribute, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.instanceOf(org, instance)
	if row == nil {
		return nil, nil
	}
	var found []rondo.Attribute
	for _, path := range sortedKeys(row.attributes) {
		found = append(found, rondo.Attribute{OrgID: org, InstanceID: instance, Path: path, Values: slices.Clone(row.attributes[path])})
	}
	return found, nil
}
