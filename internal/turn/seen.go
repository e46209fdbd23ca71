package turn

import (
	"encoding/json"
	"fmt"
	"strings"
)

// seen is what conditions can see. Rules look into the same few objects again and
// again, so that each is taken apart once.
type seen struct {
	members map[string]json.RawMessage
	inside  map[string]*seen
}

func newSeen(members map[string]json.RawMessage) *seen {
	return &seen{members: members, inside: map[string]*seen{}}
}

// lookup finds the value at a path; what is missing is nil.
func (s *seen) lookup(path []string) (any, error) {
	at := s
	for _, name := range path[:len(path)-1] {
		if at = at.enter(name); at == nil {
			return nil, nil
		}
	}
	raw := at.members[path[len(path)-1]]
	if raw == nil {
		return nil, nil
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil, fmt.Errorf("%s has a number that cannot be compared", strings.Join(path, "."))
	}
	return value, nil
}

// enter takes a member apart; nil when it is no object.
func (s *seen) enter(name string) *seen {
	below, known := s.inside[name]
	if !known {
		if members, ok := object(s.members[name]); ok {
			below = newSeen(members)
		}
		s.inside[name] = below
	}
	return below
}
