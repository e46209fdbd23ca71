package caseloop

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const early = `
name: early
default_mode: client_driven
start_step: first
steps:
  first: {kind: set_case_status, params: {status: open}, transitions: {on_complete: paid}}
  paid: {kind: wait_for_event, params: {event_type: ext.paid}, transitions: {on_event: done}}
  done: {kind: emit_final, transitions: {on_complete: TERMINAL}}
`

// ledger shows the events of the case, oldest first.
func (b *processorBench) ledger() (rows []string) {
	b.t.Helper()
	found, err := b.store.EventList(b.t.Context(), store.EventFilter{OrgID: benchOrg, CaseID: "case-1"}, store.Page{})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, event := range slices.Backward(found) {
		row := event.Type + " " + string(event.Outcome) + " " + event.Verdict
		if event.InstanceID.IsZero() {
			row += " alone"
		}
		rows = append(rows, row)
	}
	return rows
}

func TestWhatStaysParkedAtTheStartIsGivenToTheInstance(t *testing.T) {
	for name, split := range map[string]bool{"in one batch": false, "in batches of their own": true} {
		t.Run(name, func(t *testing.T) {
			b := newProcessorBench(t)
			b.publish(early)
			b.processor.Launched = time.Now().Add(-time.Hour)
			inputs := []*Input{b.event("ext.paid", "c-1", `{}`), b.event("case.created", "case-1", `{}`)}
			last := b.event("case.set_status.completed", "c-2", `{"previous_status":"new","new_status":"open"}`)
			if !split {
				b.apply(append(inputs, last)...)
			} else {
				b.apply(inputs[0])
				b.apply(inputs[1])
				want := []string{"ext.paid parked early", "case.created applied on_path"}
				if diff := cmp.Diff(want, b.ledger()); diff != "" {
					t.Errorf("after the start (-want +got):\n%s", diff)
				}
				b.apply(last)
			}
			want := []string{"ext.paid applied early", "case.created applied on_path", "case.set_status.completed applied on_path"}
			if diff := cmp.Diff(want, b.ledger()); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATimerLetsEventsGoWhoseCaseNeverBegan(t *testing.T) {
	b := newProcessorBench(t)
	now := time.Now()
	b.processor.Now = func() time.Time { return now }
	b.processor.ParkedFor = time.Hour
	parked := b.event("ext.paid", "c-1", `{}`)
	timer := func() *Input { return &Input{Key: parked.Key, Timer: true} }
	if got := b.apply(timer(), parked, timer())[1].Outcome; got != rondo.OutcomeParked {
		t.Fatalf("the event is %s", got)
	}
	now = now.Add(time.Hour)
	b.apply(timer(), timer(), &Input{Key: parked.Key, Timer: true, Heal: true})
	if diff := cmp.Diff([]string{"ext.paid unmatched  alone"}, b.ledger()); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
}
