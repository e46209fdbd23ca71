package turn

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Fire lets a timer of the machine go off. The count of turns does not rise. A
// timer that is not waiting any more is not an error: nothing is handled. Errors
// are those of Decide.
func (d *Definition) Fire(before rondo.ConversationState, timerID string, now time.Time) (Outcome, error) {
	r := d.newRun(before, rondo.TurnByTimer, now)
	r.record.Input.TimerID = timerID
	if err := r.resume(); err != nil {
		return Outcome{}, err
	}
	if err := r.fire(timerID); err != nil {
		return Outcome{}, err
	}
	if err := r.settle(); err != nil {
		return Outcome{}, err
	}
	switch status := r.status(); {
	case status != "":
		r.state.Status = status
	case r.record.Handled:
		r.state.Status = rondo.WorkflowActive
	}
	if r.state.Status == rondo.WorkflowCompleted {
		r.state.SuggestedInputType, r.state.Choices = rondo.InputNone, nil
	}
	return r.outcome(before, silence(), map[string]json.RawMessage{}), nil
}

// End ends a conversation from outside: as completed, which completes the workflow
// too, or as abandoned ("" means that), which leaves the workflow's status as it
// is. Another outcome is CodeInvalid.
func (d *Definition) End(before rondo.ConversationState, outcome string, now time.Time) (Outcome, error) {
	status := rondo.ConversationStatus(outcome)
	switch status {
	case "":
		status = rondo.ConversationAbandoned
	case rondo.ConversationAbandoned, rondo.ConversationCompleted:
	default:
		return Outcome{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "a conversation cannot be ended like that",
			Hint: "outcome is completed or abandoned",
		}
	}
	r := d.newRun(before, rondo.TurnByEnd, now)
	if status == rondo.ConversationCompleted {
		r.state.Status = rondo.WorkflowCompleted
	}
	r.state.SuggestedInputType, r.state.Choices, r.state.Timers = rondo.InputNone, nil, nil
	ended := r.outcome(before, silence(), map[string]json.RawMessage{})
	ended.Status = status
	return ended, nil
}

// silence is what nobody said.
func silence() rondo.ParsedTurn {
	return rondo.ParsedTurn{
		Kind: rondo.TurnPassthrough, DisplayMessages: []rondo.NormalizedMessage{}, Citations: []string{}, ParseErrors: []string{},
	}
}
