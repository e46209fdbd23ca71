package modules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/modules"
)

// published is a bus that keeps what it is given, or refuses it.
type published struct {
	messages []bus.Message
	refuse   error
}

func (p *published) Publish(_ context.Context, messages []bus.Message) error {
	if p.refuse != nil {
		return p.refuse
	}
	p.messages = append(p.messages, messages...)
	return nil
}

// answer is what a module says over HTTP.
type answer struct {
	Type    string          `json:"event_type"`
	Payload json.RawMessage `json:"payload"`
}

// desk is the modules over HTTP, for organisation acme.
type desk struct {
	http.Handler
	*published
}

func newDesk(cfg modules.Config) desk {
	p := &published{}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	return desk{modules.REST(p, cfg, func(*http.Request) string { return "acme" }, now), p}
}

// do sends a body to an endpoint as contracts write it: "POST /ai-reviews".
func (d desk) do(endpoint, body string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(endpoint, " ")
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, httptest.NewRequest(method, strings.Replace(path, "{case_id}", "case-1", 1), strings.NewReader(body)))
	return rec
}

// ask sends a request of case-1 and returns the answer.
func (d desk) ask(t *testing.T, endpoint, correlation, payload string) answer {
	t.Helper()
	return d.askFor(t, "case-1", endpoint, correlation, payload)
}

func (d desk) askFor(t *testing.T, caseID, endpoint, correlation, payload string) answer {
	t.Helper()
	rec := d.do(endpoint, fmt.Sprintf(`{"case_id":%q,"product_id":"derm","correlation_id":%q,"payload":%s}`, caseID, correlation, payload))
	if rec.Code != http.StatusOK {
		t.Fatalf("%s answers %d: %s", endpoint, rec.Code, rec.Body)
	}
	var a answer
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// contract is what the tests need of a kind's contract.
type contract struct {
	Events struct{ Completed, Failed string }
	Output json.RawMessage `json:"output_schema"`
	Client struct{ Module, Endpoint string }
}

// clientKinds are the built-in kinds that a client can drive by itself, asking
// modules; conversations and runs are Rondo's own.
func clientKinds(t *testing.T) map[string]contract {
	t.Helper()
	kinds := map[string]contract{}
	for _, kind := range definition.BuiltinKinds() {
		var c contract
		if err := json.Unmarshal(kind.Contract, &c); err != nil {
			t.Fatal(err)
		}
		if c.Client.Endpoint != "" && c.Events.Completed != "" && c.Client.Module != "conversations" && c.Client.Module != "runs" {
			kinds[kind.Name] = c
		}
	}
	return kinds
}

// payloads are good requests by kind.
var payloads = map[string]string{
	"gate_on_consent":      `{"types":["ai_analysis","storage"],"patient_id":"patient-1"}`,
	"require_images":       `{"min_count":12,"image_types":["DERMOSCOPIC"]}`,
	"run_ai_review":        `{"images":[{"id":"img-1"}],"product_id":"derm"}`,
	"request_human_review": `{"tier":"sa_qa","context_snapshot":{}}`,
	"set_case_status":      `{"status":"reviewed"}`,
}

func TestEveryKindIsAnsweredAsItsContractSays(t *testing.T) {
	t.Parallel()
	kinds := clientKinds(t)
	if len(kinds) != len(payloads) {
		t.Errorf("the catalogue has %d kinds that clients drive, the tests know %d", len(kinds), len(payloads))
	}
	unsure := modules.Config{ConsentRefusal: 0.5, Confidence: modules.Distribution{Mean: 0.5, Spread: 0.9}}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(unsure)
			for n := range 50 {
				correlation := fmt.Sprintf("corr-%d", n)
				got := d.ask(t, kind.Client.Endpoint, correlation, payloads[name])
				if got.Type != kind.Events.Completed {
					t.Fatalf("answered %s, want %s", got.Type, kind.Events.Completed)
				}
				accepts(t, kind.Output, got.Payload)
				schema, _ := event.Schema(got.Type)
				accepts(t, schema, got.Payload)
				d.checkLast(t, correlation, got)
			}
		})
	}
}

// checkLast holds the last published event against the answer over HTTP.
func (d desk) checkLast(t *testing.T, correlation string, want answer) {
	t.Helper()
	last := d.messages[len(d.messages)-1]
	got, err := event.Parse(last.Envelope)
	if err != nil {
		t.Fatalf("the published event is not valid: %v", err)
	}
	if last.Stream != want.Type || got.Type != want.Type || last.EventID != got.EventID {
		t.Errorf("published %s on stream %s, want %s", got.Type, last.Stream, want.Type)
	}
	if got.CorrelationID != correlation || got.OrgID != "acme" || got.CaseID != "case-1" || got.ProductID != "derm" {
		t.Errorf("published for another request: %s", last.Envelope)
	}
	if diff := cmp.Diff(string(want.Payload), string(got.Payload)); diff != "" {
		t.Errorf("published another payload than answered (-answered +published):\n%s", diff)
	}
}

func TestTheSameRequestGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	unsure := modules.Config{FailureRate: 0.5, Confidence: modules.Distribution{Mean: 0.5, Spread: 0.4}, Seed: 7}
	for name, kind := range clientKinds(t) {
		one, other := newDesk(unsure), newDesk(unsure) // two processes
		distinct := map[string]bool{}
		for n := range 30 {
			correlation := fmt.Sprintf("corr-%d", n)
			first := one.ask(t, kind.Client.Endpoint, correlation, payloads[name])
			again := other.ask(t, kind.Client.Endpoint, correlation, payloads[name])
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("%s: %s is answered differently (-first +again):\n%s", name, correlation, diff)
			}
			distinct[string(first.Payload)] = true
		}
		if varies := name == "run_ai_review" || name == "request_human_review"; varies && len(distinct) < 3 {
			t.Errorf("%s: only %d different answers to 30 requests", name, len(distinct))
		}
	}
}

func TestConsentBelongsToTheCase(t *testing.T) {
	t.Parallel()
	d := newDesk(modules.Config{ConsentRefusal: 0.5})
	refused := 0
	for n := range 40 {
		caseID := fmt.Sprintf("case-%d", n)
		first := d.askFor(t, caseID, "POST /consent/checks", "attempt-1", payloads["gate_on_consent"])
		second := d.askFor(t, caseID, "POST /consent/checks", "attempt-2", payloads["gate_on_consent"])
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s: consent changed between attempts:\n%s", caseID, diff)
		}
		if string(first.Payload) == `{"granted":false,"missing_types":["ai_analysis"]}` {
			refused++
		}
	}
	if refused == 0 || refused == 40 {
		t.Errorf("%d of 40 cases have no consent, want about half", refused)
	}
}

func TestFailuresAreAnsweredAsFailedEvents(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		endpoint, payload string
		event, reason     string
	}{
		"the model is down":      {"POST /ai-reviews", payloads["run_ai_review"], "ai_review.failed", "model_unavailable"},
		"types of another type":  {"POST /consent/checks", `{"types":5}`, "consent.check.failed", "contract_violation"},
		"negative count":         {"POST /cases/{case_id}/image-checks", `{"min_count":-1}`, "case.images_check.failed", "contract_violation"},
		"status of another type": {"PUT /cases/{case_id}/status", `{"status":[]}`, "case.set_status.failed", "contract_violation"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(modules.Config{FailureRate: 1})
			got := d.ask(t, test.endpoint, "corr-1", test.payload)
			var failure struct {
				Reason string `json:"reason_code"`
			}
			if err := json.Unmarshal(got.Payload, &failure); err != nil {
				t.Fatal(err)
			}
			if got.Type != test.event || failure.Reason != test.reason {
				t.Errorf("answered %s %s, want %s with %s", got.Type, got.Payload, test.event, test.reason)
			}
			schema, _ := event.Schema(test.event)
			accepts(t, schema, got.Payload)
			d.checkLast(t, "corr-1", got)
		})
	}
}

func TestACaseHasSomeImagesNotAnyNumber(t *testing.T) {
	t.Parallel()
	got := newDesk(modules.Config{}).ask(t, "POST /cases/{case_id}/image-checks", "corr-1", `{"min_count":1000000000}`)
	var output struct {
		Count  int
		Passed bool
	}
	if err := json.Unmarshal(got.Payload, &output); err != nil {
		t.Fatal(err)
	}
	if output.Passed || output.Count == 0 {
		t.Errorf("answered %+v, want some images that are not enough", output)
	}
}

func TestTheCaseInThePathWins(t *testing.T) {
	t.Parallel()
	d := newDesk(modules.Config{})
	got := d.askFor(t, "another", "PUT /cases/{case_id}/status", "corr-1", payloads["set_case_status"])
	d.checkLast(t, "corr-1", got)
}

func TestBadBodiesAreRefusedAndNothingIsPublished(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body   string
		status int
	}{
		"nothing":                {``, http.StatusBadRequest},
		"not JSON":               {`{"case_id":`, http.StatusBadRequest},
		"a list":                 {`[]`, http.StatusBadRequest},
		"a case of another type": {`{"case_id":5,"product_id":"derm"}`, http.StatusBadRequest},
		"no case":                {`{"product_id":"derm","payload":{}}`, http.StatusBadRequest},
		"no product":             {`{"case_id":"case-1","payload":{}}`, http.StatusBadRequest},
		"too long a case":        {`{"case_id":"` + strings.Repeat("x", 129) + `","product_id":"derm"}`, http.StatusBadRequest},
		"payload not an object":  {`{"case_id":"case-1","product_id":"derm","payload":[]}`, http.StatusBadRequest},
		"too large":              {`{"case_id":"` + strings.Repeat("x", 64<<10) + `"}`, http.StatusRequestEntityTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(modules.Config{})
			rec := d.do("POST /ai-reviews", test.body)
			if rec.Code != test.status || rec.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %s, want the problem %d: %s", rec.Code, rec.Header().Get("Content-Type"), test.status, rec.Body)
			}
			if len(d.messages) > 0 {
				t.Errorf("published %s", d.messages[0].Envelope)
			}
		})
	}
}

func TestAnOutcomeThatIsNotPublishedIsNotAnswered(t *testing.T) {
	t.Parallel()
	d := newDesk(modules.Config{})
	d.refuse = errors.New("the bus is away")
	rec := d.do("POST /ai-reviews", `{"case_id":"case-1","product_id":"derm"}`)
	if rec.Code != http.StatusServiceUnavailable || strings.Contains(rec.Body.String(), "the bus is away") {
		t.Errorf("got %d: %s", rec.Code, rec.Body)
	}
}

// accepts fails the test when a schema does not accept a payload.
func accepts(t *testing.T, schema, payload []byte) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("the contract does not accept %s: %v", payload, err)
	}
}
