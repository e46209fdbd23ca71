package chart

import (
	"encoding/json"
	"slices"
	"time"
)

// enter enters states in document order and raises what their ends mean.
func (r *run) enter(transitions []*transition, next *configuration, starting bool) error {
	e := r.entries(transitions)
	if starting {
		e.byDefault.add(r.m.root)
	}
	completed := newConfiguration(r.m)
	for _, n := range e.states.sorted() {
		next.add(n)
		r.result.Path = append(r.result.Path, n.id)
		if err := r.do(n.entry); err != nil {
			return n.failed("an entry action", err)
		}
		for _, d := range n.timers {
			r.set(n, d)
		}
		if e.byDefault.has(n) {
			if err := r.do(n.initialActions); err != nil {
				return n.failed("an initial action", err)
			}
		}
		if n.kind == final {
			if err := r.reached(n, next, &completed); err != nil {
				return err
			}
		}
	}
	return nil
}

// reached raises the done events of a final state, and ends the machine when
// nothing is left to be done.
func (r *run) reached(n *node, next, completed *configuration) error {
	var output json.RawMessage
	if n.output != nil {
		var err error
		if output, err = r.resolve(n.output); err != nil {
			return n.failed("the output", err)
		}
	}
	above := n.parent.parent
	if n.parent.kind == parallel {
		above = n.parent
	}
	last := n
	if n.parent.kind == compound {
		if err := r.push(occurrence{name: doneEvent(n.parent), payload: output, output: output}); err != nil {
			return n.failed("the end", err)
		}
	}
	for above != nil && above.kind == parallel && !completed.has(above) && next.finished(above) {
		completed.add(above)
		if err := r.push(occurrence{name: doneEvent(above)}); err != nil {
			return n.failed("the end", err)
		}
		last = above
		above = above.parent
	}
	if above != nil {
		return nil
	}
	r.status, r.mutated = Done, true
	if last != n {
		output = nil // several ends came together: none of them speaks for the machine
	}
	return r.conclude(last, output)
}

// conclude finds the output of the machine.
func (r *run) conclude(last *node, output json.RawMessage) error {
	r.output = output
	if r.m.root.output == nil {
		return nil
	}
	event := r.event
	r.turnTo(occurrence{name: doneEvent(last), payload: output, output: output})
	resolved, err := r.resolve(r.m.root.output)
	r.turnTo(event)
	if err != nil {
		return r.m.root.failed("the output", err)
	}
	r.output = resolved
	return nil
}

// finished reports whether a state has come to its end.
func (c *configuration) finished(n *node) bool {
	switch n.kind {
	case compound:
		return slices.ContainsFunc(n.children, func(child *node) bool { return child.kind == final && c.has(child) })
	case parallel:
		return !slices.ContainsFunc(n.regions(), func(region *node) bool { return !c.finished(region) })
	}
	return n.kind == final
}

// exitWhenDone lets all states do their exit actions when the machine is done.
func (r *run) exitWhenDone(next *configuration) error {
	if r.status != Done {
		return nil
	}
	order := next.sorted()
	for _, n := range slices.Backward(order) {
		if err := r.exit(n); err != nil {
			return err
		}
	}
	return nil
}

// exit does the exit actions of a state and stops its timers.
func (r *run) exit(n *node) error {
	if err := r.do(n.exit); err != nil {
		return n.failed("an exit action", err)
	}
	for _, d := range n.timers {
		r.cancel(d)
	}
	return nil
}

// set starts the timer of a state that is entered.
func (r *run) set(n *node, d delay) {
	r.timers = slices.DeleteFunc(r.timers, func(t Timer) bool { return t.ID == d.id })
	wait := d.wait
	if left, ok := r.paused[d.id]; ok {
		wait = left
		delete(r.paused, d.id)
	}
	// Neither zone nor monotonic clock: a stored timer is the same timer.
	r.timers = append(r.timers, Timer{ID: d.id, State: n.id, Event: d.event, DueAt: r.now().Add(wait)})
}

// cancel stops the timer of a state that is left, and keeps what was left of it
// where the author wants that.
func (r *run) cancel(d delay) {
	at := slices.IndexFunc(r.timers, func(t Timer) bool { return t.ID == d.id })
	if at < 0 {
		return
	}
	if d.remaining {
		r.paused[d.id] = max(0, r.timers[at].DueAt.Sub(r.now()))
	}
	r.timers = slices.Delete(r.timers, at, at+1)
}

func (r *run) now() time.Time { return r.scope.Now.UTC().Round(0) }
