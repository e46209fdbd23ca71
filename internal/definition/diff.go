package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Difference is what turns one definition into another. Everything is in order
// of name, so that two comparisons of the same definitions read the same.
type Difference struct {
	Patch   json.RawMessage  `json:"patch"`   // JSON Patch (RFC 6902)
	Head    []string         `json:"head"`    // members of the definition that changed, steps apart
	Added   []string         `json:"added"`   // steps
	Removed []string         `json:"removed"` // steps
	Changed []StepDifference `json:"changed"`

	from, to map[string]any
	inArray  bool           // steps are a list, as in runs
	places   map[string]int // in a list: where each step is now
}

// StepDifference is how one step changed.
type StepDifference struct {
	ID          string                 `json:"id"`
	Members     []string               `json:"members"`     // that changed, transitions among them
	Transitions []TransitionDifference `json:"transitions"` // by outcome
}

// TransitionDifference is an outcome that leads elsewhere. "" = nowhere.
type TransitionDifference struct {
	Outcome string `json:"outcome"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Diff compares two definitions of any kind, well-formed or not; they must be
// JSON objects.
func Diff(a, b json.RawMessage) (Difference, error) {
	d := Difference{Head: []string{}, Added: []string{}, Removed: []string{}, Changed: []StepDifference{}}
	var err error
	if d.Patch, err = JSONPatch(a, b); err != nil {
		return Difference{}, err
	}
	if d.from, err = decodeObject(a); err != nil {
		return Difference{}, err
	}
	if d.to, err = decodeObject(b); err != nil {
		return Difference{}, err
	}
	d.Head = changedMembers(d.from, d.to, "steps")
	before, _ := stepsOf(d.from)
	after, inArray := stepsOf(d.to)
	d.inArray, d.places = inArray, placesOf(stepOrder(d.to))
	for _, id := range sortedKeys(before) {
		next, stays := after[id]
		switch {
		case !stays:
			d.Removed = append(d.Removed, id)
		case !sameValue(before[id], next):
			d.Changed = append(d.Changed, compareSteps(id, before[id], next))
		}
	}
	for _, id := range sortedKeys(after) {
		if _, old := before[id]; !old {
			d.Added = append(d.Added, id)
		}
	}
	return d, nil
}

func decodeObject(raw json.RawMessage) (map[string]any, error) {
	value, err := decodeAny(raw)
	if err != nil {
		return nil, fmt.Errorf("compare definitions: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "compare definitions", Message: "a definition is a JSON object"}
	}
	return object, nil
}

// stepsOf finds the steps by id, be they an object, a list of objects with ids,
// or a list of names.
func stepsOf(definition map[string]any) (steps map[string]any, inArray bool) {
	switch written := definition["steps"].(type) {
	case map[string]any:
		return written, false
	case []any:
		steps = map[string]any{}
		for _, item := range written {
			switch item := item.(type) {
			case string:
				steps[item] = item
			case map[string]any:
				if id, ok := item["id"].(string); ok {
					steps[id] = item
				}
			}
		}
	}
	return steps, true
}

func compareSteps(id string, before, after any) StepDifference {
	from, _ := before.(map[string]any)
	to, _ := after.(map[string]any)
	d := StepDifference{ID: id, Members: changedMembers(from, to, ""), Transitions: []TransitionDifference{}}
	ways, _ := from["transitions"].(map[string]any)
	newWays, _ := to["transitions"].(map[string]any)
	for _, outcome := range changedMembers(ways, newWays, "") {
		was, _ := ways[outcome].(string)
		is, _ := newWays[outcome].(string)
		d.Transitions = append(d.Transitions, TransitionDifference{Outcome: outcome, From: was, To: is})
	}
	return d
}

// changedMembers names the members of which the two objects say different
// things, except one.
func changedMembers(from, to map[string]any, except string) []string {
	names := map[string]bool{}
	for name, value := range from {
		if after, stays := to[name]; !stays || !sameValue(value, after) {
			names[name] = true
		}
	}
	for name := range to {
		if _, old := from[name]; !old {
			names[name] = true
		}
	}
	delete(names, except)
	return append([]string{}, sortedKeys(names)...)
}

// Changes says in words, one sentence each, what is different: the head first,
// then steps that came, went and changed.
func (d Difference) Changes() []rondo.DefinitionChange {
	changes := []rondo.DefinitionChange{}
	say := func(at, format string, args ...any) {
		changes = append(changes, rondo.DefinitionChange{Pointer: at, Message: fmt.Sprintf(format, args...)})
	}
	for _, name := range d.Head {
		say(pointer(name), "%s", changeOf(name, d.from, d.to))
	}
	for _, id := range d.Added {
		say(d.stepAt(id), "step %s added", id)
	}
	for _, id := range d.Removed {
		say(d.stepAt(id), "step %s removed", id)
	}
	before, _ := stepsOf(d.from)
	after, _ := stepsOf(d.to)
	for _, step := range d.Changed {
		from, _ := before[step.ID].(map[string]any)
		to, _ := after[step.ID].(map[string]any)
		for _, name := range step.Members {
			if name != "transitions" {
				say(d.stepAt(step.ID, name), "step %s: %s", step.ID, changeOf(name, from, to))
			}
		}
		for _, way := range step.Transitions {
			at := d.stepAt(step.ID, "transitions", way.Outcome)
			switch {
			case way.From == "":
				say(at, "step %s: %s now leads to %s", step.ID, way.Outcome, way.To)
			case way.To == "":
				say(at, "step %s: %s no longer leads to %s", step.ID, way.Outcome, way.From)
			default:
				say(at, "step %s: %s leads to %s instead of %s", step.ID, way.Outcome, way.To, way.From)
			}
		}
	}
	if d.inArray && d.reordered() {
		say("/steps", "the steps are in another order")
	}
	return changes
}

// stepAt points at a step: where it is now, or was. In a list, a step that is
// gone has no place and the list stands for it.
func (d Difference) stepAt(id string, tokens ...string) string {
	if !d.inArray {
		return pointer("steps", id) + pointer(tokens...)
	}
	if place, stays := d.places[id]; stays {
		return pointer("steps", fmt.Sprint(place)) + pointer(tokens...)
	}
	return "/steps"
}

// placesOf says where each id is first.
func placesOf(ids []string) map[string]int {
	places := make(map[string]int, len(ids))
	for i, id := range ids {
		if _, twice := places[id]; !twice {
			places[id] = i
		}
	}
	return places
}

// stepOrder lists the ids of steps that are a list, in its order.
func stepOrder(definition map[string]any) []string {
	items, _ := definition["steps"].([]any)
	ids := make([]string, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case string:
			ids[i] = item
		case map[string]any:
			ids[i], _ = item["id"].(string)
		}
	}
	return ids
}

// reordered reports whether the steps that stay have changed places among
// themselves.
func (d Difference) reordered() bool {
	stays := func(other map[string]any) func(string) bool {
		steps, _ := stepsOf(other)
		return func(id string) bool { return steps[id] == nil }
	}
	before := slices.DeleteFunc(stepOrder(d.from), stays(d.to))
	after := slices.DeleteFunc(stepOrder(d.to), stays(d.from))
	return !slices.Equal(before, after)
}

// changeOf tells how one member changed, with its values when they are short.
func changeOf(name string, from, to map[string]any) string {
	was, had := from[name]
	is, has := to[name]
	short := func(v any) (string, bool) {
		raw, err := marshalPlain(v)
		text := string(raw)
		return text, err == nil && len(text) <= 60 && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[")
	}
	before, shortBefore := short(was)
	after, shortAfter := short(is)
	switch {
	case !had && shortAfter:
		return fmt.Sprintf("%s added: %s", name, after)
	case !had:
		return name + " added"
	case !has && shortBefore:
		return fmt.Sprintf("%s removed, it was %s", name, before)
	case !has:
		return name + " removed"
	case shortBefore && shortAfter:
		return fmt.Sprintf("%s changed from %s to %s", name, before, after)
	}
	return name + " changed"
}
