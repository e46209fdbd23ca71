package explain

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Why says why a case stands where it stands. Summary alone is enough for a
// person in a hurry; the rest is the same in parts.
type Why struct {
	InstanceID string          `json:"instance_id" format:"uuid"`
	CaseID     string          `json:"case_id"`
	Status     rondo.Status    `json:"status" enum:"running,halted,completed,cancelled"`
	Mode       rondo.Mode      `json:"mode" enum:"active,client_driven"`
	Now        Time            `json:"now" format:"date-time" doc:"The time that the answer was given for"`
	Summary    string          `json:"summary" doc:"All of it in a sentence or a few; times are UTC"`
	Waiting    []Wait          `json:"waiting_for" nullable:"false" doc:"One per open step, in topological order"`
	Next       []Upcoming      `json:"next" nullable:"false" doc:"What happens by itself if nothing else does, soonest first"`
	Actions    []AllowedAction `json:"actions" nullable:"false" doc:"What people may do now"`
	Halt       *HaltCause      `json:"halt" doc:"Why it halted; null when it did not"`
	Parked     []ParkedEvent   `json:"parked_events" nullable:"false" doc:"Events that wait until the case can use them, oldest first"`
	Ended      *Ending         `json:"ended" doc:"How it ended; null while it has not"`
}

// Upcoming is one thing that a timer does.
type Upcoming struct {
	At     Time   `json:"at" format:"date-time"`
	What   string `json:"what" enum:"retry,delay,timeout,resend,sla_warning,sla_breach,deadline"`
	StepID Text   `json:"step_id" nullable:"true" doc:"Null when it is about the whole case"`
	Text   string `json:"text"`
}

// HaltCause is what led to a halt.
type HaltCause struct {
	ReasonCode string          `json:"reason_code"`
	Label      Text            `json:"label" nullable:"true" doc:"What the organisation calls the reason"`
	Note       Text            `json:"note" nullable:"true"`
	StepID     string          `json:"step_id" doc:"Where retry and resume go"`
	Since      Time            `json:"since" format:"date-time" nullable:"true"`
	By         Text            `json:"by" nullable:"true" doc:"Who halted it, when a person did"`
	Attempt    int             `json:"attempt" doc:"The newest finished attempt of step_id; 0 = none"`
	Outcome    Text            `json:"attempt_status" nullable:"true" doc:"How that attempt ended"`
	Error      json.RawMessage `json:"error" doc:"Its error, as it is in the step's row"`
	Deadline   bool            `json:"deadline_exceeded" doc:"Only cancel and supersede are left"`
}

// ParkedEvent is an event that the case could not use yet.
type ParkedEvent struct {
	EventID    string `json:"event_id" format:"uuid"`
	EventType  string `json:"event_type"`
	ReceivedAt Time   `json:"received_at" format:"date-time"`
	Verdict    Text   `json:"verdict" nullable:"true"`
}

// Ending is how a case ended.
type Ending struct {
	Status         rondo.Status `json:"status" enum:"completed,cancelled"`
	At             Time         `json:"at" format:"date-time"`
	By             Text         `json:"by" nullable:"true"`
	Reason         Text         `json:"reason" nullable:"true"`
	SupersededByID Text         `json:"superseded_by_id" nullable:"true"`
}

// Why reads everything but the events that are not parked.
func (f Facts) Why() Why {
	inst := f.Instance
	out := Why{
		InstanceID: inst.ID.String(), CaseID: inst.CaseID, Status: inst.Status, Mode: inst.Mode, Now: Time(f.Now),
		Waiting: f.waits(), Next: f.upcoming(), Actions: f.allowed(), Parked: f.parked(),
	}
	switch {
	case inst.Status.Terminal():
		out.Ended = f.ending()
	case inst.Status == rondo.StatusHalted:
		out.Halt = f.haltCause()
	}
	out.Summary = f.summary(&out)
	return out
}

func (f *Facts) parked() []ParkedEvent {
	out := []ParkedEvent{}
	for _, e := range f.Events {
		if e.Outcome == rondo.OutcomeParked {
			out = append(out, ParkedEvent{EventID: e.EventID.String(), EventType: e.Type, ReceivedAt: Time(e.ReceivedAt), Verdict: Text(e.Verdict)})
		}
	}
	return out
}

func (f *Facts) ending() *Ending {
	inst := f.Instance
	out := &Ending{Status: inst.Status, At: Time(inst.CompletedAt), By: Text(inst.CancelledBy), Reason: Text(inst.CancelledReason)}
	if !inst.SupersededByID.IsZero() {
		out.SupersededByID = Text(inst.SupersededByID.String())
	}
	return out
}

