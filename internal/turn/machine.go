package turn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	fastjson "github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/chart"
)

// Events that Rondo itself tells machines.
const (
	EventHandoff  = "HANDOFF"   // the agent handed the conversation over
	EventNoSignal = "NO_SIGNAL" // no signal rule held; sent where an active state names it
)

// Members of the machine's context that are the workflow's: written before every
// event and not stored with the snapshot, which would only repeat them.
const (
	contextStep           = "step"
	contextData           = "collectedData"
	contextTurns          = "turnCount"
	contextRecommendation = "lastRecommendation"
)

// run carries one change of a state through the machine.
type run struct {
	d        *Definition
	state    *rondo.ConversationState // being changed
	snapshot chart.Snapshot
	fresh    bool // the snapshot's context has the workflow's members as they are
	scope    chart.Scope
	parsed   rondo.ParsedTurn // as guards and signals see it; no kind = null
	payload  *rondo.ExtractedPayload
	record   *rondo.TurnRecord
	effects  []Effect
}

// newRun begins with a copy of a state.
func (d *Definition) newRun(before rondo.ConversationState, kind string, now time.Time) *run {
	state := cloneState(before)
	r := &run{
		d: d, state: &state,
		record: &rondo.TurnRecord{
			Kind: kind, At: now, From: before.Step, To: before.Step,
			Extraction: []rondo.Candidate{}, Signals: []rondo.Candidate{}, Transitions: []rondo.Candidate{},
		},
	}
	r.scope = chart.Scope{Now: now, Root: r.root}
	return r
}

// root writes what guards and selectors see of the answer, for the few that ask.
func (r *run) root(name string) (json.RawMessage, error) {
	switch {
	case name == "turn" && r.parsed.Kind != "":
		return compact(r.parsed)
	case name == "payload" && r.payload != nil:
		return compact(r.payload.Data)
	}
	return json.RawMessage("null"), nil
}

// resume finds the machine where the stored state left it. A record that is older
// than snapshots is resumed at its step, without the timers it never had; a step
// that the machine does not know is taken for the beginning.
func (r *run) resume() error {
	if !isNull(r.state.Machine) {
		if err := fastjson.Unmarshal(r.state.Machine, &r.snapshot, lenient); err != nil || r.d.machine.Step(r.snapshot) == "" {
			return &rondo.Error{Code: rondo.CodeStateCorrupt, Op: "read the machine's snapshot", Message: "the stored state of the conversation is not one of its machine"}
		}
		r.snapshot.Context = cloneMembers(r.snapshot.Context)
		return nil
	}
	if snapshot, found := r.d.at(r.state.Step, r.state.Status); found {
		r.snapshot = snapshot
		return nil
	}
	err := r.start()
	r.record.Handled = false // entering the machine is no answer to what was said
	return err
}

// at is the snapshot in which a step is reached.
func (d *Definition) at(step string, status rondo.WorkflowStatus) (chart.Snapshot, bool) {
	var byStep, byKey, saying []*state
	d.states.all(func(s *state) bool {
		switch {
		case s.parent == nil || s.history:
			return true
		case s.step == step:
			byStep = append(byStep, s)
		case s.step == "" && s.key == step:
			byKey = append(byKey, s)
		}
		if s.status == string(status) {
			saying = append(saying, s)
		}
		return true
	})
	for _, s := range slices.Concat(byStep, byKey) {
		value, err := compact(d.states.place(append([]*state{s}, saying...)))
		if err != nil {
			continue
		}
		snapshot := chart.Snapshot{Value: value, Context: cloneMembers(d.context), Status: chart.Active}
		if d.machine.Step(snapshot) == step {
			return snapshot, true
		}
	}
	return chart.Snapshot{}, false
}

// start enters the machine.
func (r *run) start() error {
	if _, own := r.d.context[contextData]; own && len(r.state.CollectedData) == 0 {
		r.state.CollectedData, _ = object(r.d.context[contextData])
	}
	context, err := r.context()
	if err != nil {
		return err
	}
	result, err := r.d.machine.Start(context, r.scope)
	return r.took(result, err)
}

// send tells the machine an event.
func (r *run) send(event chart.Event) error {
	if err := r.refresh(); err != nil {
		return err
	}
	r.record.Event = event.Type
	result, err := r.d.machine.Send(r.snapshot, event, r.scope)
	return r.took(result, err)
}

