package runs

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// phase is where a step stands in memory.
type phase uint8

const (
	phasePending  phase = iota // something it depends on is not done
	phaseReady                 // to be looked up
	phaseChecking              // its entry's artifacts are looked for
	phaseQueued                // waits for a slot
	phaseTaking                // its takeoff is in the next commit
	phaseWorking               // a skill of this process works
	phaseRemote                // a remote worker works
	phaseWaiting               // another computes its key
	phaseBackoff               // the next attempt is not due
	phaseDone
	phaseFailed
	phaseCancelled
)

// stepState is what the loop knows of a step once it is ready.
type stepState struct {
	phase    phase
	attempt  int // number of the last one, 0 = none
	tries    int // attempts since the run was started or retried by a person
	resolved bool
	waited   bool // it waited for another's flight: what it finds then was in flight
	again    bool // an entry that is there does not keep it from being computed
	asked    bool // a remote worker was asked before this process had the run
	held     bool // it keeps its flight from an attempt that failed to the next

	input  json.RawMessage
	keyed  plan.Keyed
	reason rondo.Reason
	name   string            // of its flight
	fence  int64             // of its flight, 0 = not held
	old    *rondo.CacheEntry // what verify compares with
	found  *plan.Found       // what the cache has, artifacts checked

	started     time.Time
	correlation rondo.ID
	ran         bool           // of a stored step: it was computed in this run
	failure     *rondo.RunStep // of a stored step that failed for good
	retryAt     time.Time      // of a stored step in phaseBackoff
	work        *attempt       // of phaseWorking
	alarm       *alarm         // of phaseBackoff and phaseRemote
	out         plan.Output
}

// driven is a run in the hands of this process. Only the loop of its shard touches
// it, but for what an attempt copied.
type driven struct {
	run     rondo.Run // with everything that the next commit writes
	w       *plan.Workflow
	fence   int64
	stored  int64 // Seq of the last commit
	sched   *plan.Schedule
	steps   []*stepState // by place in the workflow; nil = pending
	base    *baseRun
	seeds   []bool          // nil = none
	rebuild string          // the change that redoes everything; "" = it does not
	gone    bool            // not ours any more
	closed  bool            // ended or about to: nothing is begun
	broken  bool            // the store refused it for what was in it
	failed  *rondo.RunError // it cannot be driven at all

	sources plan.Sources
	queue   []int // steps that wait for a slot, in order
	alarm   *alarm
	heard   map[rondo.ID]bool // signals that are in hand
	remote  map[rondo.ID]int  // steps that remote workers do, by correlation

	readers []int // of each step's output: steps that have not ended and read it
	bytes   int64 // what it has in memory, as hold accounts it

	dirty bool
	next  pending
}

// pending is what the next commit writes of a run beside the run itself.
type pending struct {
	insert    bool
	resume    rondo.RunStatus
	steps     []rondo.RunStep
	takeoffs  []store.Takeoff
	taking    []int // the step of each takeoff
	onwards   []onward
	landings  []store.Landing
	manifests []*plan.Manifest // of each landing
	artifacts []rondo.Artifact
	signals   []rondo.ID
	outbox    []rondo.Outgoing
	raised    []rondo.RaisedEvent
	replies   []func(*rondo.Run, error)
}

// onward is the next attempt of a step that kept its flight.
type onward struct {
	step   int
	row    rondo.RunStep
	outbox []rondo.Outgoing
}

// ref is a step of a run.
type ref struct {
	d    *driven
	step int
}

// newDriven makes a run ready to be driven; nothing of it is scheduled yet.
func newDriven(run rondo.Run, w *plan.Workflow, base *baseRun) *driven {
	d := &driven{run: run, stored: run.Seq, w: w, base: base, steps: make([]*stepState, len(w.Steps))}
	d.sched = plan.NewSchedule(w, run.Options.FailurePolicy)
	d.sources = plan.Sources{Trigger: run.TriggerPayload, Change: run.Change, Step: d.output}
	if base != nil {
		d.sources.Base = base.output
	}
	if run.TriggerType == rondo.TriggerUpdate {
		kind := "" // the seeds may be named one by one
		if run.Change != nil {
			kind = run.Change.Type
		}
		d.seeds = make([]bool, len(w.Steps))
		seeds, all, err := w.Seeds(kind, run.Options.ChangedSteps)
		if err == nil { // it was checked when the run was asked for; one may have no seeds
			d.rebuild = plan.RebuildOf(run.Change, all)
			for _, i := range seeds {
				d.seeds[i] = true
			}
		}
	}
	return d
}

// unreadable is a run that cannot be driven: it is there to be failed.
func unreadable(run rondo.Run, why *rondo.RunError) *driven {
	return &driven{run: run, stored: run.Seq, w: &plan.Workflow{Name: run.WorkflowName}, failed: why}
}

// output is what a step of this run gave.
func (d *driven) output(step int) (plan.Output, bool) {
	st := d.steps[step]
	if st == nil || st.phase != phaseDone {
		return plan.Output{}, false
	}
	return st.out, true
}

// output is what a step of the base gave.
func (b *baseRun) output(stepID string) (plan.Output, bool) {
	row, ok := b.steps[stepID]
	if !ok {
		return plan.Output{}, false
	}
	return plan.Output{Data: row.Data, Artifacts: b.attached(row.ArtifactIDs), Hash: row.OutputHash}, true
}

// attached are the artifacts with those ids.
func (b *baseRun) attached(ids []rondo.ID) []rondo.Artifact {
	return pick(b.artifacts, ids)
}

func pick(artifacts map[rondo.ID]rondo.Artifact, ids []rondo.ID) []rondo.Artifact {
	if len(ids) == 0 {
		return nil
	}
	picked := make([]rondo.Artifact, 0, len(ids))
	for _, id := range ids {
		if a, ok := artifacts[id]; ok {
			picked = append(picked, a)
		}
	}
	return picked
}

// step is the state of a step, made when it is first needed.
func (d *driven) step(i int) *stepState {
	if d.steps[i] == nil {
		d.steps[i] = &stepState{}
	}
	return d.steps[i]
}

// seq numbers the next change.
func (d *driven) seq() int64 {
	d.run.Seq++
	return d.run.Seq
}

// row is what is stored of a step as it stands.
func (d *driven) row(i int, status rondo.RunStepStatus) rondo.RunStep {
	st, def := d.steps[i], &d.w.Steps[i]
	return rondo.RunStep{
		RunID: d.run.ID, StepID: def.ID, Attempt: st.attempt, Skill: def.Skill, Status: status,
		InputHash: st.keyed.InputHash, CacheKey: st.keyed.Key, Reason: st.reason,
		Correlation: st.correlation, StartedAt: st.started, Seq: d.seq(),
	}
}

// baseStep is the row that a step had in the base run.
func (d *driven) baseStep(i int) (rondo.RunStep, bool) {
	if d.base == nil {
		return rondo.RunStep{}, false
	}
	row, ok := d.base.steps[d.w.Steps[i].ID]
	return row, ok
}
