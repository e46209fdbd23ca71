package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

// The actions as commands spell them.
const (
	ActionHalt   = string(rondo.ActionHalt)
	ActionResume = string(rondo.ActionResume)
	ActionCancel = string(rondo.ActionCancel)
)

// intervene runs one of the actions that have parameters of their own.
func (w *world) intervene(t *testing.T, verb string, args []string, body json.RawMessage) string {
	c := Command{By: "ann", Reason: "because"}
	switch verb {
	case "retry":
		c.Action, c.Input = string(rondo.ActionRetryStep), body
		if len(args) > 0 {
			c.StepID = args[0]
		}
	case "skip":
		c.Action, c.StepID, c.Outcome, c.Output = string(rondo.ActionSkipStep), args[0], args[1], body
	case "done":
		c.Action, c.StepID, c.Outcome, c.Output, c.Reason, c.Note = string(rondo.ActionCompleteStep), args[0], args[1], body, "", "seen"
		if len(args) > 2 {
			c.By, c.Assignee = strings.TrimPrefix(args[2], "by="), true
		}
	case "set-mode":
		c.Action, c.Mode = string(rondo.ActionSetMode), rondo.Mode(args[0])
	case "supersede":
		c.Action = string(rondo.ActionSupersede)
		if len(args) > 0 {
			c.Mode = rondo.Mode(args[0])
		}
	default:
		c.Action, c.Target, c.StepMap = string(rondo.ActionMigrate), w.target, map[string]string{}
		for _, arg := range args {
			old, name, _ := strings.Cut(arg, "=")
			c.StepMap[old] = name
		}
	}
	if verb == "plan" {
		return showPlan(PlanMigration(w.state.Instance, w.state.Snapshot, w.target.Snapshot, c.StepMap))
	}
	return w.show(w.do(t, c))
}

func showPlan(plan MigrationPlan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", plan.Verdict, optionally(": ", plan.Reason))
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "%s %s #%d -> %s%s\n", s.State, s.From, s.Attempt, s.To, optionally(" ", s.Reason))
	}
	for _, from := range slices.Sorted(maps.Keys(plan.Renamed)) {
		fmt.Fprintf(&b, "renamed %s -> %s\n", from, plan.Renamed[from])
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	return indent(b.String())
}
