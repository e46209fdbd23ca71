package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const otherID = "01000000-0000-7000-8000-000000000002"

func TestActionsReachTheEngineWhole(t *testing.T) {
	t.Parallel()
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := map[string]struct {
		path, body string
		want       rondo.Action
	}{
		"retry":                      {"retry-step", `{"reason":"again"}`, rondo.Action{Name: rondo.ActionRetryStep, Reason: "again"}},
		"retry with another input":   {"retry-step", `{"step_id":"ai","reason":"again","input_override":{"a":[1]}}`, rondo.Action{Name: rondo.ActionRetryStep, StepID: "ai", Reason: "again", InputOverride: raw(`{"a":[1]}`)}},
		"set the mode":               {"set-mode", `{"mode":"client_driven","reason":"theirs"}`, rondo.Action{Name: rondo.ActionSetMode, Mode: rondo.ModeClientDriven, Reason: "theirs"}},
		"supersede":                  {"supersede", `{"reason":"newer rules"}`, rondo.Action{Name: rondo.ActionSupersede, Reason: "newer rules"}},
		"supersede in another mode":  {"supersede", `{"reason":"newer rules","mode":"active"}`, rondo.Action{Name: rondo.ActionSupersede, Mode: rondo.ModeActive, Reason: "newer rules"}},
		"skip":                       {"skip-step", `{"step_id":"ai","outcome":"on_complete","reason":"known"}`, rondo.Action{Name: rondo.ActionSkipStep, StepID: "ai", Outcome: "on_complete", Reason: "known"}},
		"skip with an output":        {"skip-step", `{"step_id":"ai","outcome":"on_complete","output":{"x":1},"reason":"known"}`, rondo.Action{Name: rondo.ActionSkipStep, StepID: "ai", Outcome: "on_complete", Output: raw(`{"x":1}`), Reason: "known"}},
		"complete":                   {"complete-step", `{"step_id":"boss","outcome":"approved","output":{"limit":5},"note":"fine"}`, rondo.Action{Name: rondo.ActionCompleteStep, StepID: "boss", Outcome: "approved", Output: raw(`{"limit":5}`), Note: "fine"}},
		"migrate to what is active":  {"migrate", `{}`, rondo.Action{Name: rondo.ActionMigrate}},
		"migrate with a map":         {"migrate", `{"to_definition_id":"` + otherID + `","step_map":{"a":"b"},"reason":"v2","dry_run":false}`, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: definitionID, StepMap: map[string]string{"a": "b"}, Reason: "v2"}},
		"what a migration would do":  {"migrate", `{"dry_run":true,"step_map":{}}`, rondo.Action{Name: rondo.ActionMigrate, StepMap: map[string]string{}}},
		"null members are not there": {"retry-step", `{"step_id":null,"reason":"again","input_override":null}`, rondo.Action{Name: rondo.ActionRetryStep, Reason: "again"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", instancePath+"/"+test.path, test.body)
			if rec.Code != http.StatusOK {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(test.want, b.engine.action); diff != "" {
				t.Errorf("what the engine was asked (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), "POST", instancePath+"/"+test.path, rec)
			if !strings.Contains(test.body, `"dry_run":true`) {
				if diff := cmp.Diff(asAny(t, `{`+instanceJSON+`}`), asAny(t, rec.Body.String())); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestBadBodiesOfActions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path, body string
		pointers   []string
	}{
		"retry without a reason":        {"retry-step", `{}`, []string{"/reason"}},
		"retry with a list":             {"retry-step", `{"reason":"x","input_override":[]}`, []string{"/input_override"}},
		"retry with a text":             {"retry-step", `{"reason":"x","input_override":"{}"}`, []string{"/input_override"}},
		"retry of an empty step":        {"retry-step", `{"reason":"x","step_id":""}`, []string{"/step_id"}},
		"mode missing":                  {"set-mode", `{"reason":"x"}`, []string{"/mode"}},
		"mode unknown":                  {"set-mode", `{"mode":"passive"}`, []string{"/mode", "/reason"}},
		"mode a number":                 {"set-mode", `{"mode":1,"reason":"x"}`, []string{"/mode"}},
		"supersede without a reason":    {"supersede", `{"mode":"active"}`, []string{"/reason"}},
		"supersede in an empty mode":    {"supersede", `{"mode":"","reason":"x"}`, []string{"/mode"}},
		"skip nothing":                  {"skip-step", `{}`, []string{"/step_id", "/outcome", "/reason"}},
		"skip with a number as output":  {"skip-step", `{"step_id":"a","outcome":"b","reason":"x","output":1}`, []string{"/output"}},
		"complete nothing":              {"complete-step", `{}`, []string{"/step_id", "/outcome"}},
		"complete with a reason":        {"complete-step", `{"step_id":"a","outcome":"b","reason":"x"}`, []string{""}},
		"migrate to no id":              {"migrate", `{"to_definition_id":"v2"}`, []string{"/to_definition_id"}},
		"migrate to the zero id":        {"migrate", `{"to_definition_id":"00000000-0000-0000-0000-000000000000"}`, []string{"/to_definition_id"}},
		"migrate with a list as map":    {"migrate", `{"step_map":["a"]}`, []string{"/step_map"}},
		"migrate with a null in a map":  {"migrate", `{"step_map":{"a":null}}`, []string{"/step_map"}},
		"migrate with an empty step":    {"migrate", `{"step_map":{"a":""}}`, []string{"/step_map"}},
		"dry run in words":              {"migrate", `{"dry_run":"yes"}`, []string{"/dry_run"}},
		"dry run of an action":          {"cancel", `{"reason":"x","dry_run":true}`, []string{""}},
		"a member in another case":      {"skip-step", `{"Step_ID":"a","step_id":"a","outcome":"b","reason":"x"}`, []string{"/step_id"}},
		"an actor from outside":         {"cancel", `{"reason":"x","performed_by":"eve"}`, []string{""}},
		"an org from outside":           {"resume", `{"reason":"x","org_id":"beta"}`, []string{""}},
		"a reason of nothing but space": {"resume", `{"reason":"  "}`, []string{"/reason"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("POST", instancePath+"/"+test.path, test.body)
			p := problemIn(t, rec)
			var got []string
			for _, f := range p.Errors {
				got = append(got, f.Pointer)
			}
			if rec.Code != http.StatusBadRequest || p.Code != "invalid" {
				t.Errorf("got %d %s", rec.Code, p.Code)
			}
			if diff := cmp.Diff(test.pointers, got); diff != "" {
				t.Errorf("pointers (-want +got):\n%s", diff)
			}
			if b.engine.action.Name != "" {
				t.Error("the engine was called")
			}
		})
	}
}

func TestReadingWhatPeopleDid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ method, path, body, want string }{
		"interventions": {"GET", "/interventions", "", `{"items":[{"id":"01000000-0000-7000-8000-00000000000c","instance_id":"01000000-0000-7000-8000-000000000001","action":"halt","performed_by":"bob","reason":"wait",
			"before_state":{"status":"running"},"after_state":{"status":"halted"},"created_at":"2026-03-01T12:00:00.123456Z"}],"next_cursor":null}`},
		"a plan": {"POST", "/migrate", `{"dry_run":true}`, `{"instance_id":"01000000-0000-7000-8000-000000000001","verdict":"needs_mapping","reason":"ai_again is gone","steps":[
			{"from":"customer_review","to":"customer_review","state":"live","attempt":1,"reason":null,"possible":[]},
			{"from":"ai_again","to":null,"state":"live","attempt":2,"reason":"the target has no such step","possible":["ai_review"]},
			{"from":"review","to":"review","state":"halted","attempt":null,"reason":null,"possible":[]}],
			"renamed":{"first":"fresh"},"warnings":["step gate finds nothing"]}`},
		"next step": {"GET", "/next-step", "", `{"instance_id":"01000000-0000-7000-8000-000000000001","case_id":"case-1","status":"completed","current_step":null,
			"next_action":{"type":"none","module":null,"endpoint":null,"payload_hint":null,"completion_event":null},"definition_summary":{"name":"flow","remaining_steps":[]},"other_steps":[]}`},
		"why": {"GET", "/why", "", `{"instance_id":"01000000-0000-7000-8000-000000000001","case_id":"case-1","status":"completed","mode":"active","now":"2026-03-01T12:00:00.123456Z","summary":"Completed.",
			"waiting_for":[],"next":[],"actions":[],"halt":null,"parked_events":[],"ended":{"status":"completed","at":"2026-03-01T12:00:00.123456Z","by":null,"reason":null,"superseded_by_id":null}}`},
		"timeline": {"GET", "/timeline", "", `{"instance_id":"01000000-0000-7000-8000-000000000001","items":[{"id":"started","at":"2026-03-01T12:00:00.123456Z","kind":"started","step_id":null,"text":"It began.","detail":{"a":1}}],"open":[]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do(test.method, instancePath+test.path, test.body)
			if rec.Code != http.StatusOK {
				t.Fatalf("status %d: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkDocumented(t, b.OpenAPI(), test.method, instancePath+test.path, rec)
		})
	}
}

func TestSearchReachesTheEngineWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t, asUser(rondo.ScopeAdmin))
	rec := b.do("GET", "/workflow-instances?tag=vip&older_than=2d&younger_than=1w&where=ai_review.confidence%3C0.7,case.metadata.region=eu&org_id=*", "")
	if rec.Code != http.StatusOK {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	want := store.InstanceFilter{
		OrgID: "*", Tag: "vip", StartedFrom: start.AddDate(0, 0, -7), StartedTo: start.AddDate(0, 0, -2),
		Where: []store.AttributeTest{
			{Path: "ai_review.confidence", Op: "<", Value: rondo.AttributeValue{Text: "0.7", Number: 0.7, IsNumber: true}},
			{Path: "case.metadata.region", Op: "=", Value: rondo.AttributeValue{Text: "eu"}},
		},
	}
	if diff := cmp.Diff(want, b.engine.filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	// A given range and an age narrow each other.
	b.do("GET", "/workflow-instances?older_than=1h&started_to=2020-01-01T00:00:00Z&younger_than=1h&started_from=2030-01-01T00:00:00Z", "")
	if f := b.engine.filter; f.StartedTo.Year() != 2020 || f.StartedFrom.Year() != 2030 {
		t.Errorf("the wider bound won: %v to %v", f.StartedFrom, f.StartedTo)
	}
}

func TestBadSearches(t *testing.T) {
	t.Parallel()
	b := newBench(t, asUser(rondo.ScopeRead))
	for query, pointer := range map[string]string{
		"older_than=2": "query/older_than", "younger_than=yesterday": "query/younger_than", "where=a": "query/where", "where=": "",
		"where=a=1,b=1,c=1,d=1": "query/where", "tag=": "query/tag",
	} {
		rec := b.do("GET", "/workflow-instances?"+query, "")
		if pointer == "" {
			if rec.Code != http.StatusOK {
				t.Errorf("%s: %d", query, rec.Code)
			}
			continue
		}
		if p := problemIn(t, rec); rec.Code != http.StatusBadRequest || len(p.Errors) != 1 || p.Errors[0].Pointer != pointer {
			t.Errorf("%s: %d %+v", query, rec.Code, p.Errors)
		}
	}
	if rec := b.do("GET", "/workflow-instances?org_id=*", ""); rec.Code != http.StatusForbidden {
		t.Errorf("everybody's instances for one who is no admin: %d", rec.Code)
	}
}

func TestAnOpenParallelStepIsAmongTheSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	i := knownInstance()
	i.Machine.Forks = []rondo.Fork{{
		Attempt:  rondo.Attempt{RowID: id(8), StepID: "both", Kind: "parallel", Status: rondo.StepInProgress, Number: 1, StartedAt: start},
		Branches: map[string]string{"left": rondo.BranchLive, "right": rondo.BranchDone},
	}}
	b.engine.known = i
	var steps struct {
		Items []struct {
			StepID string `json:"step_id"`
			Status string `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(b.do("GET", instancePath+"/steps", "").Body.Bytes(), &steps); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps.Items {
		if step.StepID == "both" && step.Status == "in_progress" {
			return
		}
	}
	t.Errorf("steps %+v", steps.Items)
}
