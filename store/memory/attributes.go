package memory

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// put replaces what a path holds.
func (row *instanceRow) put(attribute rondo.Attribute) {
	values := store.Searchable(attribute.Values)
	if len(values) == 0 {
		delete(row.attributes, attribute.Path)
		return
	}
	if row.attributes == nil {
		row.attributes = map[string][]rondo.AttributeValue{}
	}
	row.attributes[attribute.Path] = values
}

// holds reports whether the values of an instance pass every test.
func (row *instanceRow) holds(tests []store.AttributeTest) bool {
	for _, test := range tests {
		if !test.Holds(row.attributes[test.Path]) {
			return false
		}
	}
	return true
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
