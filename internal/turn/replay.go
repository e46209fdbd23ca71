package turn

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// Replayed says where recorded turns lead through another definition.
type Replayed struct {
	Turns []ReplayedTurn `json:"turns" doc:"Oldest first"`
	// FirstDifference is the number of the first turn after which the two stand at
	// different steps; null = there is none.
	FirstDifference *int `json:"firstDifference" doc:"Number of the first turn after which the two differ; null = there is none"`
}

// ReplayedTurn is one turn, as it was and as it would be.
type ReplayedTurn struct {
	Number  int     `json:"turnNumber" doc:"Of the recorded turn"`
	Kind    string  `json:"kind" doc:"What made the turn: text, card, timer or start"`
	Then    Reached `json:"then" doc:"Where it led when it was made"`
	Now     Reached `json:"now" doc:"Where it leads through the other definition"`
	Differs bool    `json:"differs" doc:"Step or status are not the same"`
	// Refused: the workflow would have been completed before, so this turn would
	// not have been taken.
	Refused bool `json:"refused,omitempty" doc:"The workflow is completed before, so the turn is not taken"`
	// Error says that a rule of the definition fails here; nothing after it is
	// replayed.
	Error string `json:"error,omitempty" doc:"A rule of the definition fails here; nothing after it is replayed"`
}

// Reached is where a turn led.
type Reached struct {
	Step          string                     `json:"step" doc:"Step after the turn"`
	Status        rondo.WorkflowStatus       `json:"status,omitempty" doc:"Of the workflow; absent = not recorded"` // "" = not recorded
	Event         string                     `json:"event,omitempty" doc:"What the machine was told; absent = nothing"`
	Handled       bool                       `json:"handled" doc:"The machine had a transition for it"`
	CollectedData map[string]json.RawMessage `json:"collectedData,omitempty" doc:"What is collected after the turn"`
}

// Replay takes recorded turns, oldest first, through a definition, with the answers
// that the agent gave then. Timers of the definition fire where the records have
// them by the same id, and otherwise before the first turn that came after they
// were due. Records that do not begin with the start, or lack an answer, cannot be
// replayed: CodeWrongState.
func Replay(d *Definition, records []rondo.TurnRecord) (Replayed, error) {
	replayed := Replayed{Turns: []ReplayedTurn{}}
	if len(records) == 0 {
		return replayed, nil
	}
	if records[0].Kind != rondo.TurnByStart {
		return Replayed{}, notReplayable(records[0], "the records do not begin with the start of the conversation")
	}
	var state rondo.ConversationState
	for i, record := range records {
		if record.Kind == rondo.TurnByEnd {
			break
		}
		turn := ReplayedTurn{Number: record.Number, Kind: record.Kind, Then: reachedThen(record)}
		outcome, refused, err := again(d, state, record, records[i+1:])
		switch {
		case rondo.CodeOf(err) == rondo.CodeWrongState:
			return Replayed{}, err
		case err != nil:
			turn.Error, turn.Differs = "a rule of the definition failed: "+err.Error(), true
			turn.Now = reachedNow(state, rondo.TurnRecord{})
		default:
			state = outcome.State
			turn.Now, turn.Refused = reachedNow(state, outcome.Record), refused
			turn.Differs = turn.Now.Step != turn.Then.Step || turn.Then.Status != "" && turn.Now.Status != turn.Then.Status
		}
		if turn.Differs && replayed.FirstDifference == nil {
			replayed.FirstDifference = &turn.Number
		}
		replayed.Turns = append(replayed.Turns, turn)
		if err != nil {
			break
		}
	}
	return replayed, nil //nolint:nilerr // a rule that failed is told by the last turn
}

// maxFired bounds the timers that fire before one recorded turn: those without a
// delay could go on for ever.
const maxFired = 100

var errRestless = &rondo.Error{
	Code: rondo.CodeWorkflowLogic, Message: "its timers fire again and again without any time passing",
	Hint: "look for transitions of after with the delay 0 that lead back to where they began",
}