// fire lets a timer of the machine go off.
func (r *run) fire(timerID string) error {
	if err := r.refresh(); err != nil {
		return err
	}
	for _, timer := range r.snapshot.Timers {
		if timer.ID == timerID {
			r.record.Event = timer.Event
		}
	}
	result, err := r.d.machine.Fire(r.snapshot, timerID, r.scope)
	return r.took(result, err)
}

// refresh writes the workflow's members into the machine's context.
func (r *run) refresh() error {
	if r.fresh {
		return nil
	}
	context, err := r.context()
	if err == nil {
		maps.Copy(r.snapshot.Context, context)
		r.fresh = true
	}
	return err
}

// context is what guards see of the workflow: data that is merged already, the
// rest as it was before this turn.
func (r *run) context() (map[string]json.RawMessage, error) {
	context := map[string]json.RawMessage{contextTurns: strconv.AppendInt(nil, int64(r.state.TurnCount), 10)}
	data, err := compact(r.state.CollectedData)
	if err != nil {
		return nil, logicError("write the machine's context", err)
	}
	context[contextData] = data
	for name, said := range map[string]string{contextRecommendation: r.state.LastRecommendation, contextStep: r.state.Step} {
		context[name] = json.RawMessage("null")
		if said == "" {
			continue
		}
		if context[name], err = compact(said); err != nil {
			return nil, logicError("write the machine's context", err)
		}
	}
	return context, nil
}

// took notes what the machine did.
func (r *run) took(result chart.Result, err error) error {
	if err != nil {
		return logicError("run the machine", err)
	}
	r.snapshot, r.fresh = result.Snapshot, false
	r.record.Handled = r.record.Handled || result.Handled
	for _, q := range result.Asked {
		r.record.Transitions = append(r.record.Transitions, asked(q))
	}
	for _, e := range result.Effects {
		r.effects = append(r.effects, Effect{EventType: e.EventType, CaseID: e.CaseID, Payload: e.Payload})
	}
	return r.takeData()
}

// takeData reads what assign actions wrote into collectedData.
func (r *run) takeData() error {
	data, ok := object(r.snapshot.Context[contextData])
	if !ok {
		return logicError("read what the machine collected", fmt.Errorf("an assign made %s something else than an object", contextData))
	}
	from := rondo.Provenance{Source: rondo.SourceMachine, Turn: r.turn()}
	for field, value := range data {
		if old, had := r.state.CollectedData[field]; !had || !same(old, value) {
			setProvenance(r.state, field, value, from)
			r.notes(field)
			delete(r.state.Proposed, field)
		} else {
			data[field] = old // as it was written
		}
	}
	for field := range r.state.CollectedData {
		if _, kept := data[field]; !kept {
			delete(r.state.Provenance, field)
			delete(r.state.Proposed, field)
		}
	}
	r.state.CollectedData = data
	return nil
}

// notes copies the provenance of a field into the turn record.
func (r *run) notes(field string) {
	if r.record.Provenance == nil {
		r.record.Provenance = map[string]rondo.Provenance{}
	}
	r.record.Provenance[field] = r.state.Provenance[field]
}

// turn is the number that what happens now is told by: a turn of the user raises
// the count, a timer does not.
func (r *run) turn() int {
	if r.record.Kind == rondo.TurnByText || r.record.Kind == rondo.TurnByCard {
		return r.state.TurnCount + 1
	}
	return r.state.TurnCount
}

// asked tells a transition that was considered.
func asked(q chart.Question) rondo.Candidate {
	c := rondo.Candidate{Name: fmt.Sprintf("%s %s[%d]", q.State, q.On, q.Index), Trace: q.Trace}
	if q.On == "" {
		c.Name = fmt.Sprintf("%s always[%d]", q.State, q.Index)
	}
	for i, target := range q.Target {
		c.Name += []string{" → ", ", "}[min(i, 1)] + target
	}
	switch {
	case q.Taken:
		c.Result, c.Reason = "chosen", q.Reason
	case q.Passed:
		c.Result, c.Reason = "lost", q.Reason
	default:
		c.Result, c.Reason = "refused", q.Reason
		if c.Reason == "" {
			c.Reason = "the guard does not hold: " + q.Guard
		}
	}
	return c
}

// logicError says that a definition failed; the cause is for logs.
func logicError(op string, err error) error {
	switch rondo.CodeOf(err) {
	case rondo.CodeWorkflowLogic, rondo.CodeStateCorrupt:
		return rondo.Op(op, err)
	}
	return &rondo.Error{
		Code: rondo.CodeWorkflowLogic, Op: op, Err: err,
		Message: "a rule of the conversation's definition failed",
		Hint:    "nothing was changed; correct the guard or action that the log names and publish the definition again",
	}
}
