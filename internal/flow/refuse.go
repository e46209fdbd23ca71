package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// allowedIn says in which states an instance allows an action. What an action
// asks beyond that (a live step, a waiting person) it checks itself.
func allowedIn(action rondo.ActionName) []rondo.Status {
	switch action {
	case rondo.ActionHalt, rondo.ActionCompleteStep:
		return []rondo.Status{rondo.StatusRunning}
	case rondo.ActionResume:
		return []rondo.Status{rondo.StatusHalted}
	case rondo.ActionCancel, rondo.ActionSupersede, rondo.ActionSetMode, rondo.ActionRetryStep, rondo.ActionSkipStep, rondo.ActionMigrate:
		return []rondo.Status{rondo.StatusRunning, rondo.StatusHalted}
	}
	return nil
}

// actions lists every action in the order that refusals name them.
func actions() []rondo.ActionName {
	return []rondo.ActionName{
		rondo.ActionHalt, rondo.ActionResume, rondo.ActionRetryStep, rondo.ActionSkipStep, rondo.ActionCompleteStep,
		rondo.ActionSetMode, rondo.ActionMigrate, rondo.ActionSupersede, rondo.ActionCancel,
	}
}

// Allowed lists the actions that an instance in this state allows, by status and
// deadline alone.
func Allowed(status rondo.Status, pastDeadline bool) []rondo.ActionName {
	var allowed []rondo.ActionName
	for _, action := range actions() {
		if slices.Contains(allowedIn(action), status) && (!pastDeadline || outlastsDeadline(action)) {
			allowed = append(allowed, action)
		}
	}
	return allowed
}

// outlastsDeadline reports whether an action is still allowed past the deadline.
func outlastsDeadline(action rondo.ActionName) bool {
	return action == rondo.ActionCancel || action == rondo.ActionSupersede
}

// refuse checks that the action can be published and that status and deadline
// allow it.
func (m *move) refuse(c Command) error {
	if len(c.By)+len(c.Reason)+len(c.ReasonCode)+len(c.Note) > MaxWords {
		return &rondo.Error{Code: rondo.CodeInvalid, Message: "the words of the intervention are larger than 64 KiB", Hint: "shorten the reason or the note"}
	}
	action := rondo.ActionName(c.Action)
	if allowedIn(action) == nil {
		return unknownAction(c.Action)
	}
	if rondo.ActionName(c.Action) == rondo.ActionCompleteStep && c.Assignee {
		if err := m.refuseStranger(c); err != nil {
			return err
		}
	}
	if message := Disallowed(m.inst, m.now, action); message != "" {
		return m.wrongState(action, message)
	}
	return nil
}

// Disallowed says why status and deadline of an instance do not allow an action,
// "" when they do: what an intervention is refused with.
func Disallowed(inst *rondo.Instance, now time.Time, action rondo.ActionName) string {
	late := !inst.Status.Terminal() && (inst.DeadlineExceeded || !now.Before(inst.DeadlineAt))
	switch {
	case slices.Contains(Allowed(inst.Status, late), action):
		return ""
	case late:
		return fmt.Sprintf("the instance is %s and past its deadline, which does not allow %s", inst.Status, action)
	}
	return fmt.Sprintf("the instance is %s, which does not allow %s", inst.Status, action)
}

// wrongState refuses an action and says what else the state allows.
func (m *move) wrongState(action rondo.ActionName, message string) *rondo.Error {
	inst := m.inst
	late := inst.DeadlineExceeded || !m.now.Before(inst.DeadlineAt)
	others := slices.DeleteFunc(Allowed(inst.Status, late), func(a rondo.ActionName) bool { return a == action || !m.possible(a) })
	refusal := rondo.WrongState(message)
	switch words := listed(others, "and"); {
	case inst.Status.Terminal():
		refusal.Hint = fmt.Sprintf("a %s instance is final and allows nothing", inst.Status)
	case late:
		refusal.Hint = "past the deadline only " + words + " are allowed"
	default:
		refusal.Hint = "the instance allows " + words + " now"
	}
	return refusal
}

// possible reports whether there is a step that the action can be about, where
// status and deadline allow it. Actions on the whole case always are.
func (m *move) possible(action rondo.ActionName) bool {
	machine := &m.inst.Machine
	halted := m.inst.Status == rondo.StatusHalted
	live := func(status rondo.StepStatus, b definition.Behaviour) bool {
		return slices.ContainsFunc(machine.Live, func(att rondo.Attempt) bool { return att.Status == status && m.behaves(&att, b) })
	}
	switch action {
	case rondo.ActionCompleteStep:
		return live(rondo.StepInProgress, definition.BehaviourManual)
	case rondo.ActionRetryStep:
		return halted || live(rondo.StepPending, definition.BehaviourRequest)
	case rondo.ActionSkipStep:
		return halted || len(machine.Live)+len(machine.Forks) > 0
	}
	return true
}

func unknownAction(action string) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Message: fmt.Sprintf("there is no action %q", action), Hint: "use " + listed(actions(), "or")}
}

// listed writes "a, b and c".
func listed[S ~string](words []S, last string) string {
	plain := make([]string, len(words))
	for i, word := range words {
		plain[i] = string(word)
	}
	if len(plain) < 2 {
		return strings.Join(plain, "")
	}
	n := len(plain) - 1
	return strings.Join(plain[:n], ", ") + " " + last + " " + plain[n]
}
