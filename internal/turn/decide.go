package turn

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/chart"
	"github.com/rondo-engine/rondo/internal/cond"
)

// completedSuccessfully is the code of an endOfConversation that went well.
const completedSuccessfully = "completedSuccessfully"

// Start begins a conversation: the machine is entered, nothing is collected and no
// turn counted, whatever the greeting says. A definition whose rules fail is
// CodeWorkflowLogic.
func (d *Definition) Start(now time.Time, greeting Reply) (Outcome, error) {
	before := rondo.ConversationState{WorkflowState: rondo.WorkflowState{Status: rondo.WorkflowActive}}
	r := d.newRun(before, rondo.TurnByStart, now)
	if err := r.start(); err != nil {
		return Outcome{}, err
	}
	if err := r.remember(greeting); err != nil {
		return Outcome{}, err
	}
	if err := r.settle(); err != nil {
		return Outcome{}, err
	}
	r.judge(greeting)
	parsed := d.Parse(greeting)
	r.suggest(parsed, greeting.Suggested)
	return r.outcome(before, parsed, map[string]json.RawMessage{}), nil
}

// Decide takes one turn: it parses the answer, merges what it brought, finds the
// event that it means and moves the machine. in.Before is left as it is. An error
// is CodeWorkflowLogic when a guard, a signal rule or an action of the definition
// failed, or CodeStateCorrupt when the stored snapshot cannot be read.
func (d *Definition) Decide(in Input) (Outcome, error) {
	r := d.newRun(in.Before, in.Kind, in.Now)
	if err := r.remember(in.Reply); err != nil {
		return Outcome{}, err
	}
	parsed := d.Parse(in.Reply)
	r.parsed, r.payload = parsed, in.Reply.Payload
	if err := r.resume(); err != nil {
		return Outcome{}, err
	}
	collected, payload, err := r.collect(parsed, in.Reply)
	if err != nil {
		return Outcome{}, err
	}
	if err := r.move(parsed, in.Reply.Handoff, payload); err != nil {
		return Outcome{}, err
	}
	if err := r.settle(); err != nil {
		return Outcome{}, err
	}
	r.judge(in.Reply)
	if parsed.Kind == rondo.TurnStructured {
		recommendation, err := compact(parsed.Data)
		if err != nil {
			return Outcome{}, logicError("write the structured output", err)
		}
		r.state.LastRecommendation = string(recommendation)
	}
	r.state.TurnCount++
	r.suggest(parsed, in.Reply.Suggested)
	return r.outcome(in.Before, parsed, collected), nil
}

// judge sets the workflow's status: what the machine says, unless the agent ended a
// conversation that the machine has not completed.
func (r *run) judge(reply Reply) {
	if r.state.Status = r.status(); r.state.Status == "" {
		r.state.Status = rondo.WorkflowActive
	}
	if reply.Ended == "" || r.state.Status == rondo.WorkflowCompleted {
		return
	}
	r.state.Status = rondo.WorkflowError
	if reply.Ended == completedSuccessfully {
		r.state.Status = rondo.WorkflowCompleted
	}
}

// remember puts the answer into the turn record, for replays: what the record and
// its response have not got already.
func (r *run) remember(reply Reply) error {
	rest := reply
	rest.Messages, rest.Extraction = nil, nil
	written, err := compact(rest)
	if err != nil {
		return logicError("write the agent's answer", err)
	}
	r.record.Reply = written
	r.record.Extraction = append(r.record.Extraction, reply.Extraction...)
	return nil
}

// collect merges the nested data of a structured answer. It returns what was
// collected, and the fields that the answer has with the values they have now: the
// payload of the event.
func (r *run) collect(parsed rondo.ParsedTurn, reply Reply) (collected map[string]json.RawMessage, payload json.RawMessage, err error) {
	if parsed.Kind == rondo.TurnParseError && len(r.record.Extraction) > 0 {
		r.record.Extraction[0].Reason = "it does not match the schema: " + strings.Join(parsed.ParseErrors, "; ")
	}
	data, _ := object(parsed.Data["data"])
	if data == nil {
		return map[string]json.RawMessage{}, json.RawMessage("{}"), nil
	}
	from := rondo.Provenance{Source: reply.Payload.Source, Confidence: reply.Payload.Confidence, Turn: r.turn()}
	collected, r.record.Unconfirmed = r.d.merge.merge(r.state, data, from)
	for field := range collected {
		r.notes(field)
	}
	now := map[string]json.RawMessage{}
	for field := range data {
		if value, has := r.state.CollectedData[field]; has {
			now[field] = value
		}
	}
	if payload, err = compact(now); err != nil {
		return nil, nil, logicError("write what was collected", err)
	}
	return collected, payload, nil
}

// move tells the machine what the answer means: HANDOFF if the agent gave up and
// the machine knows what to do then, else the event of the first signal rule that
// holds, else NO_SIGNAL where an active state asks for it by name.
func (r *run) move(parsed rondo.ParsedTurn, handoff bool, payload json.RawMessage) error {
	if handoff {
		if err := r.send(chart.Event{Type: EventHandoff, Payload: payload}); err != nil || r.record.Handled {
			return err
		}
	}
	if parsed.Confidence != nil && rank(*parsed.Confidence) < rank(r.d.minConfidence) {
		r.record.Signals = append(r.record.Signals, rondo.Candidate{
			Name: "minConfidence", Result: "refused",
			Reason: fmt.Sprintf("the confidence %s is below %s: the machine was not told", *parsed.Confidence, r.d.minConfidence),
		})
		return nil
	}
	event, err := r.signal()
	switch {
	case err != nil:
		return err
	case event == "" && r.d.states.listens(r.snapshot.Value, EventNoSignal):
		event = EventNoSignal
	case event == "":
		return nil
	}
	return r.send(chart.Event{Type: event, Payload: payload})
}

// signal is the event of the first rule that holds, or "".
func (r *run) signal() (string, error) {
	if len(r.d.signals) == 0 {
		return "", nil
	}
	if err := r.refresh(); err != nil {
		return "", err
	}
	env := cond.Env{Lookup: r.visible().lookup, Now: r.scope.Now.UnixMilli}
	for i, s := range r.d.signals {
		holds, trace, err := s.when.Trace(env)
		if err != nil {
			return "", logicError(fmt.Sprintf("signal rule %d", i), err)
		}
		candidate := rondo.Candidate{Name: s.event, Result: "not held", Reason: s.when.Source(), Trace: trace.AppendJSON(nil)}
		if holds {
			candidate.Result = "held"
		}
		r.record.Signals = append(r.record.Signals, candidate)
		if holds {
			return s.event, nil
		}
	}
	return "", nil
}
