package explain

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// NextStep tells a client what to do. With several live steps CurrentStep is the
// first in topological order and OtherSteps are the rest; of a halted case it is
// the step that the halt goes back to.
type NextStep struct {
	InstanceID string            `json:"instance_id" format:"uuid"`
	CaseID     string            `json:"case_id"`
	Status     rondo.Status      `json:"status" enum:"running,halted,completed,cancelled"`
	Current    *StepToDo         `json:"current_step" doc:"Null when the case has ended"`
	Action     NextAction        `json:"next_action" doc:"What to do about current_step"`
	Definition DefinitionSummary `json:"definition_summary"`
	Others     []OtherStep       `json:"other_steps" nullable:"false" doc:"The other live steps, in topological order"`
}

// StepToDo is one step that is in flight.
type StepToDo struct {
	ID              string                     `json:"id"`
	Kind            string                     `json:"kind"`
	Params          map[string]json.RawMessage `json:"params" nullable:"false"`
	InputContext    map[string]json.RawMessage `json:"input_context" nullable:"false" doc:"The ids of the case, and the members of its context that the step reads"`
	ExpectedOutputs json.RawMessage            `json:"expected_outputs" doc:"JSON Schema of the output; null = the step expects none"`
	Outcomes        []string                   `json:"outcomes" nullable:"false" doc:"The transitions that the step can follow"`
}

// The types of a NextAction.
const (
	CallModule       = "call_module"
	JustWait         = "wait"
	CompleteManually = "complete_manually"
	ResolveHalt      = "resolve_halt"
	NoAction         = "none"
)

// NextAction is what somebody must do, or that nobody must do anything.
type NextAction struct {
	Type            string          `json:"type" enum:"call_module,wait,complete_manually,resolve_halt,none"`
	Module          Text            `json:"module" nullable:"true" doc:"The module that does the work"`
	Endpoint        Text            `json:"endpoint" nullable:"true" doc:"Where to call it, or Rondo"`
	PayloadHint     json.RawMessage `json:"payload_hint" doc:"What to send there"`
	CompletionEvent Text            `json:"completion_event" nullable:"true" doc:"The event that ends the step"`
}

// OtherStep is a further live step, as CurrentStep is one, with what to do about
// it.
type OtherStep struct {
	StepToDo

	Action NextAction `json:"next_action" doc:"What to do about it"`
}

// DefinitionSummary is what is left of the definition.
type DefinitionSummary struct {
	Name      string   `json:"name"`
	Remaining []string `json:"remaining_steps" nullable:"false" doc:"The current steps and all that can still come but halts, in topological order"`
}

// NextStep reads Instance, Snapshot and Steps.
func (f Facts) NextStep() NextStep {
	inst := f.Instance
	out := NextStep{
		InstanceID: inst.ID.String(), CaseID: inst.CaseID, Status: inst.Status, Action: NextAction{Type: NoAction},
		Definition: DefinitionSummary{Name: f.Snapshot.Name, Remaining: f.remaining()}, Others: []OtherStep{},
	}
	if inst.Status.Terminal() {
		return out
	}
	if inst.Status == rondo.StatusHalted {
		step := f.toDo(inst.HaltStepID)
		out.Current, out.Action = &step, f.resolveHalt()
	}
	for _, att := range f.live() {
		step := f.toDo(att.StepID)
		switch {
		case inst.Status == rondo.StatusHalted && att.StepID == inst.HaltStepID:
		case out.Current == nil:
			out.Current, out.Action = &step, f.action(att)
		default:
			out.Others = append(out.Others, OtherStep{StepToDo: step, Action: f.action(att)})
		}
	}
	return out
}

func (f *Facts) toDo(id string) StepToDo {
	step := f.step(id)
	out := StepToDo{
		ID: id, Kind: step.Kind, Params: step.Params, InputContext: f.inputContext(step),
		ExpectedOutputs: expectedOutputs(step), Outcomes: outcomes(step),
	}
	if out.Params == nil {
		out.Params = map[string]json.RawMessage{}
	}
	return out
}

// expectedOutputs is the schema of what ends the step: the form of a manual
// step, else the output schema of its kind.
func expectedOutputs(step *definition.Step) json.RawMessage {
	if step.Manual != nil {
		return step.Manual.FormJSON
	}
	return member(step.Contract.JSON(), "output_schema")
}

