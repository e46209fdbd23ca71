package explain

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// AllowedAction is something a person may do now.
type AllowedAction struct {
	Action string `json:"action"`
	Method string `json:"method" enum:"POST"`
	Path   string `json:"path"`
	Scope  string `json:"scope" doc:"The scope it needs; assignees of a manual step need none to complete it"`
	StepID Text   `json:"step_id" nullable:"true" doc:"The step it is about"`
	Effect string `json:"effect"`
}

// allowed lists what the state lets people do, best first.
func (f *Facts) allowed() []AllowedAction {
	inst := f.Instance
	out := []AllowedAction{}
	if inst.Status.Terminal() {
		return out
	}
	add := func(name rondo.ActionName, stepID, effect string) {
		out = append(out, AllowedAction{
			Action: string(name), Method: "POST", Path: f.path(name), Scope: rondo.ScopeIntervene, StepID: Text(stepID), Effect: effect,
		})
	}
	halted := inst.Status == rondo.StatusHalted
	if !f.late() {
		f.allowedSteps(add)
		if halted {
			add(rondo.ActionResume, inst.HaltStepID, "apply what is parked, then ask "+inst.HaltStepID+" again")
		} else {
			add(rondo.ActionHalt, "", "stop the case; work in flight may still finish and is parked")
		}
		other := rondo.ModeClientDriven
		if inst.Mode == other {
			other = rondo.ModeActive
		}
		add(rondo.ActionSetMode, "", "change the mode to "+string(other))
		add(rondo.ActionMigrate, "", "go on with a newer version of the definition")
	}
	add(rondo.ActionSupersede, "", "cancel it and start the case anew on the newest active definition")
	add(rondo.ActionCancel, "", "end it for good")
	return out
}

// allowedSteps lists what may be done to single steps.
func (f *Facts) allowedSteps(add func(name rondo.ActionName, stepID, effect string)) {
	inst := f.Instance
	halted := inst.Status == rondo.StatusHalted
	if halted {
		add(rondo.ActionRetryStep, inst.HaltStepID, "try "+inst.HaltStepID+" again, if need be with another input")
	}
	seen := map[string]bool{}
	for _, att := range f.live() {
		manual := f.step(att.StepID).Contract.Behaviour == definition.BehaviourManual
		if manual && !halted && att.Status == rondo.StepInProgress {
			add(rondo.ActionCompleteStep, att.StepID, "complete "+att.StepID+" with one of its outcomes")
		}
		if att.Status == rondo.StepPending && !halted && !manual && f.step(att.StepID).Contract.Behaviour == definition.BehaviourRequest {
			add(rondo.ActionRetryStep, att.StepID, "start the next attempt of "+att.StepID+" now")
		}
		seen[att.StepID] = true
		add(rondo.ActionSkipStep, att.StepID, "go past "+att.StepID+" with an outcome of your choice")
	}
	for i := range inst.Machine.Forks {
		id := inst.Machine.Forks[i].Attempt.StepID
		seen[id] = true
		add(rondo.ActionSkipStep, id, "go past "+id+" and all its branches")
	}
	if halted && !seen[inst.HaltStepID] {
		add(rondo.ActionSkipStep, inst.HaltStepID, "go past "+inst.HaltStepID+" with an outcome of your choice")
	}
}
