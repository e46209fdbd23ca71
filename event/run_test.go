package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

// ofRun is an event about a run; a case has started it.
func ofRun(t testing.TB) *Envelope {
	run := &rondo.Run{
		ID: mustID(t, "018f3c2e-7a10-7c3d-9b1e-0000000000aa"), TenantID: "org-1", CorrelationID: "c-1",
		Case: &rondo.CaseLink{CaseID: "case-42"}, ProductID: "skin",
	}
	return RunEnvelope(mustID(t, "018f3c2e-7a10-7c3d-9b1e-0123456789ab"), TypeRunCompleted, run,
		time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), json.RawMessage(`{"run_id":"018f3c2e-7a10-7c3d-9b1e-0000000000aa","status":"completed"}`))
}

func TestAnEventAboutARunNamesItAndACaseOnlyWhenThereIsOne(t *testing.T) {
	t.Parallel()
	alone := ofRun(t)
	alone.CaseID, alone.ProductID = "", ""
	for name, want := range map[string]*Envelope{"started by a case": ofRun(t), "alone": alone} {
		raw := want.Encode()
		if has := strings.Contains(string(raw), `"case_id"`) || strings.Contains(string(raw), `"product_id"`); has != (want.CaseID != "") {
			t.Errorf("%s is written %s", name, raw)
		}
		got, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		schema, _ := Schema(want.Type)
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		if err := compileMessage(t, want.Type, schema).Validate(value); err != nil {
			t.Errorf("the schema of the message refuses the event %s: %v", name, err)
		}
	}
	if got := RunEnvelope(rondo.ID{1}, TypeRunStarted, &rondo.Run{ID: rondo.ID{2}, TenantID: "o"}, time.Now(), nil); got.CorrelationID != (rondo.ID{2}).String() {
		t.Errorf("a run without a correlation id is correlated by %q, not by its own id", got.CorrelationID)
	}
}

func TestParseHoldsEventsAboutRunsToTheirMembers(t *testing.T) {
	t.Parallel()
	good := string(ofRun(t).Encode())
	const run = `"run_id":"018f3c2e-7a10-7c3d-9b1e-0000000000aa"`
	for name, tc := range map[string]struct {
		raw, code, pointer string
	}{
		"without a run":           {strings.Replace(good, `"product_id":"skin",`+run, `"product_id":"skin"`, 1), "required", "/run_id"},
		"of a null run":           {strings.Replace(good, `"skin",`+run, `"skin","run_id":null`, 1), "type", "/run_id"},
		"of an empty run":         {strings.Replace(good, `"skin",`+run, `"skin","run_id":""`, 1), "length", "/run_id"},
		"of a misspelt run":       {strings.Replace(good, `"skin",`+run, `"skin","Run_ID":"r",`+run, 1), "name", "/Run_ID"},
		"of a case alone":         {strings.Replace(good, `"product_id":"skin",`, "", 1), "required", "/product_id"},
		"of a product alone":      {strings.Replace(good, `"case_id":"case-42",`, "", 1), "required", "/case_id"},
		"of a case that is a sum": {strings.Replace(good, `"case-42"`, "42", 1), "type", "/case_id"},
		"without an organisation": {strings.Replace(good, `"org_id":"org-1",`, "", 1), "required", "/org_id"},
	} {
		if tc.raw == good {
			t.Fatalf("%s: the test changes nothing", name)
		}
		_, err := Parse([]byte(tc.raw))
		refused, ok := errors.AsType[*rondo.Error](err)
		if !ok || len(refused.Fields) == 0 || refused.Fields[0].Code != tc.code || refused.Fields[0].Pointer != tc.pointer {
			t.Errorf("an event %s: %+v, want %s at %s", name, err, tc.code, tc.pointer)
		}
	}
	for name, members := range map[string]string{"null": `"case_id":null,"org_id":"org-1","product_id":null,`, "empty": `"case_id":"","org_id":"org-1","product_id":"",`} {
		raw := strings.Replace(good, `"case_id":"case-42","org_id":"org-1","product_id":"skin",`, members, 1)
		if e, err := Parse([]byte(raw)); err != nil || e.CaseID != "" || e.ProductID != "" || e.RunID == "" {
			t.Errorf("an event about a run whose case is %s: %+v, %v", name, e, err)
		}
	}
}

func TestRunIDIsAnExtraMemberOfEveryOtherEvent(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`"r-1"`, `7`, `null`, `{"a":1}`} {
		for _, name := range []string{"run_id", "Run_Id"} {
			e, err := Parse(with(t, name, value))
			if err != nil {
				t.Fatalf("%s %s: %v", name, value, err)
			}
			if e.RunID != "" || string(e.Extra[name]) != value {
				t.Errorf("%s %s is read as %+v", name, value, e)
			}
			again, err := Parse(e.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, again); diff != "" {
				t.Errorf("%s %s, written again (-first +second):\n%s", name, value, diff)
			}
		}
	}
	for _, missing := range []string{"case_id", "product_id"} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(full(t).Encode(), &members); err != nil {
			t.Fatal(err)
		}
		members["event_type"] = json.RawMessage(`"run.requested"`)
		delete(members, missing)
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(raw); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("run.requested without %s: %v, want it refused: a case asks", missing, err)
		}
	}
}

func TestAnswersOfWorkersAreForRuns(t *testing.T) {
	t.Parallel()
	for _, name := range Types() {
		want := name == TypeRunStepCompleted || name == TypeRunStepFailed
		if RunAnswer(name) != want {
			t.Errorf("RunAnswer(%s) = %t", name, !want)
		}
		if RunAnswer(name) && (!AboutRun(name) || PublishedByOrchestrator(name)) {
			t.Errorf("%s is no answer that a worker could publish about a run", name)
		}
	}
}