// again takes one recorded turn.
func again(d *Definition, before rondo.ConversationState, record rondo.TurnRecord, later []rondo.TurnRecord) (Outcome, bool, error) {
	reply, err := replyOf(record)
	if err != nil {
		return Outcome{}, false, err
	}
	if record.Kind == rondo.TurnByStart {
		outcome, err := d.Start(record.At, reply)
		return outcome, false, err
	}
	last := Outcome{State: before}
	for fired := 0; ; fired++ {
		id, due := nextDue(last.State, record, later)
		if !due {
			break
		}
		if fired == maxFired {
			return Outcome{}, false, logicError("fire timers", errRestless)
		}
		if last, err = d.Fire(last.State, id, record.At); err != nil {
			return Outcome{}, false, err
		}
	}
	switch {
	case record.Kind == rondo.TurnByTimer:
		return last, false, nil
	case last.State.Status == rondo.WorkflowCompleted:
		return Outcome{State: last.State}, true, nil
	}
	outcome, err := d.Decide(Input{Before: last.State, Kind: record.Kind, Reply: reply, Now: record.At})
	return outcome, false, err
}

// nextDue finds the timer to fire before, or as, a recorded turn: one that the
// record names, or one that is due and that no record names.
func nextDue(state rondo.ConversationState, record rondo.TurnRecord, later []rondo.TurnRecord) (string, bool) {
	id, due := "", time.Time{}
	for _, timer := range state.Timers {
		named := record.Kind == rondo.TurnByTimer && record.Input.TimerID == timer.ID
		if timer.DueAt.After(record.At) || !named && firesIn(later, timer.ID) {
			continue
		}
		if id == "" || timer.DueAt.Before(due) {
			id, due = timer.ID, timer.DueAt
		}
	}
	return id, id != ""
}

func firesIn(records []rondo.TurnRecord, timerID string) bool {
	return slices.ContainsFunc(records, func(r rondo.TurnRecord) bool {
		return r.Kind == rondo.TurnByTimer && r.Input.TimerID == timerID
	})
}

// replyOf reads the answer that a turn was decided by; a timer has none.
func replyOf(record rondo.TurnRecord) (Reply, error) {
	var reply Reply
	switch record.Kind {
	case rondo.TurnByTimer:
		return reply, nil
	case rondo.TurnByStart:
		if isNull(record.Reply) {
			return reply, nil
		}
	}
	if json.Unmarshal(record.Reply, &reply) != nil {
		return Reply{}, notReplayable(record, "the agent's answer is not recorded")
	}
	reply.Extraction = slices.Clone(record.Extraction)
	if len(reply.Messages) == 0 {
		var answered struct {
			Messages []rondo.NormalizedMessage `json:"messages"`
		}
		_ = json.Unmarshal(record.Response, &answered) // one without a response said nothing
		reply.Messages = answered.Messages
	}
	return reply, nil
}

func notReplayable(record rondo.TurnRecord, why string) error {
	return &rondo.Error{
		Code: rondo.CodeWrongState, Message: fmt.Sprintf("turn %d cannot be replayed: %s", record.Number, why),
		Hint: "conversations that were recorded by an older version cannot be replayed",
	}
}

// reachedThen is what a record says; the status is in what the client was answered.
func reachedThen(record rondo.TurnRecord) Reached {
	var answered struct {
		WorkflowState rondo.WorkflowState `json:"workflowState"`
	}
	_ = json.Unmarshal(record.Response, &answered) // a timer answers nobody
	return Reached{
		Step: record.To, Status: answered.WorkflowState.Status, Event: record.Event, Handled: record.Handled,
		CollectedData: answered.WorkflowState.CollectedData,
	}
}

func reachedNow(state rondo.ConversationState, record rondo.TurnRecord) Reached {
	return Reached{
		Step: state.Step, Status: state.Status, Event: record.Event, Handled: record.Handled, CollectedData: state.CollectedData,
	}
}
