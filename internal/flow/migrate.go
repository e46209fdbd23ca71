package flow

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Verdict says whether an instance can be moved to another definition.
type Verdict string

// The verdicts on a migration.
const (
	MigrationMoves        Verdict = "moves"
	MigrationNeedsMapping Verdict = "needs_mapping" // a step map could make it move
	MigrationCannot       Verdict = "cannot"        // no step map could
)

// MigrationPlan says what migrating an instance would do. It is exact: migrating
// does it, or is refused with the same reason.
type MigrationPlan struct {
	Verdict Verdict
	Reason  string // why it does not move; "" when it does
	Steps   []StepMove
	// Renamed are the finished steps that the step map gives another name: what
	// they left is read by it from then on.
	Renamed map[string]string
	// Warnings tell, when it moves, what of the target will not work out for this
	// case.
	Warnings []string
}

// StepMove says where one live step goes.
type StepMove struct {
	From     string
	To       string   // "" = nowhere
	State    string   // live, fork or halted
	Attempt  int      // of the open attempt; 0 = none is open
	Reason   string   // why it goes nowhere; "" when it goes somewhere
	Possible []string // where a step map could send it, when it goes nowhere
}

// What a step that has to move is.
const (
	moveLive   = "live"   // an attempt is open
	moveFork   = "fork"   // a parallel step with branches in flight
	moveHalted = "halted" // nothing is open there, but the halt goes back to it
)

// PlanMigration says whether an instance that runs on one snapshot can go on with
// another. A live step goes to the step of the same id when an answer to what is
// open means the same there, otherwise where stepMap says. Forks take their
// branches along. It changes nothing.
func PlanMigration(inst *rondo.Instance, from, to *definition.Snapshot, stepMap map[string]string) MigrationPlan {
	p := planner{inst: inst, from: from, to: to, stepMap: stepMap}
	if from == nil || to == nil {
		return MigrationPlan{Verdict: MigrationCannot, Reason: "there is no definition to migrate to"}
	}
	if why := Disallowed(inst, time.Time{}, rondo.ActionMigrate); why != "" {
		return MigrationPlan{Verdict: MigrationCannot, Reason: why}
	}
	for _, id := range slices.Sorted(maps.Keys(stepMap)) {
		if to.Steps[stepMap[id]] == nil {
			return MigrationPlan{Verdict: MigrationNeedsMapping, Reason: fmt.Sprintf("the step map sends %s to %q, which the target does not have", id, stepMap[id])}
		}
	}
	return p.plan()
}

// planner works out one plan.
type planner struct {
	inst     *rondo.Instance
	from, to *definition.Snapshot
	stepMap  map[string]string
}

func (p *planner) plan() MigrationPlan {
	plan := MigrationPlan{Verdict: MigrationMoves}
	for i := range p.inst.Machine.Forks {
		plan.Steps = append(plan.Steps, p.move(&p.inst.Machine.Forks[i].Attempt, moveFork))
	}
	for i := range p.inst.Machine.Live {
		plan.Steps = append(plan.Steps, p.move(&p.inst.Machine.Live[i], moveLive))
	}
	if back := p.inst.HaltStepID; back != "" && !slices.ContainsFunc(plan.Steps, func(s StepMove) bool { return s.From == back }) {
		plan.Steps = append(plan.Steps, p.move(&rondo.Attempt{StepID: back}, moveHalted))
	}
	taken := map[string]string{}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if s.To != "" {
			if other, clash := taken[s.To]; clash {
				s.Reason = fmt.Sprintf("step %s goes to %s, where %s goes already", s.From, s.To, other)
				s.Possible = []string{s.To}
				s.To = ""
			} else {
				taken[s.To] = s.From
			}
		}
		if s.To != "" {
			continue
		}
		if len(s.Possible) == 0 {
			plan.Verdict = MigrationCannot
		} else if plan.Verdict == MigrationMoves {
			plan.Verdict = MigrationNeedsMapping
		}
		if plan.Reason == "" {
			plan.Reason = s.Reason
		}
	}
	if plan.Verdict == MigrationMoves {
		plan.Verdict, plan.Reason = p.checkRenames()
	}
	if plan.Verdict == MigrationMoves {
		plan.Renamed, plan.Warnings = p.finishedRenames(plan.Steps), p.warnings(plan.Steps)
	}
	return plan
}

// move says where one step goes.
func (p *planner) move(att *rondo.Attempt, state string) StepMove {
	s := StepMove{From: att.StepID, State: state, Attempt: att.Number}
	target, given := p.stepMap[att.StepID]
	if !given {
		target = att.StepID
	}
	if s.Reason = p.obstacle(att, target, state, given); s.Reason == "" {
		s.To = target
		return s
	}
	s.Possible = p.possible(att, state)
	if len(s.Possible) > 0 {
		s.Reason += "; map it to " + listed(s.Possible, "or")
	}
	return s
}

