package engine_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// eventEngine starts an engine on an empty store, on the embedded bus.
func eventEngine(t *testing.T, change ...func(*engine.Config)) (*engine.Engine, *memory.Store) {
	t.Helper()
	s := memory.Open(memory.Options{Embedded: true})
	cfg := engine.Config{Store: s}
	for _, c := range change {
		c(&cfg)
	}
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(t.Context()) })
	return e, s
}

func publish(t *testing.T, e *engine.Engine, raw []byte) rondo.Receipt {
	t.Helper()
	receipt, err := e.PublishEvent(t.Context(), user(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// envelope changes members of an event of a case.
func envelope(t *testing.T, caseID string, members map[string]any) []byte {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(caseCreated(caseID), &all); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, members)
	all["event_id"] = letterIDs.New().String()
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestReceiptsSayWhatIsWrongWithAnEvent(t *testing.T) {
	e, _ := eventEngine(t)
	publishTemplate(t, e, "ai_only")
	publish(t, e, caseCreated("asked"))
	publish(t, e, envelope(t, "driven", map[string]any{"payload": map[string]any{"patient_id": "p", "orchestration_mode": "client_driven"}}))
	live := must(e.Instances(t.Context(), user(), store.InstanceFilter{CaseID: "asked"}, store.Page{Limit: 1}))(t)[0].Machine.Live[0]
	for name, c := range map[string]struct {
		caseID, correlation string
		want                rondo.Receipt
	}{
		"an answer that nothing asked for": {"asked", "mine", rondo.Receipt{Outcome: rondo.OutcomeStale, Error: "unknown_correlation: "}},
		"an answer that breaks the contract": {
			"asked", live.CorrelationID, rondo.Receipt{Outcome: rondo.OutcomeApplied, Error: "contract_violation: the output does not match the kind's schema: /granted must be a boolean"},
		},
		"an observed answer that breaks the contract": {
			"driven", "mine", rondo.Receipt{Outcome: rondo.OutcomeApplied, Verdict: "on_path", Error: "contract_violation: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := publish(t, e, envelope(t, c.caseID, map[string]any{
				"event_type": "consent.check.completed", "correlation_id": c.correlation, "payload": map[string]any{"granted": "yes"},
			}))
			if got.Outcome != c.want.Outcome || got.Verdict != c.want.Verdict || !strings.HasPrefix(got.Error, c.want.Error) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			row, err := e.Event(t.Context(), user(), got.EventID)
			if err != nil || row.Outcome != got.Outcome || row.Verdict != got.Verdict || row.Error != got.Error {
				t.Errorf("the ledger says %+v (%v), the receipt %+v", row, err, got)
			}
		})
	}
}

// of is a caller of an organisation with some scopes.
func of(org string, scopes ...string) rondo.Principal {
	return rondo.Principal{Tenant: org, User: "bob", Scopes: scopes}
}

func wantCode(t *testing.T, what string, err error, want rondo.Code) {
	t.Helper()
	if got := rondo.CodeOf(err); got != want {
		t.Errorf("%s: %v (%s), want %s", what, err, got, want)
	}
}

func TestAnUnmatchedEventIsJudgedAgainInPlace(t *testing.T) {
	e, _ := eventEngine(t)
	receipt := publish(t, e, caseCreated("c1"))
	if receipt.Outcome != rondo.OutcomeUnmatched {
		t.Fatalf("case.created without a definition was %s", receipt.Outcome)
	}
	rows, err := e.EventList(t.Context(), user(), store.EventFilter{Outcome: rondo.OutcomeUnmatched}, store.Page{Limit: 10})
	if err != nil || len(rows) != 1 || rows[0].EventID != receipt.EventID {
		t.Fatalf("the unmatched events are %+v (%v)", rows, err)
	}
	again, err := e.ReplayEvent(t.Context(), user(), receipt.EventID)
	if err != nil || again.Outcome != rondo.OutcomeUnmatched {
		t.Fatalf("without a definition the replay was %s (%v)", again.Outcome, err)
	}
	publishTemplate(t, e, "ai_only")
	if again, err = e.ReplayEvent(t.Context(), user(), receipt.EventID); err != nil || again.Outcome != rondo.OutcomeApplied {
		t.Fatalf("the replay was %s (%v), want applied", again.Outcome, err)
	}
	row, err := e.Event(t.Context(), user(), receipt.EventID)
	if err != nil || row.ID != rows[0].ID || row.Outcome != rondo.OutcomeApplied || row.InstanceID.IsZero() || row.Error != "" {
		t.Errorf("the row is %+v (%v), want the same one, applied to its instance", row, err)
	}
	_, err = e.ReplayEvent(t.Context(), user(), receipt.EventID)
	wantCode(t, "replay what was applied", err, rondo.CodeWrongState)
	_, err = e.ReplayEvent(t.Context(), user(), rondo.ID{1})
	wantCode(t, "replay what is unknown", err, rondo.CodeNotFound)
	_, err = e.ReplayEvent(t.Context(), of("other", rondo.ScopeAdmin), receipt.EventID)
	wantCode(t, "replay another organisation's", err, rondo.CodeNotFound)
	_, err = e.Event(t.Context(), of("other", rondo.ScopeRead), receipt.EventID)
	wantCode(t, "read another organisation's", err, rondo.CodeNotFound)
}

