package flow

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// migrate lets an instance go on with another definition. Attempts, correlation
// ids and timers stay as they are and nothing is asked again; finished rows stay
// under the names they were written with. The deadline stays.
func (m *move) migrate(c Command) Decision {
	if c.Target == nil || c.Target.Snapshot == nil {
		return Decision{Refused: invalidParam("/to_definition_id", "unknown_definition", "name a published definition to migrate to")}
	}
	if c.Target.DefinitionID == m.inst.DefinitionID && c.Target.Snapshot.Hash == m.inst.SnapshotHash {
		return Decision{Refused: m.wrongState(rondo.ActionMigrate, "the instance runs on this definition already, which does not allow migrate to it")}
	}
	plan := PlanMigration(m.inst, m.snap, c.Target.Snapshot, c.StepMap)
	if plan.Verdict != MigrationMoves {
		refusal := rondo.WrongState(plan.Reason)
		refusal.Hint = "give a step_map that maps every live step, or let the instance go on or be superseded"
		if plan.Verdict == MigrationCannot {
			refusal.Hint = "let the instance go on with its definition, or supersede it"
		}
		return Decision{Refused: refusal}
	}
	p := planner{inst: m.inst, from: m.snap, to: c.Target.Snapshot, stepMap: c.StepMap}
	renamed := p.renames()
	before := definedBy(standing(m.inst), m.inst.DefinitionID)
	m.own()
	m.rename(renamed)
	m.settle(plan, c.Target)
	after := newMigrated(m.inst, renamed)
	m.settleParked()
	m.cause = ""
	m.intervened(c, m.inst, before, after)
	return m.finish()
}

// rename moves what a case knows about steps that have run to their new names,
// so that later conditions find it.
func (m *move) rename(renamed map[string]string) {
	lives, context := map[string]rondo.StepLife{}, rondo.Context{}
	for id, life := range m.inst.Machine.Steps {
		lives[newName(renamed, id)] = life
	}
	for name, value := range m.inst.Context {
		if m.inst.Machine.Steps[name].Attempts > 0 {
			name = newName(renamed, name)
		}
		context[name] = value
	}
	for correlation, id := range m.inst.Machine.Consumed {
		m.inst.Machine.Consumed[correlation] = newName(renamed, id)
	}
	m.inst.Machine.Steps, m.inst.Context = lives, context
}

func newName(renamed map[string]string, id string) string {
	if target, ok := renamed[id]; ok {
		return target
	}
	return id
}

// settle puts every open attempt where the plan says.
func (m *move) settle(plan MigrationPlan, target *Start) {
	was := m.snap
	m.snap = target.Snapshot
	m.forgotten = append([]string{}, was.Search...)
	m.inst.DefinitionID, m.inst.SnapshotHash = target.DefinitionID, target.Snapshot.Hash
	goes := make(map[string]string, len(plan.Steps))
	for _, s := range plan.Steps {
		goes[s.From] = s.To
	}
	place := func(att *rondo.Attempt) {
		old, step := was.Steps[att.StepID], m.snap.Steps[goes[att.StepID]]
		att.StepID, att.Kind, att.Fork, att.Branch = step.ID, step.Kind, step.Fork, step.Branch
		m.retime(att, old, step)
		att.SLA = reclock(att.SLA, old.SLA, step.SLA, latest(att.StartedAt, m.inst.StartedAt))
	}
	m.inst.Machine.SLA = reclock(m.inst.Machine.SLA, was.SLA, m.snap.SLA, m.inst.StartedAt)
	for k := range m.inst.Machine.Forks {
		place(&m.inst.Machine.Forks[k].Attempt)
	}
	for i := range m.inst.Machine.Live {
		place(&m.inst.Machine.Live[i])
	}
	if back := m.inst.HaltStepID; back != "" {
		m.inst.HaltStepID = goes[back]
		if life := m.inst.Machine.Steps[goes[back]]; life.SLA != nil {
			left := reclock(*life.SLA, was.Steps[back].SLA, m.snap.Steps[goes[back]].SLA, m.now)
			life.SLA = &left
			m.setLife(goes[back], life)
		}
	}
}

// retime keeps the timeout that an attempt was started with. Only where one of
// the definitions has none does it change: it is dropped, or begins now.
func (m *move) retime(att *rondo.Attempt, was, is *definition.Step) {
	timed := att.Status == rondo.StepInProgress && is.Contract.Behaviour != definition.BehaviourDelay &&
		(is.Contract.Behaviour != definition.BehaviourRequest || m.inst.Mode == rondo.ModeActive)
	switch {
	case !timed || (was.Timeout > 0) == (is.Timeout > 0):
	case m.inst.Status != rondo.StatusRunning:
		att.Remaining = is.Timeout
	case is.Timeout > 0:
		att.TimeoutAt = m.now.Add(is.Timeout)
	default:
		att.TimeoutAt = time.Time{}
	}
}

// definedBy adds to where an instance stands which definition it runs on.
func definedBy(standing json.RawMessage, id rondo.ID) json.RawMessage {
	return newObject(len(standing)+64).text("definition_id", id.String()).members(standing).done()
}

// newMigrated is where an instance stands after a migration. What was renamed,
// and how many rows had been written under the old names, lets the history be
// read across it.
func newMigrated(inst *rondo.Instance, renamed map[string]string) json.RawMessage {
	o := newObject(256).text("definition_id", inst.DefinitionID.String())
	if len(renamed) > 0 {
		quotedNames := make(map[string]json.RawMessage, len(renamed))
		for from, to := range renamed {
			quotedNames[from] = quoted(to)
		}
		o.raw("renamed", writeMembers(quotedNames)).integer("finished_rows", int64(inst.Machine.Finished))
	}
	return o.members(standing(inst)).done()
}
