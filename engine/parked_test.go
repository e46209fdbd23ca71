package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
)

// overtaking is an event that comes before its case does.
func overtaking(t *testing.T, caseID, eventType string) []byte {
	t.Helper()
	return envelope(t, caseID, map[string]any{"event_type": eventType, "correlation_id": "c-" + caseID, "payload": map[string]any{}})
}

func TestEventsWhoseCaseNeverBeginsAreUnmatchedByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := eventEngine(t, func(c *engine.Config) { c.ParkedFor = time.Hour })
		publishTemplate(t, e, "ai_only")
		first := publish(t, e, overtaking(t, "never", "ai_review.completed"))
		begun := publish(t, e, overtaking(t, "begun", "ai_review.completed"))
		publish(t, e, envelope(t, "begun", map[string]any{"payload": map[string]any{"patient_id": "p", "orchestration_mode": "client_driven"}}))
		outcome := func(r rondo.Receipt) [2]string {
			row := must(s.Event(t.Context(), "acme", r.EventID))(t)
			return [2]string{string(row.Outcome), row.Error}
		}
		time.Sleep(55 * time.Minute)
		second := publish(t, e, overtaking(t, "never", "consent.check.completed"))
		if got := outcome(first); got != [2]string{"parked", ""} {
			t.Errorf("before its time the event is %v", got)
		}
		time.Sleep(16 * time.Minute)
		for _, c := range []struct {
			name string
			of   rondo.Receipt
			want [2]string
		}{
			{"one that waited too long", first, [2]string{"unmatched", "parked_too_long"}},
			{"a younger one", second, [2]string{"parked", ""}},
			{"one whose case has begun", begun, [2]string{"parked", ""}},
		} {
			if got := outcome(c.of); got != c.want {
				t.Errorf("%s is %v, want %v", c.name, got, c.want)
			}
		}
		e.Stop(t.Context())
	})
}

func TestWhatWasParkedBeforeTheStartIsTheInstances(t *testing.T) {
	e, s := eventEngine(t)
	publishTemplate(t, e, "ai_only")
	publish(t, e, overtaking(t, "c1", "ai_review.completed"))
	publish(t, e, envelope(t, "c1", map[string]any{"payload": map[string]any{"patient_id": "p", "orchestration_mode": "client_driven"}}))
	instance := must(e.Instances(t.Context(), user(), store.InstanceFilter{CaseID: "c1"}, store.Page{Limit: 1}))(t)[0]
	var seen [][3]string
	for _, row := range must(s.Events(t.Context(), "acme", instance.ID, store.Page{}))(t) {
		seen = append(seen, [3]string{row.Type, string(row.Outcome), row.Verdict})
	}
	want := [][3]string{{"ai_review.completed", "parked", "skipped_gate"}, {"case.created", "applied", "on_path"}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the events of the instance (-want +got):\n%s", diff)
	}
	why := must(e.Why(t.Context(), user(), instance.ID))(t)
	if len(why.Parked) != 1 || why.Parked[0].Verdict != "skipped_gate" {
		t.Errorf("why shows %+v as parked", why.Parked)
	}
}