// possible lists the steps that a step map could send a step to. Which fork it is
// in does not count: a step map could rename that too.
func (p *planner) possible(att *rondo.Attempt, state string) []string {
	was := p.from.Steps[att.StepID]
	if was == nil {
		return nil
	}
	var steps []string
	for _, id := range p.to.Order {
		is := p.to.Steps[id]
		fits := incompatible(was, is) == "" || state == moveHalted && works(is)
		if state == moveFork {
			fits = fits && p.branchesDiffer(was, is) == ""
		}
		if fits && (is.Fork == "") == (was.Fork == "") && is.Branch == was.Branch {
			steps = append(steps, id)
		}
	}
	return steps
}

// obstacle says why a step cannot go to a target, "" when it can.
func (p *planner) obstacle(att *rondo.Attempt, target, state string, given bool) string {
	was, is := p.from.Steps[att.StepID], p.to.Steps[target]
	switch {
	case was == nil:
		return fmt.Sprintf("the instance stands at step %s, which its own definition does not have", att.StepID)
	case is == nil:
		return fmt.Sprintf("the target has no step %s", target)
	case state != moveHalted || !given:
		if why := incompatible(was, is); why != "" {
			return fmt.Sprintf("step %s cannot go on as %s: %s", was.ID, target, why)
		}
	}
	if state == moveFork {
		if why := p.branchesDiffer(was, is); why != "" {
			return fmt.Sprintf("parallel step %s cannot go on as %s: %s", was.ID, target, why)
		}
	}
	if fork := p.forkOf(was); is.Fork != fork || is.Branch != was.Branch {
		return fmt.Sprintf("step %s cannot go on as %s: it is in %s, that one in %s", was.ID, target, place(fork, was.Branch), place(is.Fork, is.Branch))
	}
	return ""
}

// forkOf is the target's name of the parallel step around a step.
func (p *planner) forkOf(step *definition.Step) string {
	if target, given := p.stepMap[step.Fork]; given && step.Fork != "" {
		return target
	}
	return step.Fork
}

func place(fork, branch string) string {
	if fork == "" {
		return "no branch"
	}
	return "branch " + branch + " of " + fork
}

// incompatible says why an open attempt at one step cannot be answered at
// another, "" when it can.
func incompatible(was, is *definition.Step) string {
	a, b := was.Contract, is.Contract
	switch {
	case a.Behaviour != b.Behaviour:
		return fmt.Sprintf("one is %s, the other %s", a.Behaviour, b.Behaviour)
	case a.Behaviour == definition.BehaviourRequest && (a.Requested != b.Requested || !slices.Equal(a.Answers(), b.Answers())):
		return fmt.Sprintf("one asks with %s, the other with %s", a.Requested, b.Requested)
	case a.Behaviour == definition.BehaviourWait && was.WaitFor != is.WaitFor:
		return fmt.Sprintf("one waits for %s, the other for %s", was.WaitFor, is.WaitFor)
	}
	return ""
}

// branchesDiffer says why the branches in flight do not fit another parallel
// step, "" when they do: the same branches, and not enough of them joined yet.
func (p *planner) branchesDiffer(was, is *definition.Step) string {
	name := func(b definition.Branch) string { return b.Name }
	before, after := names(was.Branches, name), names(is.Branches, name)
	if !slices.Equal(before, after) {
		return "their branches differ"
	}
	for i := range p.inst.Machine.Forks {
		if fork := &p.inst.Machine.Forks[i]; fork.Attempt.StepID == was.ID && countJoined(fork) >= is.Need {
			return "as many branches as the target needs have joined already"
		}
	}
	return ""
}

func names[T any](all []T, name func(T) string) []string {
	list := make([]string, 0, len(all))
	for _, one := range all {
		list = append(list, name(one))
	}
	slices.Sort(list)
	return list
}

// checkRenames refuses a step map that would mix the attempts of two steps: a
// step that has run keeps its own history.
func (p *planner) checkRenames() (Verdict, string) {
	lives := p.inst.Machine.Steps
	arrived := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(p.renames())) {
		target := p.stepMap[id]
		if other, clash := arrived[target]; clash {
			return MigrationNeedsMapping, fmt.Sprintf("the step map sends both %s and %s to %s", other, id, target)
		}
		arrived[target] = id
		if _, leaves := p.renames()[target]; lives[target].Attempts > 0 && !leaves {
			return MigrationNeedsMapping, fmt.Sprintf("the step map sends %s to %s, which has run in this case already", id, target)
		}
	}
	return MigrationMoves, ""
}

// renames are the entries of the step map that mean a step which has run.
func (p *planner) renames() map[string]string {
	renamed := map[string]string{}
	for id, target := range p.stepMap {
		if id != target && p.inst.Machine.Steps[id].Attempts > 0 {
			renamed[id] = target
		}
	}
	return renamed
}