var letterIDs = rondo.NewIDs(time.Now)

// bury stores a dead letter as an inbound stream would.
func bury(t *testing.T, s store.Store, org, stream string, body []byte) rondo.ID {
	t.Helper()
	letter := rondo.DeadLetter{ID: letterIDs.New(), OrgID: org, Stream: stream, EntryID: "1-0", Body: body, Reason: "a test", ReceivedAt: time.Now()}
	if _, err := s.Update(t.Context(), store.Load{}, func(*store.Loaded) (*store.Write, error) {
		return &store.Write{DeadLetters: []rondo.DeadLetter{letter}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return letter.ID
}

func TestADeadLetterThatIsAnEventNowIsApplied(t *testing.T) {
	e, s := eventEngine(t)
	publishTemplate(t, e, "ai_only")
	letter := bury(t, s, "acme", "ai_review.completed", caseCreated("c1")) // came on the wrong stream
	settled, receipt, err := e.ReplayDeadLetter(t.Context(), of("acme", rondo.ScopeIntervene), "", letter)
	if err != nil || receipt.Outcome != rondo.OutcomeApplied {
		t.Fatalf("the replay was %+v (%v), want applied", receipt, err)
	}
	if settled.Status != rondo.DeadLetterReplayed || settled.SettledBy != "bob" || settled.Note != "applied" || settled.SettledAt.IsZero() {
		t.Errorf("the letter is %+v", settled)
	}
	_, _, err = e.ReplayDeadLetter(t.Context(), user(), "", letter)
	wantCode(t, "replay it again", err, rondo.CodeWrongState)
	_, err = e.DiscardDeadLetter(t.Context(), user(), "", letter, "why")
	wantCode(t, "discard it after", err, rondo.CodeWrongState)
}

func TestADeadLetterThatStillIsNoneStays(t *testing.T) {
	e, s := eventEngine(t)
	replaced := func(old, by string) []byte {
		return []byte(strings.Replace(string(caseCreated("c1")), old, by, 1))
	}
	tests := map[string]struct {
		body []byte
		code string
	}{
		"not JSON":             {[]byte("{"), ""},
		"nothing":              {nil, "no_envelope"},
		"no case":              {replaced(`"case_id"`, `"case"`), ""},
		"too large":            {[]byte(strings.Repeat("x", 300<<10)), "too_large"},
		"of an unknown type":   {replaced(`"case.created"`, `"ext.nobody.completed"`), "unknown_event_type"},
		"of the orchestrator":  {replaced(`"case.created"`, `"workflow.halted"`), "orchestrator_event"},
		"of a kind's requests": {replaced(`"case.created"`, `"ext.a.requested"`), "orchestrator_event"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			id := bury(t, s, "acme", "case.created", test.body)
			_, _, err := e.ReplayDeadLetter(t.Context(), user(), "", id)
			wantCode(t, "replay", err, rondo.CodeWrongState)
			told, ok := err.(*rondo.Error)
			if !ok || len(told.Fields) == 0 || test.code != "" && told.Fields[0].Code != test.code {
				t.Errorf("the error says %+v", err)
			}
			letter, err := e.DeadLetter(t.Context(), user(), "", id)
			if err != nil || letter.Status != rondo.DeadLetterOpen {
				t.Errorf("the letter is %s (%v), want open", letter.Status, err)
			}
			if letter, err = e.DiscardDeadLetter(t.Context(), user(), "", id, "of no use"); err != nil || letter.Status != rondo.DeadLetterDiscarded || letter.Note != "of no use" {
				t.Errorf("discarded it is %+v (%v)", letter, err)
			}
		})
	}
}

func TestDeadLettersBelongToWhoTheyName(t *testing.T) {
	e, s := eventEngine(t)
	own, foreign, unknown := bury(t, s, "acme", "a", nil), bury(t, s, "other", "b", nil), bury(t, s, "", "c", nil)
	tests := map[string]struct {
		who  rondo.Principal
		org  string
		want []rondo.ID
	}{
		"a reader":                      {of("acme", rondo.ScopeRead), "", []rondo.ID{own}},
		"a reader who names another":    {of("acme", rondo.ScopeRead), "other", []rondo.ID{own}},
		"an admin":                      {of("acme", rondo.ScopeAdmin), "", []rondo.ID{unknown, foreign, own}},
		"an admin who names one":        {of("acme", rondo.ScopeAdmin), "other", []rondo.ID{foreign}},
		"someone without organisation":  {of("", rondo.ScopeRead), "", nil},
		"an organisation without a one": {of("third", rondo.ScopeRead), "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rows, err := e.DeadLetters(t.Context(), test.who, store.DeadLetterFilter{OrgID: test.org}, store.Page{Limit: 10})
			if err != nil && rondo.CodeOf(err) != rondo.CodeNotFound {
				t.Fatal(err)
			}
			var got []rondo.ID
			for _, row := range rows {
				got = append(got, row.ID)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the list is %v, want %v", got, test.want)
			}
			for _, id := range []rondo.ID{own, foreign, unknown} {
				_, err := e.DeadLetter(t.Context(), test.who, test.org, id)
				if found := err == nil; found != slices.Contains(test.want, id) {
					t.Errorf("reading %v: %v", id, err)
				}
				if !slices.Contains(test.want, id) {
					_, _, err = e.ReplayDeadLetter(t.Context(), test.who, test.org, id)
					wantCode(t, "replay", err, rondo.CodeNotFound)
					_, err = e.DiscardDeadLetter(t.Context(), test.who, test.org, id, "x")
					wantCode(t, "discard", err, rondo.CodeNotFound)
				}
			}
		})
	}
}

const weighing = `{"behaviour":"request","params_schema":{"type":"object","properties":{"unit":{"type":"string"}}},
	"events":{"requested":"ext.weigh.requested","completed":"ext.weigh.completed","failed":"ext.weigh.failed"},
	"request":{"unit":{"param":"unit"},"precision":{"const":2}},
	"output_schema":{"type":"object","properties":{"grams":{"type":"number"}},"required":["grams"]},
	"outcomes":[{"outcome":"on_complete"}],"failure_halt_code":"step_failed","client":{"module":"scales","endpoint":"POST /weigh"}}`

func TestEventSchemasAreThoseOfTheOrganisation(t *testing.T) {
	e, _ := eventEngine(t)
	if _, err := e.PutStepKind(t.Context(), user(), "weigh", []byte(weighing)); err != nil {
		t.Fatal(err)
	}
	schemas, err := e.EventSchemas(t.Context(), user())
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, s := range schemas {
		if !event.Known(s.Type) {
			own = append(own, s.Type+" by "+s.PublishedBy)
		}
	}
	want := []string{"ext.weigh.completed by modules", "ext.weigh.failed by modules", "ext.weigh.requested by orchestrator"}
	if !slices.Equal(own, want) || len(schemas) != len(event.Types())+3 {
		t.Errorf("%d schemas, of which own %v, want %v beside the catalogue", len(schemas), own, want)
	}
	for name, part := range map[string]string{
		"ext.weigh.completed": `"required":["grams"]`, "ext.weigh.requested": `"precision":{"const":2}`, "ext.weigh.failed": `"retryable"`,
		"case.created": `"orchestration_mode"`,
	} {
		schema, err := e.EventSchema(t.Context(), user(), name)
		if err != nil {
			t.Fatal(err)
		}
		var compact strings.Builder
		if err := compactInto(&compact, schema.Schema); err != nil || !strings.Contains(compact.String(), part) {
			t.Errorf("the schema of %s has no %s (%v): %s", name, part, err, compact.String())
		}
	}
	_, err = e.EventSchema(t.Context(), of("other", rondo.ScopeRead), "ext.weigh.completed")
	wantCode(t, "another organisation's type", err, rondo.CodeNotFound)
}

func compactInto(out *strings.Builder, raw json.RawMessage) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	compact, err := json.Marshal(v)
	out.Write(compact)
	return err
}
