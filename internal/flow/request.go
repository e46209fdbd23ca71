package flow

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// A request that nobody answered is published again after firstResend, then
// after twice as long each time, up to lastResend.
const (
	firstResend = time.Minute
	lastResend  = time.Hour
)

func resendAfter(resends int) time.Duration {
	if resends >= 6 { // 2^6 minutes is past the hour
		return lastResend
	}
	return firstResend << max(resends, 0)
}

// request opens an attempt that waits for a module. In client-driven mode the
// client calls the module: nothing is emitted and no timer runs.
func (m *move) request(att rondo.Attempt, step *definition.Step) string {
	input, broken := m.requestPayload(step)
	att.Input = input
	if broken != "" {
		return m.fail(att, step, violated(broken))
	}
	att.RequestID = m.env.NewID()
	if m.inst.Mode == rondo.ModeActive {
		m.armTimeout(&att, step)
		att.ResendAt = m.now.Add(resendAfter(0))
		m.ask(&att, step)
	}
	m.setLive(att)
	return ""
}

// ask publishes the request of an attempt. Everything in it comes from the
// attempt, so that asking again says the same, byte for byte.
func (m *move) ask(att *rondo.Attempt, step *definition.Step) {
	m.publish(outgoing{
		id: att.RequestID, eventType: step.Contract.Requested, at: att.StartedAt,
		correlation: att.CorrelationID, cause: att.Cause, payload: att.Input,
	})
}

// resend asks again and doubles the wait.
func (m *move) resend(i int) {
	m.own()
	att := &m.inst.Machine.Live[i]
	att.Resends++
	att.ResendAt = m.now.Add(resendAfter(att.Resends))
	if step := m.snap.Steps[att.StepID]; step != nil {
		m.ask(att, step)
	}
}

// asks reports whether Rondo itself asks the module of a live attempt.
func (m *move) asks(att *rondo.Attempt) bool {
	return m.inst.Mode == rondo.ModeActive && m.behaves(att, definition.BehaviourRequest)
}

// requestPayload builds what a module is asked with. broken says why it cannot
// be: a required member that the case cannot fill, or more than an event can
// carry. The bound holds in either mode, and building stops there.
func (m *move) requestPayload(step *definition.Step) (payload json.RawMessage, broken string) {
	o := newObject(128)
	names := make([]string, 0, 16)
	for name := range step.Contract.Request {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		selector := step.Contract.Request[name]
		value := m.selected(step, &selector)
		switch {
		case value != nil && len(o.buf)+len(name)+len(value)+len(`,"":}`) > MaxPayload:
			return nil, "the request is larger than 1 MiB"
		case value != nil:
			o.raw(name, value)
		case selector.Required && broken == "":
			broken = "the request needs " + name + ", which the case does not have"
		}
	}
	return o.done(), broken
}

// selected finds what a selector points at; nil = nothing is there.
func (m *move) selected(step *definition.Step, s *definition.Selector) json.RawMessage {
	switch {
	case s.Param != "":
		return step.Params[s.Param]
	case s.Context != "":
		return m.contextAt(strings.Split(s.Context, ".")...)
	case s.Merge != nil:
		return m.merged(step, s.Merge)
	case s.Pick != nil:
		return m.picked(step, s.Pick)
	case s.Images:
		return m.images()
	case s.ContextSnapshot:
		return writeMembers(m.inst.Context)
	case s.Template != "":
		return m.filled(step.Params[s.Template])
	case s.Timeout && step.Timeout > 0:
		return inSeconds(step.Timeout)
	}
	return s.Const
}

// filled is a param with its {{path}} texts filled from the context; nil when
// nothing is there, or more than a step may carry.
func (m *move) filled(template json.RawMessage) json.RawMessage {
	if isNull(template) {
		return nil
	}
	rendered, fits := m.render(template)
	if !fits || isNull(rendered) {
		return nil
	}
	return rendered
}

// merged joins objects, shallowly; later ones win.
func (m *move) merged(step *definition.Step, parts []definition.Selector) json.RawMessage {
	var all map[string]json.RawMessage
	for i := range parts {
		part := m.selected(step, &parts[i])
		if !isObject(part) {
			continue
		}
		if all == nil {
			all = make(map[string]json.RawMessage, 8)
		}
		for key, value := range eachMember(part) {
			all[text(key)] = value
		}
	}
	if all == nil {
		return nil
	}
	return writeMembers(all)
}

func (m *move) picked(step *definition.Step, pick *definition.Pick) json.RawMessage {
	from := m.selected(step, &pick.From)
	if !isObject(from) {
		return nil
	}
	o := newObject(64)
	for i, key := range pick.Keys {
		if value := member(from, key); value != nil && !slices.Contains(pick.Keys[:i], key) {
			o.raw(key, value)
		}
	}
	return o.done()
}

// contextAt is the context value at a path; nil when it is missing or null.
func (m *move) contextAt(path ...string) json.RawMessage {
	return descend(m.inst.Context[path[0]], path[1:]...)
}