// outcomes lists the transitions of a step in the order of its contract.
func outcomes(step *definition.Step) []string {
	out := []string{}
	if step.Manual != nil {
		out = append(out, step.Manual.Outcomes...)
	} else {
		out = append(out, step.Contract.Mandatory...)
	}
	for _, name := range slices.Concat(step.Contract.Optional, []string{definition.OnTimeout}) {
		if _, there := step.Transitions[name]; there && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// inputContext is the part of the context that a step works on.
func (f *Facts) inputContext(step *definition.Step) map[string]json.RawMessage {
	all, roots := false, map[string]bool{"case_id": true, "org_id": true, "product_id": true, "patient_id": true}
	for _, selector := range step.Contract.Request {
		all = readRoots(&selector, roots) || all
	}
	if step.Expr != nil {
		exprRoots(step.Expr.Paths(), roots)
	}
	if step.Match != nil {
		exprRoots(step.Match.Paths(), roots)
	}
	if step.Until != "" {
		roots[root(step.Until)] = true
	}
	// A person decides on all there is.
	all = all || step.Manual != nil
	out := make(map[string]json.RawMessage, len(f.Instance.Context))
	for name, value := range f.Instance.Context {
		if all || roots[name] {
			out[name] = value
		}
	}
	return out
}

// readRoots collects the context members that a selector reads and reports
// whether it reads them all.
func readRoots(s *definition.Selector, roots map[string]bool) (all bool) {
	switch {
	case s.ContextSnapshot || s.Images || s.Template != "": // images are narrowed by whichever step checked them, a template names what it likes
		return true
	case s.Context != "":
		roots[root(s.Context)] = true
	case s.Pick != nil:
		return readRoots(&s.Pick.From, roots)
	}
	for i := range s.Merge {
		all = readRoots(&s.Merge[i], roots) || all
	}
	return all
}

func exprRoots(paths [][]string, roots map[string]bool) {
	for _, path := range paths {
		if len(path) > 0 {
			roots[path[0]] = true
		}
	}
}

func root(path string) string {
	first, _, _ := strings.Cut(path, ".")
	return first
}

// action is what a live step of a running case needs from the outside.
func (f *Facts) action(att *rondo.Attempt) NextAction {
	step := f.step(att.StepID)
	contract := step.Contract
	if f.Instance.Status == rondo.StatusHalted {
		return f.resolveHalt()
	}
	switch contract.Behaviour {
	case definition.BehaviourRequest:
		out := NextAction{
			Type: JustWait, Module: Text(contract.ClientModule), Endpoint: Text(contract.ClientEndpoint),
			PayloadHint: f.payload(att), CompletionEvent: Text(contract.Completed),
		}
		if f.Instance.Mode == rondo.ModeClientDriven {
			out.Type = CallModule
		}
		return out
	case definition.BehaviourManual:
		return NextAction{
			Type: CompleteManually, Endpoint: Text("POST " + f.path(rondo.ActionCompleteStep)),
			PayloadHint: completionHint(step),
		}
	case definition.BehaviourWait:
		return NextAction{Type: JustWait, CompletionEvent: Text(step.WaitFor)}
	default:
		return NextAction{Type: JustWait}
	}
}

// payload is what the module is asked with: the attempt's own request, or that
// of the attempt before while this one waits out its backoff.
func (f *Facts) payload(att *rondo.Attempt) json.RawMessage {
	if len(att.Input) > 0 {
		return att.Input
	}
	if row := f.lastRow(att.StepID); row != nil {
		return row.Input
	}
	return nil
}

func completionHint(step *definition.Step) json.RawMessage {
	hint := struct {
		StepID  string          `json:"step_id"`
		Outcome string          `json:"outcome"`
		Output  json.RawMessage `json:"output"`
	}{StepID: step.ID, Output: json.RawMessage("{}")}
	if step.Manual != nil && len(step.Manual.Outcomes) > 0 {
		hint.Outcome = step.Manual.Outcomes[0]
	}
	return encoded(hint)
}

// resolveHalt names the action that gets a halted case moving again, or out of
// the way once its deadline has passed.
func (f *Facts) resolveHalt() NextAction {
	name := rondo.ActionResume
	if f.late() {
		name = rondo.ActionSupersede
	}
	return NextAction{Type: ResolveHalt, Endpoint: Text("POST " + f.path(name)), PayloadHint: json.RawMessage(`{"reason":"say why"}`)}
}

// remaining lists the current steps and what can still come after them.
func (f *Facts) remaining() []string {
	out := []string{}
	if f.Instance.Status.Terminal() {
		return out
	}
	ahead := map[string]bool{}
	add := func(id string) {
		ahead[id] = true
		for next := range f.Snapshot.Reachable(id) {
			ahead[next] = true
		}
	}
	for _, att := range f.live() {
		add(att.StepID)
	}
	if f.Instance.HaltStepID != "" {
		add(f.Instance.HaltStepID)
	}
	for i := range f.Instance.Machine.Forks {
		// The fork's own branches are told by their live steps: what comes after
		// the join is not.
		for _, target := range f.step(f.Instance.Machine.Forks[i].Attempt.StepID).Transitions {
			if f.Snapshot.Steps[target] != nil {
				add(target)
			}
		}
	}
	for _, id := range f.Snapshot.Order {
		if ahead[id] && f.step(id).Contract.Behaviour != definition.BehaviourHalt {
			out = append(out, id)
		}
	}
	return out
}

// encoded writes a value that can always be written.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
