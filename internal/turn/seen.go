package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// seen is an object as conditions look into it. Rules look into the same few
// objects again and again, so that each is taken apart once, and what is at hand in
// parts is written as JSON only for a rule that wants it whole.
type seen struct {
	members map[string]json.RawMessage
	inside  map[string]*seen
	whole   func() (json.RawMessage, error) // of an object that was never written; nil = it is a member
	partial bool                            // there are more members in the whole
}

func newSeen(members map[string]json.RawMessage) *seen {
	return &seen{members: members, inside: map[string]*seen{}}
}

// visible is what signal rules see: context, turn and payload.
func (r *run) visible() *seen {
	roots := newSeen(nil)
	roots.inside["context"] = newSeen(r.snapshot.Context)
	roots.inside["context"].whole = func() (json.RawMessage, error) { return compact(r.snapshot.Context) }
	roots.inside["turn"] = seenTurn(&r.parsed)
	if r.payload != nil {
		roots.inside["payload"] = newSeen(r.payload.Data)
		roots.inside["payload"].whole = func() (json.RawMessage, error) { return compact(r.payload.Data) }
	}
	return roots
}

// seenTurn has the members that are short at hand; the others are read from the
// whole.
func seenTurn(parsed *rondo.ParsedTurn) *seen {
	turn := newSeen(map[string]json.RawMessage{"kind": quoted(&parsed.Kind), "nextAction": quoted(parsed.NextAction), "nextPrompt": quoted(parsed.NextPrompt), "confidence": quoted(parsed.Confidence)})
	turn.whole, turn.partial = func() (json.RawMessage, error) { return compact(parsed) }, true
	if parsed.Data != nil {
		turn.inside["data"] = newSeen(parsed.Data)
		turn.inside["data"].whole = func() (json.RawMessage, error) { return compact(parsed.Data) }
	}
	return turn
}

func quoted(text *string) json.RawMessage {
	if written, err := compact(text); err == nil {
		return written
	}
	return json.RawMessage("null") // a text can always be written
}

// lookup finds the value at a path; what is missing is nil.
func (s *seen) lookup(path []string) (any, error) {
	at := s
	for _, name := range path[:len(path)-1] {
		below, err := at.enter(name)
		if err != nil || below == nil {
			return nil, err
		}
		at = below
	}
	raw, err := at.member(path[len(path)-1])
	if raw == nil || err != nil {
		return nil, err
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil, fmt.Errorf("%s has a number that cannot be compared", strings.Join(path, "."))
	}
	return value, nil
}

// enter takes a member apart; nil when it is no object.
func (s *seen) enter(name string) (*seen, error) {
	below, known := s.inside[name]
	if !known {
		raw, err := s.member(name)
		if err != nil {
			return nil, err
		}
		if members, ok := object(raw); ok {
			below = newSeen(members)
		}
		s.inside[name] = below
	}
	return below, nil
}

// member is the JSON of a member; nil when there is none.
func (s *seen) member(name string) (json.RawMessage, error) {
	if raw, here := s.members[name]; here {
		return raw, nil
	}
	if below := s.inside[name]; below != nil && below.whole != nil {
		return below.whole()
	}
	if !s.partial {
		return nil, nil
	}
	raw, err := s.whole()
	if err != nil {
		return nil, err
	}
	s.members, _ = object(raw)
	s.partial = false
	return s.members[name], nil
}
