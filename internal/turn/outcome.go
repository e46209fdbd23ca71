package turn

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/chart"
)

// settle writes where the machine stands into the state.
func (r *run) settle() error {
	if step := r.d.machine.Step(r.snapshot); step != "" {
		r.state.Step = step
	}
	r.state.CurrentPhase = r.state.Step
	r.record.To = r.state.Step
	stored := r.snapshot
	stored.Context = cloneMembers(stored.Context)
	for _, name := range []string{contextStep, contextData, contextTurns, contextRecommendation} {
		delete(stored.Context, name)
	}
	written, err := compact(stored)
	if err != nil {
		return logicError("write the machine's snapshot", err)
	}
	r.state.Machine = written
	r.timers()
	return nil
}

// timers makes the machine's timers those of the conversation; others stay.
func (r *run) timers() {
	kept := slices.DeleteFunc(r.state.Timers, func(t rondo.ConversationTimer) bool { return t.Kind == rondo.TimerAfter })
	for _, t := range r.snapshot.Timers {
		kept = append(kept, rondo.ConversationTimer{ID: t.ID, Kind: rondo.TimerAfter, Event: t.Event, DueAt: t.DueAt})
	}
	r.state.Timers = kept
}

// status is what the machine says of the workflow: one that is done is completed,
// else what its active states say; "" when they say nothing.
func (r *run) status() rondo.WorkflowStatus {
	if r.snapshot.Status == chart.Done {
		return rondo.WorkflowCompleted
	}
	return r.d.states.statusIn(r.snapshot.Value)
}

// outcome completes what the client and the turn record are told.
func (r *run) outcome(before rondo.ConversationState, parsed rondo.ParsedTurn, collected map[string]json.RawMessage) Outcome {
	conversation := rondo.ConversationActive
	if r.state.Status == rondo.WorkflowCompleted {
		conversation = rondo.ConversationCompleted
		r.state.Timers = nil // nothing is left to wake up for
	}
	progress := r.d.progress(r.state.Step, r.state.Status)
	share := float64(progress.PercentComplete) / 100
	r.state.Progress = &share
	return Outcome{
		State:    *r.state,
		Status:   conversation,
		Parsed:   parsed,
		Progress: progress,
		Meta: rondo.TurnMeta{
			TurnNumber: r.state.TurnCount,
			StateChanged: before.Step != r.state.Step || before.Status != r.state.Status ||
				!sameMembers(before.CollectedData, r.state.CollectedData),
			CollectedThisTurn: collected,
		},
		Record:  *r.record,
		Effects: r.effects,
	}
}

// progress counts along the steps. A step that is not among them counts as the
// first, and a workflow that is completed is at 100 percent wherever it stands.
func (d *Definition) progress(step string, status rondo.WorkflowStatus) rondo.Progress {
	p := rondo.Progress{CurrentStep: step, StepIndex: max(0, slices.Index(d.Steps, step)), TotalSteps: len(d.Steps)}
	switch {
	case status == rondo.WorkflowCompleted:
		p.PercentComplete = 100
	case p.TotalSteps > 0:
		p.PercentComplete = int(math.Round(float64(p.StepIndex) / float64(p.TotalSteps) * 100))
	}
	return p
}

// suggest advises the client what to show next.
func (r *run) suggest(parsed rondo.ParsedTurn, suggested []string) {
	r.state.Choices = choicesOf(parsed)
	if len(r.state.Choices) == 0 {
		r.state.Choices = slices.Clone(suggested)
	}
	switch {
	case parsed.NextAction != nil && *parsed.NextAction == "confirm":
		r.state.SuggestedInputType = rondo.InputConfirmation
	case len(r.state.Choices) > 0:
		r.state.SuggestedInputType = rondo.InputChoice
	case r.state.Status == rondo.WorkflowCompleted:
		r.state.SuggestedInputType = rondo.InputNone
	default:
		r.state.SuggestedInputType = rondo.InputText
	}
}

// choicesOf are those that the structured output offers, itself or in its data.
func choicesOf(parsed rondo.ParsedTurn) []string {
	if choices := texts(parsed.Data["choices"]); len(choices) > 0 {
		return choices
	}
	data, _ := object(parsed.Data["data"])
	return texts(data["choices"])
}

// cloneState copies a state down to its bytes.
func cloneState(s rondo.ConversationState) rondo.ConversationState {
	s.CollectedData = cloneMembers(s.CollectedData)
	s.Machine = slices.Clone(s.Machine)
	s.Timers = slices.Clone(s.Timers)
	s.Choices = slices.Clone(s.Choices)
	s.Provenance = cloneProvenance(s.Provenance)
	s.Proposed = cloneProvenance(s.Proposed)
	s.Pending = slices.Clone(s.Pending)
	for i, e := range s.Pending {
		s.Pending[i].Payload = slices.Clone(e.Payload)
	}
	if s.Progress != nil {
		share := *s.Progress
		s.Progress = &share
	}
	return s
}

func cloneProvenance(from map[string]rondo.Provenance) map[string]rondo.Provenance {
	copied := make(map[string]rondo.Provenance, len(from))
	for field, p := range from {
		p.Value = plain(p.Value)
		copied[field] = p
	}
	return copied
}
