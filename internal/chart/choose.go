package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// maxGuards bounds how many transitions are asked in one call.
const maxGuards = 20_000

// choose selects the transitions of the current event in n: those of the states
// inside it, else its own. Every region of a parallel state is asked.
func (r *run) choose(n *node) ([]*transition, error) {
	var inner []*transition
	for _, child := range n.children {
		if !r.active.has(child) {
			continue
		}
		chosen, err := r.choose(child)
		if err != nil {
			return nil, err
		}
		inner = append(inner, chosen...)
	}
	if len(inner) > 0 {
		return inner, nil
	}
	t, err := r.first(n.candidates(r.event.name))
	if t == nil || err != nil {
		return nil, err
	}
	return []*transition{t}, nil
}

// candidates are the transitions of a state for an event: those of its exact name,
// then those of wildcards, longest first.
func (n *node) candidates(event string) []*transition {
	var list []*transition
	for i := range n.descriptors {
		if n.descriptors[i].name == event {
			list = append(list, n.descriptors[i].transitions...)
		}
	}
	for _, wild := range n.wildcards {
		if wild.name != event && matches(wild.name, event) {
			list = append(list, wild.transitions...)
		}
	}
	return list
}

// matches reports whether a wildcard covers an event: "order.*" covers order and
// all that begins with "order.".
func matches(wildcard, event string) bool {
	if wildcard == "*" {
		return true
	}
	family := strings.TrimSuffix(wildcard, ".*")
	return event == family || strings.HasPrefix(event, family+".")
}

// first returns the first transition whose guard passes, nil if none does.
func (r *run) first(candidates []*transition) (*transition, error) {
	for _, t := range candidates {
		passed, err := r.ask(t)
		if err != nil {
			return nil, err
		}
		if passed {
			return t, nil
		}
	}
	return nil, nil
}

// ask evaluates the guard of a transition and writes down the question.
func (r *run) ask(t *transition) (bool, error) {
	if r.asked++; r.asked > maxGuards {
		return false, &rondo.Error{
			Code:    rondo.CodeWorkflowLogic,
			Message: fmt.Sprintf("more than %d transitions were asked for one event", maxGuards),
			Hint:    "look for raised events or always transitions that never come to rest",
		}
	}
	q := Question{State: t.source.id, On: t.label, Index: t.index, Passed: true}
	for _, target := range t.targets {
		q.Target = append(q.Target, target.id)
	}
	if t.guard != nil {
		passed, trace, err := t.guard.Trace(r.env())
		if err != nil {
			return false, t.failed("the guard", err)
		}
		q.Guard, q.Passed, q.Trace = t.guard.Source(), passed, trace.AppendJSON(nil)
	}
	delete(r.places, t)
	if len(r.result.Asked) < MaxAsked {
		r.places[t] = len(r.result.Asked)
		r.result.Asked = append(r.result.Asked, q)
	}
	return q.Passed, nil
}

// failed says which transition could not be judged.
func (t *transition) failed(what string, err error) *rondo.Error {
	on := "always"
	if t.label != "" {
		on = t.label
	}
	return &rondo.Error{
		Code:    rondo.CodeWorkflowLogic,
		Message: fmt.Sprintf("%s of %s, %s, transition %d, failed: %v", what, t.source.id, on, t.index, err),
		Hint:    correctAt(t.at),
	}
}

// chooseAlways selects always transitions: for every active state without
// children, in the order they were entered, the nearest one at or above it.
func (r *run) chooseAlways() ([]*transition, error) {
	var chosen []*transition
	asked := map[*node]*transition{}
	for _, leaf := range r.active.list {
		if !leaf.atomic() {
			continue
		}
		for n := leaf; n != nil; n = n.parent {
			if len(n.always) == 0 {
				continue
			}
			t, known := asked[n]
			if !known {
				var err error
				if t, err = r.first(n.always); err != nil {
					return nil, err
				}
				asked[n] = t
			}
			if t == nil {
				continue
			}
			if !slices.Contains(chosen, t) {
				chosen = append(chosen, t)
			}
			break
		}
	}
	return chosen, nil
}

// compatible drops transitions that would leave the same states as another: one
// further inside wins, else the earlier. What stays is marked as taken.
func (r *run) compatible(chosen []*transition) []*transition {
	exits := make(map[*transition]configuration, len(chosen))
	for _, t := range chosen {
		exits[t] = r.exits([]*transition{t})
	}
	var kept []*transition
	for _, t := range chosen {
		preempted := false
		var beaten []*transition
		for _, other := range kept {
			if !exits[t].meets(exits[other]) {
				continue
			}
			if t.source.within(other.source) {
				beaten = append(beaten, other)
				continue
			}
			preempted = true
			r.note(t, false, "it leaves the same states as a transition of "+other.source.id)
			break
		}
		if preempted {
			continue
		}
		for _, other := range beaten {
			r.note(other, false, "it leaves the same states as a transition of "+t.source.id+", which is further inside")
		}
		kept = slices.DeleteFunc(kept, func(other *transition) bool { return slices.Contains(beaten, other) })
		kept = append(kept, t)
	}
	for _, t := range kept {
		r.note(t, true, "")
	}
	return kept
}

// note says what became of a transition that was asked.
func (r *run) note(t *transition, taken bool, reason string) {
	if at, ok := r.places[t]; ok {
		r.result.Asked[at].Taken, r.result.Asked[at].Reason = taken, reason
	}
}
