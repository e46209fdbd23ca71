package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// Start enters the initial states: the context of the configuration with the given
// members over it. Its error is a *rondo.Error: CodeInvalid for a context that is no
// JSON, CodeWorkflowLogic for a guard or an action that failed.
func (m *Machine) Start(context map[string]json.RawMessage, scope Scope) (Result, error) {
	for name, raw := range context {
		if !json.Valid(raw) {
			return Result{}, rondo.Invalid(fmt.Sprintf("member %q of the context is no JSON value", name))
		}
	}
	r := m.newRun(scope)
	r.context = maps.Clone(m.context)
	maps.Copy(r.context, context)
	r.event = occurrence{name: internal + "init"}
	r.active = newConfiguration(m)
	r.result.Handled = true
	if err := r.begin(); err != nil {
		return Result{}, err
	}
	return r.finish(nil)
}

// Send gives an event to a machine that stands at s. An event that nothing waits
// for, and any event to a machine that is done, changes nothing but what always
// transitions make of a changed context. Its error is a *rondo.Error: CodeInvalid for
// an event without a proper type, CodeStateCorrupt for a snapshot that is not of this
// machine, CodeWorkflowLogic for a guard or an action that failed.
func (m *Machine) Send(s Snapshot, e Event, scope Scope) (Result, error) {
	if e.Type == "" || e.Type == "*" || strings.HasPrefix(e.Type, internal) {
		return Result{}, rondo.Invalid(`an event needs a type, which is not "*" and does not begin with "xstate."`)
	}
	if len(e.Payload) > 0 && !json.Valid(e.Payload) {
		return Result{}, rondo.Invalid("the payload of the event is no JSON value")
	}
	r, err := m.resume(s, scope)
	if err != nil {
		return Result{}, err
	}
	return r.take(s, occurrence{name: e.Type, payload: e.Payload})
}

// Fire takes a timer out of the snapshot and sends its event. A timer that is not
// there was cancelled or has fired: nothing is handled.
func (m *Machine) Fire(s Snapshot, timerID string, scope Scope) (Result, error) {
	r, err := m.resume(s, scope)
	if err != nil {
		return Result{}, err
	}
	at := slices.IndexFunc(r.timers, func(t Timer) bool { return t.ID == timerID })
	if at < 0 {
		return Result{Snapshot: s}, nil
	}
	event := r.timers[at].Event
	r.timers = slices.Delete(r.timers, at, at+1)
	return r.take(s, occurrence{name: event})
}

// occurrence is an event while it is handled. Those that say a state is done have
// an output, which is their payload too.
type occurrence struct {
	name    string
	payload json.RawMessage
	output  json.RawMessage
}

// run is one call of Start, Send or Fire. It works on copies.
type run struct {
	m       *Machine
	scope   Scope
	context map[string]json.RawMessage
	history map[string][]*node
	active  configuration
	timers  []Timer
	paused  map[string]time.Duration
	status  string
	output  json.RawMessage

	event   occurrence
	queue   []occurrence // raised and not yet handled
	mutated bool         // the context or the status changed in this microstep

	decoded map[string]any // context members and roots that were looked at
	places  map[*transition]int
	asked   int // guards
	spent   int // bytes that selectors made
	result  Result
}

func (m *Machine) newRun(scope Scope) *run {
	return &run{
		m: m, scope: scope, status: Active,
		history: map[string][]*node{}, paused: map[string]time.Duration{},
		decoded: map[string]any{}, places: map[*transition]int{},
	}
}

// take handles one event from outside and all that follows from it.
func (r *run) take(before Snapshot, e occurrence) (Result, error) {
	if r.status != Active {
		return Result{Snapshot: before}, nil
	}
	r.turnTo(e)
	chosen, err := r.choose(r.m.root)
	if err != nil {
		return Result{}, err
	}
	r.result.Handled = len(chosen) > 0
	if _, err := r.microstep(chosen); err != nil {
		return Result{}, err
	}
	if err := r.settle(); err != nil {
		return Result{}, err
	}
	return r.finish(before.Value)
}

// begin enters the machine itself.
func (r *run) begin() error {
	first := &transition{source: r.m.root, targets: []*node{r.m.root}, reenter: true}
	if err := r.enter([]*transition{first}, &r.active, true); err != nil {
		return err
	}
	if err := r.exitWhenDone(&r.active); err != nil {
		return err
	}
	return r.settle()
}

// settle takes always transitions until there are none left, then the next raised
// event, and so on.
func (r *run) settle() error {
	askAlways := true
	for steps := 1; r.status == Active; steps++ {
		if steps > MaxMicrosteps {
			return &rondo.Error{
				Code:    rondo.CodeWorkflowLogic,
				Message: fmt.Sprintf("the machine does not come to rest: it took %d steps for one event", MaxMicrosteps),
				Hint:    "look for always transitions or raised events that lead back to where they began",
			}
		}
		var chosen []*transition
		var err error
		if askAlways {
			chosen, err = r.chooseAlways()
		}
		byAlways := len(chosen) > 0
		if err == nil && !byAlways {
			if len(r.queue) == 0 {
				return nil
			}
			r.turnTo(r.queue[0])
			r.queue = r.queue[1:]
			chosen, err = r.choose(r.m.root)
		}
		if err != nil {
			return err
		}
		changed, err := r.microstep(chosen)
		if err != nil {
			return err
		}
		askAlways = changed || !byAlways
	}
	return nil
}

// turnTo makes e the event that guards and selectors see.
func (r *run) turnTo(e occurrence) {
	r.event = e
	delete(r.decoded, "event")
}

// finish writes the snapshot. before is the value before the call, nil at a start.
func (r *run) finish(before json.RawMessage) (Result, error) {
	if !r.active.wellFormed(r.m.root) {
		return Result{}, &rondo.Error{
			Code: rondo.CodeWorkflowLogic, Message: "the transitions lead to states that cannot be active together",
			Hint: "let a transition to a history state come from outside the state that remembers",
		}
	}
	value := r.active.value()
	r.result.Changed = before == nil || !sameJSON(before, value)
	s := Snapshot{Value: value, Context: r.context, Status: r.status, Output: r.output, Timers: r.timers, Entered: r.active.entered()}
	if len(r.history) > 0 {
		s.History = make(map[string]json.RawMessage, len(r.history))
		for id, nodes := range r.history {
			ids := make([]string, len(nodes))
			for i, n := range nodes {
				ids[i] = n.id
			}
			raw, err := json.Marshal(ids)
			if err != nil {
				return Result{}, rondo.Op("write history", err)
			}
			s.History[id] = raw
		}
	}
	if r.status == Active && len(r.paused) > 0 {
		s.Paused = r.paused
	}
	r.result.Snapshot = s
	return r.result, nil
}

// sameJSON compares two state values, whatever space is in them.
func sameJSON(a, b json.RawMessage) bool {
	var left, right bytes.Buffer
	if json.Compact(&left, a) != nil || json.Compact(&right, b) != nil {
		return false
	}
	return bytes.Equal(left.Bytes(), right.Bytes())
}