// haltCause finds what led to the halt. Nothing is recorded while a case is
// halted, so the newest row or the newest halt by hand is its moment.
func (f *Facts) haltCause() *HaltCause {
	inst := f.Instance
	out := &HaltCause{
		ReasonCode: inst.HaltReason, Label: Text(f.label(inst.HaltReason)), Note: Text(inst.HaltNote), StepID: inst.HaltStepID,
		Deadline: f.late(),
	}
	if row := f.lastRow(inst.HaltStepID); row != nil {
		out.Attempt, out.Outcome, out.Error = row.Attempt, Text(row.Status), row.Error
	}
	since := time.Time{}
	for i := range f.Steps {
		if at := f.Steps[i].CompletedAt; at.After(since) {
			since = at
		}
	}
	for _, done := range f.Interventions {
		if done.Action == string(rondo.ActionHalt) && !done.CreatedAt.Before(since) {
			since, out.By = done.CreatedAt, Text(done.PerformedBy)
		}
	}
	if inst.HaltReason == deadlineReason {
		since, out.By = inst.DeadlineAt, ""
	}
	out.Since = Time(since)
	return out
}

// deadlineReason is the reason code of a case that halted because its time was up.
const deadlineReason = "workflow_deadline_exceeded"

// upcoming lists what timers will do, soonest first.
func (f *Facts) upcoming() []Upcoming {
	out := []Upcoming{}
	inst := f.Instance
	if inst.Status.Terminal() {
		return out
	}
	add := func(at time.Time, what, stepID, text string) {
		if !at.IsZero() {
			out = append(out, Upcoming{At: Time(at), What: what, StepID: Text(stepID), Text: text})
		}
	}
	service := func(c rondo.Clock, stepID, noun string) {
		add(c.WarnAt, "sla_warning", stepID, noun+" is announced as late soon (sla warning)")
		add(c.BreachAt, "sla_breach", stepID, noun+" is announced as late (sla breach)")
	}
	for _, att := range f.live() {
		step := f.step(att.StepID)
		switch {
		case step.Contract.Behaviour == definition.BehaviourDelay:
			add(delayEnd(att), "delay", att.StepID, att.StepID+" is over and "+f.goesTo(step, definition.OnComplete))
		case att.Status == rondo.StepPending:
			add(att.DueAt, "retry", att.StepID, att.StepID+" is tried again")
		default:
			add(att.TimeoutAt, "timeout", att.StepID, att.StepID+" times out and "+f.afterTimeout(step))
			add(att.ResendAt, "resend", att.StepID, step.Contract.Requested+" is published again, with the same ids")
		}
		service(att.SLA, att.StepID, att.StepID)
	}
	for i := range inst.Machine.Forks {
		att := &inst.Machine.Forks[i].Attempt
		add(att.TimeoutAt, "timeout", att.StepID, att.StepID+" times out and "+f.afterTimeout(f.step(att.StepID)))
		service(att.SLA, att.StepID, att.StepID)
	}
	service(inst.Machine.SLA, "", "the case")
	if !inst.DeadlineExceeded {
		text := "the deadline passes and the case halts with " + deadlineReason
		if inst.Status == rondo.StatusHalted {
			text = "the deadline passes: then only cancel and supersede are left"
		}
		add(inst.DeadlineAt, "deadline", "", text)
	}
	slices.SortStableFunc(out, func(a, b Upcoming) int { return time.Time(a.At).Compare(time.Time(b.At)) })
	return out
}

// delayEnd is when a delay is over; zero while it is halted.
func delayEnd(att *rondo.Attempt) time.Time {
	if !att.DueAt.IsZero() {
		return att.DueAt
	}
	return att.TimeoutAt
}

// afterTimeout says what a timeout of the step leads to.
func (f *Facts) afterTimeout(step *definition.Step) string {
	if step.RetryOnTimeout && f.retriesLeft(step) > 0 {
		return "is tried again"
	}
	if step.Transitions[definition.OnTimeout] == "" {
		return "halts with step_timeout"
	}
	return f.goesTo(step, definition.OnTimeout)
}

// goesTo says where an outcome leads.
func (f *Facts) goesTo(step *definition.Step, outcome string) string {
	switch target := step.Transitions[outcome]; target {
	case "":
		return "goes on"
	case definition.Terminal:
		return "completes the case"
	case definition.Join:
		return "joins the other branches of " + step.Fork
	default:
		return "goes to " + target
	}
}

// retriesLeft is what is left of the automatic budget of a step.
func (f *Facts) retriesLeft(step *definition.Step) int {
	return max(step.MaxRetries-f.Instance.Machine.Steps[step.ID].Retries, 0)
}
