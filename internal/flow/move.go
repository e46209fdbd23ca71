package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// move is one decision in the making: the instance as it will be, and what must
// be written and sent with it.
type move struct {
	env    Env
	now    time.Time
	snap   *definition.Snapshot
	inst   *rondo.Instance // the caller's until own makes a copy
	owned  bool
	cause  string              // event id of what is being applied; "" = none
	parked []rondo.EventRecord // still parked, oldest first
	// envelopes are those of parked events that were looked at already.
	envelopes map[rondo.ID]*event.Envelope
	revised   []rondo.ID // parked events of which something is new besides their outcome
	reopening string     // step that is about to get its next attempt; "" = none
	forgotten []string   // not nil = the paths that were searchable before a migration
	decided   Decision
}

func newMove(s State, env Env) *move {
	// Stores keep microseconds: what is decided now must read the same later.
	return &move{env: env, now: env.Now.UTC().Truncate(time.Microsecond), snap: s.Snapshot, inst: s.Instance, parked: s.Parked}
}

// own makes the instance ours to change. Whatever changes it calls own first.
func (m *move) own() {
	if m.owned {
		return
	}
	m.owned = true
	mine := *m.inst
	mine.Context = maps.Clone(mine.Context)
	mine.Machine.Live = slices.Clone(mine.Machine.Live)
	mine.Machine.Steps = maps.Clone(mine.Machine.Steps)
	mine.Machine.Consumed = maps.Clone(mine.Machine.Consumed)
	mine.Machine.Taken = slices.Clone(mine.Machine.Taken)
	mine.Machine.Forks = slices.Clone(mine.Machine.Forks)
	mine.Version++
	m.inst = &mine
}

// finish closes the decision: nothing changes after it. Only what changed the
// instance moves its wake-up, so that an event which means nothing writes nothing.
func (m *move) finish() Decision {
	if m.owned {
		m.failStranded()
		m.searchable()
		m.inst.WakeAt = nextWake(m.inst, m.now)
		m.decided.Instance = m.inst
		m.writeRevised()
	}
	return m.decided
}

// token is where a live path through the definition comes from: what a halt
// needs to know to name the step it goes back to. Within a branch only the branch
// counts: a halt there never goes back to before the fork.
type token struct {
	work string // the last step that did work, "" = none
	last string // the last step of any kind, "" = none
}

// follow moves a token on until it waits, joins others or the case stops. A
// definition has no cycle, so it ends after at most as many steps as there are.
// When another branch has stopped the case, the token stays where it is.
func (m *move) follow(tok token, target string) {
	for range len(m.snap.Steps) + 1 {
		switch target {
		case "":
			return
		case definition.Terminal:
			m.complete()
			return
		case definition.Join:
			m.join(m.snap.Steps[tok.last])
			return
		}
		step := m.snap.Steps[target]
		if step == nil {
			m.halt(haltContractViolation, "the definition has no step "+target, tok.stop(target))
			return
		}
		att := m.mint(step)
		if m.inst.Status != rondo.StatusRunning {
			m.hold(att)
			return
		}
		tok, target = m.run(att, step, tok)
	}
}

// run does what a step does when a token reaches it. It returns where the token
// goes next: "" when it waits or the case stopped.
func (m *move) run(att rondo.Attempt, step *definition.Step, tok token) (token, string) {
	att.Status, att.StartedAt, att.DueAt = rondo.StepInProgress, m.now, time.Time{}
	next := tok
	next.last = step.ID
	if works(step) {
		next.work = step.ID
	}
	switch step.Contract.Behaviour {
	case definition.BehaviourRequest:
		return next, m.request(att, step)
	case definition.BehaviourDelay:
		return next, m.delay(att, step)
	case definition.BehaviourWait:
		return next, m.wait(att, step)
	case definition.BehaviourManual:
		return next, m.manual(att, step)
	case definition.BehaviourParallel:
		return next, m.parallel(att, step)
	case definition.BehaviourCondition:
		return next, m.condition(att, step)
	case definition.BehaviourEmit:
		return next, m.emit(att, step)
	case definition.BehaviourFinal:
		return next, m.final(att, step)
	case definition.BehaviourHalt:
		m.haltStep(att, step, tok)
		return next, ""
	}
	return next, m.fail(att, step, violated("this version does not know the behaviour "+string(step.Contract.Behaviour)))
}

