package deftest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

func snapshotOf(t *testing.T, name string, edit ...string) *definition.Snapshot {
	t.Helper()
	for _, draft := range definition.Templates() {
		if draft.Name != name {
			continue
		}
		body := strings.NewReplacer(edit...).Replace(string(draft.Body))
		document, _, err := definition.Freeze(json.RawMessage(body), definition.Environment{ReasonCodes: definition.SystemReasonCodes()})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := definition.Compile(document)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	t.Fatalf("no template %s", name)
	return nil
}

// recordedCase plays a case and returns its record.
func recordedCase(t *testing.T, snap *definition.Snapshot, id string, steps string, actions ...Action) Recorded {
	t.Helper()
	given := &Given{CaseID: id, Actions: actions}
	if err := json.Unmarshal([]byte(steps), &given.Steps); err != nil {
		t.Fatal(err)
	}
	p := newPlay(snap, rondo.ID{15: 7}, given)
	seen := p.run()
	return Recorded{Instance: p.state.Instance, Snapshot: snap, Steps: seen.steps}
}

func answers(ai string) string {
	return `{"consent_gate": {"complete": {"granted": true, "missing_types": []}},
		"image_check": {"complete": {"count": 3, "passed": true, "image_ids": []}},
		"customer_review": {"after": "2h", "complete": {"decision": "confirm", "reviewer_id": "r1"}},
		"ai_review": ` + ai + `}`
}

func TestABacktestListsExactlyTheCasesThatFlip(t *testing.T) {
	was := snapshotOf(t, "ai_with_confidence_escalation")
	draft := snapshotOf(t, "ai_with_confidence_escalation", "0.7", "0.65")
	var want, got []string
	for i := range 1000 {
		confidence := float64(i) / 1000
		id := fmt.Sprintf("case-%03d", i)
		c := Backtest(draft, recordedCase(t, was, id, answers(fmt.Sprintf(`{"after": "1m", "complete": {"confidence": %v, "diagnoses": []}}`, confidence))))
		if confidence >= 0.65 && confidence < 0.7 {
			want = append(want, id)
		}
		switch c.Verdict {
		case Differs:
			got = append(got, id)
			if c.DivergesAt != "branch_confidence" || c.Recorded != "on_true" || c.Draft != "on_false" || c.Ends != "completed" {
				t.Fatalf("%s: %+v", id, c)
			}
		case Inconclusive:
			t.Fatalf("%s: %s", id, c.Detail)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 50 {
		t.Errorf("cases that flip (-want +got):\n%s", diff)
	}
}

func TestBacktestPlaysWhatWasRecorded(t *testing.T) {
	was := snapshotOf(t, "ai_with_confidence_escalation")
	stricter := snapshotOf(t, "ai_with_confidence_escalation", "0.7", "0.9")
	for _, test := range []struct {
		name    string
		draft   *definition.Snapshot
		past    Recorded
		verdict Verdict
		ends    string
	}{
		{
			"a retried call", was, recordedCase(t, was, "a", answers(`[{"fail": {"retryable": true}}, {"complete": {"confidence": 1, "diagnoses": []}}]`)),
			Same, "completed",
		},
		{
			"a step that never ran has no answer", stricter, recordedCase(t, was, "b", answers(`{"complete": {"confidence": 0.8, "diagnoses": []}}`)),
			Differs, "waiting at customer_review",
		},
		{
			"a person resumed it", was, recordedCase(t, was, "c", answers(`[{"fail": {"retryable": false}}, {"complete": {"confidence": 1, "diagnoses": []}}]`), Action{After: Duration(1e12), Action: "resume"}),
			Same, "completed",
		},
		{
			"a person cancelled it", was, recordedCase(t, was, "d", answers(`{"silent": true}`), Action{After: Duration(1e11), Action: "cancel"}),
			Same, "cancelled",
		},
		{
			"nobody answered in time", was, recordedCase(t, was, "e", answers(`{"silent": true}`)),
			Same, "halted: step_timeout",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Backtest(test.draft, test.past)
			if c.Verdict != test.verdict || c.Ends != test.ends {
				t.Errorf("got %s, ends %q (%s); want %s, %q", c.Verdict, c.Ends, c.Detail, test.verdict, test.ends)
			}
		})
	}
}

func TestARecordThatCannotBePlayedAgainIsInconclusive(t *testing.T) {
	was := snapshotOf(t, "ai_with_confidence_escalation")
	recorded := recordedCase(t, was, "a", answers(`{"complete": {"confidence": 1, "diagnoses": []}}`))
	recorded.Steps = recorded.Steps[1:]
	if c := Backtest(was, recorded); c.Verdict != Inconclusive || c.Detail == "" {
		t.Errorf("got %s (%s)", c.Verdict, c.Detail)
	}
}
