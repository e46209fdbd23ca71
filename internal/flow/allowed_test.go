package flow

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// manualFirst waits for a person at once, so that every action has something to
// act on.
const manualFirst = `
name: manual
workflow_timeout_seconds: 3600
start_step: look
steps:
  look: {kind: manual, params: {title: Look, outcomes: [fine]}, transitions: {fine: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`

// TestWhichStateAllowsWhichAction asks for every action in every state, in both
// modes, before and after the deadline, and compares with the table of actions.
func TestWhichStateAllowsWhichAction(t *testing.T) {
	const (
		running   = "running"
		halted    = "halted"
		completed = "completed"
		cancelled = "cancelled"
		overdue   = "running past its deadline, not noticed yet"
		expired   = "halted by its deadline"
	)
	live := []string{running, halted}
	want := map[rondo.ActionName][]string{
		rondo.ActionHalt:         {running},
		rondo.ActionResume:       {halted},
		rondo.ActionRetryStep:    {halted}, // running only while a backoff lasts: see the scenarios
		rondo.ActionSkipStep:     live,
		rondo.ActionCompleteStep: {running},
		rondo.ActionSetMode:      live,
		rondo.ActionMigrate:      live,
		rondo.ActionSupersede:    {running, halted, overdue, expired},
		rondo.ActionCancel:       {running, halted, overdue, expired},
	}
	snapshot := compiled(t, []byte(manualFirst))
	target := &Start{DefinitionID: namedID(9, 2), Snapshot: snapshot}
	bring := map[string]func(w *world){
		running:   func(*world) {},
		halted:    func(w *world) { w.do(t, Command{Action: ActionHalt, By: "ann"}) },
		cancelled: func(w *world) { w.do(t, Command{Action: ActionCancel, By: "ann"}) },
		completed: func(w *world) {
			w.do(t, Command{Action: string(rondo.ActionCompleteStep), By: "ann", StepID: "look", Outcome: "fine"})
		},
		overdue: func(w *world) { w.now = w.now.Add(time.Hour) },
		expired: func(w *world) { w.now = w.now.Add(time.Hour); w.do(t, Timer{}) },
	}
	for action, states := range want {
		for state, arrange := range bring {
			for _, mode := range []rondo.Mode{rondo.ModeActive, rondo.ModeClientDriven} {
				t.Run(string(action)+" when "+state+" "+string(mode), func(t *testing.T) {
					w := newWorld(snapshot)
					w.target = target
					w.say(t, event.TypeCaseCreated, w.caseID, `{"orchestration_mode":"`+string(mode)+`"}`)
					arrange(w)
					c := Command{Action: string(action), By: "ann", Reason: "because", Target: target}
					switch action {
					case rondo.ActionSkipStep, rondo.ActionCompleteStep:
						c.StepID, c.Outcome = "look", "fine"
					case rondo.ActionSetMode:
						c.Mode = rondo.ModeActive
					default:
					}
					d := w.do(t, c)
					switch allowed := slices.Contains(states, state); {
					case allowed && d.Refused != nil:
						t.Errorf("it was refused: %v", d.Refused)
					case !allowed && rondo.CodeOf(d.Refused) != rondo.CodeWrongState:
						t.Errorf("it was answered %v, want wrong_state", d.Refused)
					case allowed && (d.Intervention == nil || d.Intervention.Action != string(action) || d.Outbox[len(d.Outbox)-1].Stream != event.TypeWorkflowIntervened):
						t.Errorf("it left the record %+v and the events %+v", d.Intervention, d.Outbox)
					}
				})
			}
		}
	}
}

// Overrides are checked against the schema of the request, so each must compile.
func TestEveryRequestOfTheCatalogueHasASchemaThatStandsAlone(t *testing.T) {
	for _, eventType := range event.Types() {
		if schema, err := requestSchema(eventType); err != nil || schema == nil {
			t.Errorf("%s: %v", eventType, err)
		}
	}
	if schema, err := requestSchema("ext.other"); schema != nil || err != nil {
		t.Errorf("an organisation's own type has the schema %v, %v", schema, err)
	}
}

func TestAnInterventionKeepsTheIDItIsGiven(t *testing.T) {
	w := newWorld(compiled(t, []byte(manualFirst)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	id := namedID(1, 4711)
	if d := w.do(t, Command{ID: id, Action: ActionHalt, By: "ann"}); d.Intervention.ID != id {
		t.Errorf("the record has id %s, want %s", d.Intervention.ID, id)
	}
}

func TestMigratingNeedsATarget(t *testing.T) {
	w := newWorld(compiled(t, []byte(manualFirst)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	if d := w.do(t, Command{Action: string(rondo.ActionMigrate), By: "ann"}); rondo.CodeOf(d.Refused) != rondo.CodeInvalid {
		t.Errorf("it was answered %v, want invalid", d.Refused)
	}
}

func TestAnOutputThatIsTooLargeIsRefused(t *testing.T) {
	w := newWorld(compiled(t, []byte(manualFirst)))
	w.say(t, event.TypeCaseCreated, w.caseID, `{}`)
	large, err := json.Marshal(map[string]string{"text": string(make([]byte, MaxOutput))})
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []rondo.ActionName{rondo.ActionSkipStep, rondo.ActionCompleteStep} {
		d := w.do(t, Command{Action: string(action), By: "ann", StepID: "look", Outcome: "fine", Output: large})
		if rondo.CodeOf(d.Refused) != rondo.CodeInvalid {
			t.Errorf("%s was answered %v, want invalid", action, d.Refused)
		}
	}
}
