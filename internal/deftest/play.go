package deftest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
)

// maxMoves bounds one play: a definition cannot loop, but a script of a step
// that fails and is retried for ever by people could.
const maxMoves = 10_000

const org = "org"

// play is one case on its way through a definition.
type play struct {
	snap     *definition.Snapshot
	given    *Given
	state    flow.State
	now      time.Time
	began    time.Time
	ids      uint64
	agenda   []entry           // what is going to happen, soonest first
	answered map[rondo.ID]bool // attempts whose answer is on the agenda
	used     map[string]int    // answers used, by step
	unasked  map[string]bool   // live steps that nothing is scripted for
	sent     map[rondo.ID]bool // request ids seen, so that a re-send is not a second event
	seen     Seen
	comeback func(p *play) // what a person does when the case halts; nil = nothing
}

// entry is one thing on the agenda.
type entry struct {
	at    time.Time
	input func(p *play) flow.Input // nil result = it does not apply any more
}

// startOf is the event that begins a case of the given world.
func (p *play) startOf() flow.Event {
	g := p.given
	payload := g.Case
	if payload == nil {
		payload = json.RawMessage(`{"patient_id":"patient"}`)
	}
	if g.Mode != "" {
		payload = withMember(payload, "orchestration_mode", string(g.Mode))
	}
	return p.event(event.TypeCaseCreated, "start", payload)
}

func newPlay(snap *definition.Snapshot, definitionID rondo.ID, given *Given) *play {
	p := &play{
		snap: snap, given: given, answered: map[rondo.ID]bool{}, used: map[string]int{}, unasked: map[string]bool{},
		sent: map[rondo.ID]bool{}, now: given.Start, seen: Seen{Path: []string{}, Events: []string{}},
	}
	if p.now.IsZero() {
		p.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	p.began = p.now
	p.state = flow.State{Start: &flow.Start{DefinitionID: definitionID, Snapshot: snap}, Launched: p.now}
	return p
}

// run plays the case to its end: until it is over, or nothing more can happen.
func (p *play) run() Seen {
	p.decide(p.startOf())
	if p.state.Instance == nil {
		return p.finish()
	}
	for _, a := range p.given.Events {
		p.plan(p.began.Add(time.Duration(a.After)), func(p *play) flow.Input { return p.event(a.Type, "arrival", orEmpty(a.Payload)) })
	}
	for _, a := range p.given.Actions {
		p.plan(p.began.Add(time.Duration(a.After)), func(*play) flow.Input { return a.command() })
	}
	for range maxMoves {
		if p.state.Instance.Status.Terminal() {
			break
		}
		p.ask()
		if p.comeback != nil && p.state.Instance.Status == rondo.StatusHalted {
			p.comeback(p)
		}
		if !p.step() {
			break
		}
	}
	return p.finish()
}

// step lets the next thing happen; false = nothing more can.
func (p *play) step() bool {
	due := flow.Due(p.state.Instance)
	if p.state.Instance.Status == rondo.StatusHalted || p.stuck() {
		due = time.Time{} // only what is on the agenda moves it on
	}
	switch {
	case len(p.agenda) > 0 && (due.IsZero() || !p.agenda[0].at.After(due)):
		next := p.agenda[0]
		p.agenda = p.agenda[1:]
		p.now = later(p.now, next.at)
		if input := next.input(p); input != nil {
			p.decide(input)
		}
	case !due.IsZero():
		p.now = later(p.now, due)
		p.decide(flow.Timer{})
	default:
		return false
	}
	return true
}

// stuck reports whether every live step waits for an answer that nothing in the
// script gives.
func (p *play) stuck() bool {
	live := p.state.Instance.Machine.Live
	return len(live) > 0 && !slices.ContainsFunc(live, func(a rondo.Attempt) bool { return !p.unasked[a.StepID] })
}

func (p *play) plan(at time.Time, input func(*play) flow.Input) {
	p.agenda = append(p.agenda, entry{at: at, input: input})
	slices.SortStableFunc(p.agenda, func(a, b entry) int { return a.at.Compare(b.at) })
}

// decide lets the machine judge one input and keeps what it says.
func (p *play) decide(input flow.Input) {
	d := flow.Decide(p.state, input, flow.Env{Now: p.now, NewID: p.newID, Known: event.Known})
	if d.Refused != nil {
		p.refused(input, d.Refused)
		return
	}
	if d.Instance != nil {
		if d.Created {
			p.state.Snapshot = p.snap
		}
		p.state.Instance = d.Instance
	}
	if row := d.Event; row != nil && row.Outcome == rondo.OutcomeParked {
		p.state.Parked = append(p.state.Parked, *row)
	}
	for _, row := range d.Rejudged {
		at := slices.IndexFunc(p.state.Parked, func(parked rondo.EventRecord) bool { return parked.EventID == row.EventID })
		switch {
		case at < 0:
		case row.Outcome == rondo.OutcomeParked:
			p.state.Parked[at] = row
		default:
			p.state.Parked = slices.Delete(p.state.Parked, at, at+1)
		}
	}
	for _, row := range d.Steps {
		p.seen.steps = append(p.seen.steps, row)
		p.seen.Path = append(p.seen.Path, row.StepID)
	}
	for _, out := range d.Outbox {
		if !p.sent[out.EventID] {
			p.sent[out.EventID] = true
			p.seen.Events = append(p.seen.Events, out.Stream)
		}
	}
}

// refused notes that a person may not do what the script says. The step that it
// was about still waits, and nothing else in the script will answer it.
func (p *play) refused(input flow.Input, err error) {
	command, _ := input.(flow.Command)
	why := err.Error()
	if e, ok := errors.AsType[*rondo.Error](err); ok && len(e.Fields) > 0 {
		why += ": " + e.Fields[0].Pointer + " " + e.Fields[0].Message
	}
	p.seen.Refused = append(p.seen.Refused, strings.TrimSpace(command.Action+" "+command.StepID)+" was refused: "+why)
	p.unasked[command.StepID] = true
}

func (p *play) finish() Seen {
	seen := p.seen
	seen.Took = Duration(p.now.Sub(p.began))
	if inst := p.state.Instance; inst != nil {
		seen.Status, seen.HaltReason, seen.HaltStepID, seen.context = inst.Status, inst.HaltReason, inst.HaltStepID, inst.Context
		if !inst.Status.Terminal() {
			for _, a := range inst.Machine.Live {
				seen.Waiting = append(seen.Waiting, a.StepID)
			}
		}
	}
	return seen
}

// newID counts: ids differ, sort by making, and are the same in every play.
func (p *play) newID() rondo.ID {
	p.ids++
	id := rondo.ID{6: 0x70, 8: 0x80}
	binary.BigEndian.PutUint32(id[:4], uint32(p.ids>>16))
	binary.BigEndian.PutUint16(id[4:6], uint16(p.ids))
	return id
}

func (p *play) event(eventType, correlation string, payload json.RawMessage) flow.Event {
	e := &event.Envelope{
		EventID: p.newID(), Type: eventType, SchemaVersion: event.SchemaVersion, OccurredAt: p.now, CorrelationID: correlation,
		CaseID: or(p.given.CaseID, "case"), OrgID: org, ProductID: or(p.given.ProductID, "product"), Payload: payload,
	}
	return flow.Event{Envelope: e, Raw: e.Encode()}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("{}")
	}
	return raw
}