// works reports whether a step does work that a halt can go back to: whatever
// waits for something outside. The others are decided where the token stands.
func works(step *definition.Step) bool {
	switch step.Contract.Behaviour {
	case definition.BehaviourCondition, definition.BehaviourEmit, definition.BehaviourFinal, definition.BehaviourHalt:
		return false
	}
	return true
}

// behaves reports whether an attempt is at a step of a behaviour.
func (m *move) behaves(att *rondo.Attempt, behaviour definition.Behaviour) bool {
	step := m.snap.Steps[att.StepID]
	return step != nil && step.Contract.Behaviour == behaviour
}

// mint makes the next attempt at a step.
func (m *move) mint(step *definition.Step) rondo.Attempt {
	m.own()
	life := m.inst.Machine.Steps[step.ID]
	life.Attempts++
	sla := startClock(step.SLA, m.now)
	if life.SLA != nil {
		sla, life.SLA = *life.SLA, nil
	}
	m.setLife(step.ID, life)
	return rondo.Attempt{
		RowID:         m.env.NewID(),
		StepID:        step.ID,
		Kind:          step.Kind,
		Status:        rondo.StepInProgress,
		Number:        life.Attempts,
		CorrelationID: m.env.NewID().String(),
		Cause:         m.cause,
		Fork:          step.Fork,
		Branch:        step.Branch,
		SLA:           sla,
	}
}

func (m *move) setLife(stepID string, life rondo.StepLife) {
	if m.inst.Machine.Steps == nil {
		m.inst.Machine.Steps = make(map[string]rondo.StepLife, len(m.snap.Steps))
	}
	m.inst.Machine.Steps[stepID] = life
}

// ending is how an attempt ended.
type ending struct {
	status  rondo.StepStatus
	output  json.RawMessage // nil = none
	failure json.RawMessage // nil = none
	outcome string          // the transition followed
	over    bool            // no transition was followed and the step will not be tried again
}

// record writes the row of an attempt that ended and folds its output into the
// context.
func (m *move) record(att rondo.Attempt, end ending) {
	m.own()
	machine := &m.inst.Machine
	machine.Finished++
	life := machine.Steps[att.StepID]
	life.Ended = machine.Finished
	if end.output != nil {
		life.Output = machine.Finished
		m.inst.Context[att.StepID] = end.output
	}
	if end.outcome == "" && !end.over {
		life.SLA = m.leftOf(&att)
	}
	m.setLife(att.StepID, life)
	m.decided.Steps = append(m.decided.Steps, rondo.Step{
		ID:            att.RowID,
		OrgID:         m.inst.OrgID,
		InstanceID:    m.inst.ID,
		StepID:        att.StepID,
		Kind:          att.Kind,
		Status:        end.status,
		Attempt:       att.Number,
		Seq:           machine.Finished,
		StartedAt:     att.StartedAt,
		CompletedAt:   m.now,
		TimeoutAt:     att.TimeoutAt,
		Input:         att.Input,
		Output:        end.output,
		Error:         end.failure,
		CorrelationID: att.CorrelationID,
		Outcome:       end.outcome,
	})
}

// end takes a live attempt out of flight and writes its row.
func (m *move) end(i int, e ending) rondo.Attempt {
	m.own()
	att := m.inst.Machine.Live[i]
	m.inst.Machine.Live = slices.Delete(m.inst.Machine.Live, i, i+1)
	m.record(att, e)
	return att
}

// tokenOf is the token that waits in a live attempt.
func tokenOf(att *rondo.Attempt) token {
	return token{work: att.StepID, last: att.StepID}
}

func (m *move) setLive(att rondo.Attempt) {
	m.own()
	m.inst.Machine.Live = append(m.inst.Machine.Live, att)
}

// liveRow finds a live attempt by row; -1 when it has ended.
func (m *move) liveRow(row rondo.ID) int {
	return slices.IndexFunc(m.inst.Machine.Live, func(a rondo.Attempt) bool { return a.RowID == row })
}
