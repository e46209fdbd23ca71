package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// someone picks an instance; nil = there is none.
func (w *world) someone() *rondo.Instance {
	found, err := w.store.Instances(context.Background(), store.InstanceFilter{OrgID: org}, store.Page{Limit: 10})
	if err != nil || len(found) == 0 {
		return nil
	}
	return found[w.rand.IntN(len(found))]
}

// intervene lets a person do something to a case. Not all of it is allowed.
func (w *world) intervene(r *replica) {
	instance := w.someone()
	if instance == nil {
		return
	}
	snapshot, err := w.snapshots.Get(context.Background(), instance.SnapshotHash)
	if err != nil {
		w.broken("I16", "snapshot of case %s: %v", instance.CaseID, err)
		return
	}
	command := w.wish(instance, snapshot)
	command.By, command.Reason = "someone", "because"
	r.queue = append(r.queue, &caseloop.Input{
		Key: instance.Key(), Command: &caseloop.Command{InstanceID: instance.ID, ProductID: product, Command: command},
		Done: func(result caseloop.Result) {
			if rondo.CodeOf(result.Err) == rondo.CodeInternal {
				w.broken("I25", "%s of case %s failed: %v", command.Action, instance.CaseID, result.Err)
			}
		},
	})
}

// wish is what a person wants from a case, by what they see.
func (w *world) wish(instance *rondo.Instance, snapshot *definition.Snapshot) flow.Command {
	if c, ok := w.complete(instance, snapshot); ok {
		return c
	}
	halted := instance.Status == rondo.StatusHalted
	switch n := w.rand.IntN(100); {
	case n < 30 && halted:
		return flow.Command{Action: string(rondo.ActionResume)}
	case n < 25:
		return flow.Command{Action: string(rondo.ActionHalt), ReasonCode: "manual_halt"}
	case n < 48:
		return flow.Command{Action: string(rondo.ActionRetryStep), StepID: w.waiting(instance)}
	case n < 60:
		return w.skip(instance, snapshot)
	case n < 72:
		return flow.Command{Action: string(rondo.ActionSetMode), Mode: w.otherMode(instance.Mode)}
	case n < 87:
		return w.migrate()
	case n < 92:
		return flow.Command{Action: string(rondo.ActionSupersede)}
	}
	return flow.Command{Action: string(rondo.ActionCancel)}
}

// complete answers a manual step of a running case, more often than not.
func (w *world) complete(instance *rondo.Instance, snapshot *definition.Snapshot) (flow.Command, bool) {
	if instance.Status != rondo.StatusRunning || w.rand.IntN(10) < 4 {
		return flow.Command{}, false
	}
	for _, att := range instance.Machine.Live {
		step := snapshot.Steps[att.StepID]
		if step == nil || step.Manual == nil {
			continue
		}
		outcome := step.Manual.Outcomes[w.rand.IntN(len(step.Manual.Outcomes))]
		return flow.Command{Action: string(rondo.ActionCompleteStep), StepID: att.StepID, Outcome: outcome}, true
	}
	return flow.Command{}, false
}

// waiting names a step that waits out a backoff; "" leaves it to the machine.
func (w *world) waiting(instance *rondo.Instance) string {
	for _, att := range instance.Machine.Live {
		if instance.Status == rondo.StatusRunning && att.Status == rondo.StepPending {
			return att.StepID
		}
	}
	return ""
}

// skip skips what is live, a parallel step, or where the case halted.
func (w *world) skip(instance *rondo.Instance, snapshot *definition.Snapshot) flow.Command {
	var open []string
	for _, att := range instance.Machine.Live {
		open = append(open, att.StepID)
	}
	for _, fork := range instance.Machine.Forks {
		open = append(open, fork.Attempt.StepID)
	}
	if instance.HaltStepID != "" {
		open = append(open, instance.HaltStepID)
	}
	c := flow.Command{Action: string(rondo.ActionSkipStep)}
	if len(open) == 0 {
		return c
	}
	c.StepID = open[w.rand.IntN(len(open))]
	if step := snapshot.Steps[c.StepID]; step != nil && len(step.Transitions) > 0 {
		outcomes := slices.Sorted(maps.Keys(step.Transitions))
		c.Outcome = outcomes[w.rand.IntN(len(outcomes))]
	}
	return c
}

func (w *world) otherMode(mode rondo.Mode) rondo.Mode {
	if mode == rondo.ModeActive {
		return rondo.ModeClientDriven
	}
	return rondo.ModeActive
}

// migrate goes to the next version, which is published when it is first wanted.
func (w *world) migrate() flow.Command {
	if w.upgrade == nil {
		next, err := w.publish(context.Background(), w.chosen.next)
		if err != nil {
			w.broken("I16", "the next version cannot be published: %v", err)
		}
		w.upgrade = next
	}
	c := flow.Command{Action: string(rondo.ActionMigrate), Target: w.upgrade}
	if w.rand.IntN(4) > 0 {
		c.StepMap = w.chosen.stepMap
	}
	return c
}
