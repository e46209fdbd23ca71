package explain

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
)

// What can wake a step.
const (
	ForEvent  = "event"  // a module, or anyone, publishes an event
	ForClient = "client" // a client calls the module and publishes its answer
	ForTime   = "time"   // a timer
	ForPerson = "person" // somebody completes it over REST
	ForResume = "resume" // the case is halted
)

// Wait is one open step and what would move it.
type Wait struct {
	StepID        string   `json:"step_id"`
	Kind          string   `json:"kind"`
	Status        string   `json:"status" enum:"pending,in_progress"`
	Attempt       int      `json:"attempt"`
	MaxAttempts   int      `json:"max_attempts" doc:"This attempt and the automatic retries that are left"`
	Parallel      Text     `json:"parallel" nullable:"true" doc:"The parallel step whose branch it is in"`
	Branch        Text     `json:"branch" nullable:"true"`
	For           string   `json:"for" enum:"event,client,time,person,resume" doc:"What kind of thing wakes it"`
	Since         Time     `json:"since" format:"date-time" nullable:"true"`
	Module        Text     `json:"module" nullable:"true" doc:"Who is asked"`
	Endpoint      Text     `json:"endpoint" nullable:"true" doc:"Where a client calls the module"`
	Events        []string `json:"events" nullable:"false" doc:"Event types that wake it"`
	CorrelationID Text     `json:"correlation_id" nullable:"true" doc:"What such an event must carry; null = any"`
	Match         Text     `json:"match" nullable:"true" doc:"What must hold of such an event"`
	Until         Time     `json:"until" format:"date-time" nullable:"true" doc:"The time that wakes it"`
	TimeoutAt     Time     `json:"timeout_at" format:"date-time" nullable:"true"`
	OnTimeout     Text     `json:"on_timeout" nullable:"true" doc:"What a timeout leads to"`
	Remaining     Seconds  `json:"remaining_seconds" nullable:"true" doc:"While halted: what is left of its time once it is resumed; null = no timer, or it is not halted"`
	Resends       int      `json:"resends" doc:"How often the request was published again"`
	NextResendAt  Time     `json:"next_resend_at" format:"date-time" nullable:"true"`
	Title         Text     `json:"title" nullable:"true" doc:"What a person is asked to do"`
	Instructions  Text     `json:"instructions" nullable:"true"`
	Assignees     []string `json:"assignees" nullable:"false" doc:"Users who may complete it"`
	Outcomes      []string `json:"outcomes" nullable:"false" doc:"What a person may choose from"`
	Scope         Text     `json:"scope" nullable:"true" doc:"The scope that everybody else needs to complete it"`
	Conversation  Text     `json:"conversation_id,omitempty" doc:"The conversation that it waits for; absent when it waits for something else"`
	User          Text     `json:"user,omitempty" doc:"Who is to hold that conversation"`
	LastError     Text     `json:"last_error" nullable:"true" doc:"Code of the error of the attempt before"`
	Text          string   `json:"text" doc:"The same in a sentence"`
}

func (f *Facts) waits() []Wait {
	out := []Wait{}
	if f.Instance.Status.Terminal() {
		return out
	}
	for _, att := range f.live() {
		out = append(out, f.wait(att))
	}
	return out
}

func (f *Facts) wait(att *rondo.Attempt) Wait {
	step := f.step(att.StepID)
	w := Wait{
		StepID: att.StepID, Kind: att.Kind, Status: string(att.Status), Attempt: att.Number, MaxAttempts: att.Number + f.retriesLeft(step),
		Parallel: Text(att.Fork), Branch: Text(att.Branch), Since: Time(att.StartedAt),
		Events: []string{}, Assignees: []string{}, Outcomes: []string{},
		Resends: att.Resends, NextResendAt: Time(att.ResendAt),
	}
	if row := f.lastRow(att.StepID); row != nil && (row.Status == rondo.StepFailed || row.Status == rondo.StepTimedOut) {
		w.LastError = Text(text(row.Error, "code"))
		if att.Status == rondo.StepPending {
			w.Since = Time(row.CompletedAt)
		}
	}
	if att.Remaining > 0 {
		w.Remaining = max(Seconds(att.Remaining.Round(time.Second)/time.Second), 1)
	}
	if step.Contract.Behaviour != definition.BehaviourDelay && att.Status == rondo.StepInProgress {
		w.TimeoutAt = Time(att.TimeoutAt)
		if !att.TimeoutAt.IsZero() {
			w.OnTimeout = Text(f.afterTimeout(step))
		}
	}
	f.wakes(&w, att, step)
	if f.Instance.Status == rondo.StatusHalted {
		w.For = ForResume
	}
	w.Text = f.sentence(&w, step)
	return w
}

// wakes fills in what would move the step.
func (f *Facts) wakes(w *Wait, att *rondo.Attempt, step *definition.Step) {
	contract := step.Contract
	switch {
	case contract.Behaviour == definition.BehaviourDelay:
		w.For, w.Until = ForTime, Time(delayEnd(att))
	case att.Status == rondo.StepPending:
		w.For, w.Until = ForTime, Time(att.DueAt)
		w.Module = Text(contract.ClientModule)
	case contract.Behaviour == definition.BehaviourWait:
		w.For, w.Events = ForEvent, []string{step.WaitFor}
		if step.Match != nil {
			w.Match = Text(step.Match.Source())
		}
	case contract.Behaviour == definition.BehaviourManual:
		w.For, w.Scope = ForPerson, Text(rondo.ScopeIntervene)
		if step.Manual != nil {
			w.Title, w.Instructions = Text(step.Manual.Title), Text(step.Manual.Instructions)
			w.Assignees = append(w.Assignees, step.Manual.Assignees...)
			w.Outcomes = append(w.Outcomes, step.Manual.Outcomes...)
		}
	default:
		w.For, w.CorrelationID = ForEvent, Text(att.CorrelationID)
		if f.Instance.Mode == rondo.ModeClientDriven {
			w.For, w.CorrelationID = ForClient, ""
			w.Endpoint = Text(contract.ClientEndpoint)
		}
		w.Module = Text(contract.ClientModule)
		if contract.Requested == event.TypeConversationRequested && f.Instance.Mode == rondo.ModeActive && f.Conversation != nil {
			w.Conversation, w.User = Text(f.Conversation(att.CorrelationID)), Text(text(att.Input, "user"))
		}
		w.Events = append(w.Events, contract.Answers()...)
	}
}
