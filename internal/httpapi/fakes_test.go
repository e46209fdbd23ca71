package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/metrics"
	"github.com/rondo-engine/rondo/store"
)

// fake is an engine that answers what it is told and remembers what it was
// asked. Its zero value knows one instance and one definition of tenant acme.
type fake struct {
	mu    sync.Mutex
	err   error // every call fails with it
	panic any   // every call panics with it

	principal  rondo.Principal
	raw        []byte
	action     rondo.Action
	filter     store.InstanceFilter
	defFilter  store.DefinitionFilter
	page       store.Page
	wanted     rondo.NewDefinition
	reason     string
	duplicate  bool
	delivered  bool
	refusal    string // events are rejected with it
	components []rondo.Component
	instances  []*rondo.Instance
	report     rondo.ValidationReport
	registry
	trials     trials
	known      *rondo.Instance // instead of knownInstance
	happenings happenings
	following  following
	jobs       jobs
	retention  retention
}

var (
	_ httpapi.Cases       = (*fake)(nil)
	_ httpapi.Snapshots   = (*fake)(nil)
	_ httpapi.Definitions = (*fake)(nil)
	_ httpapi.Health      = (*fake)(nil)
)

func id(n byte) rondo.ID { return rondo.ID{0: 1, 6: 0x70, 8: 0x80, 15: n} }

var (
	instanceID   = id(1)
	definitionID = id(2)
	templateID   = id(3)
	eventID      = id(4)
	start        = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
)

func knownInstance() *rondo.Instance {
	return &rondo.Instance{
		ID: instanceID, OrgID: "acme", CaseID: "case-1", ProductID: "derm", DefinitionID: definitionID, SnapshotHash: "abc123",
		Mode: rondo.ModeActive, Status: rondo.StatusRunning, StartedAt: start, DeadlineAt: start.Add(time.Hour), Version: 3,
		Context: rondo.Context{"case_id": json.RawMessage(`"case-1"`), "ai_review": json.RawMessage(`{"confidence":0.61}`)},
		Machine: rondo.Machine{Live: []rondo.Attempt{
			{RowID: id(9), StepID: "customer_review", Kind: "request_human_review", Status: rondo.StepInProgress, Number: 1, CorrelationID: "corr-2", Input: json.RawMessage(`{"tier":"sa_qa"}`), StartedAt: start, TimeoutAt: start.Add(time.Minute)},
			{RowID: id(10), StepID: "ai_again", Kind: "run_ai_review", Status: rondo.StepPending, Number: 2, CorrelationID: "corr-3", DueAt: start.Add(time.Second)},
		}},
	}
}

func knownDefinition(which rondo.ID) rondo.Definition {
	d := rondo.Definition{
		ID: which, OrgID: "acme", ProductID: "derm", Kind: rondo.KindCase, Name: "flow", Version: 4, Status: rondo.DefinitionDraft,
		DefaultMode: rondo.ModeActive, Body: json.RawMessage(`{"name":"flow"}`), WorkflowTimeout: time.Hour, Revision: 7,
		CreatedBy: "ann", CreatedAt: start, UpdatedAt: start,
	}
	if which == templateID {
		d.OrgID, d.ProductID, d.IsTemplate, d.Name, d.Status, d.PublishedAt = "", "", true, "ai_only", rondo.DefinitionActive, start
	}
	return d
}

// begin notes the caller and fails when told to.
func (f *fake) begin(p rondo.Principal) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.principal = p
	if f.panic != nil {
		panic(f.panic)
	}
	return f.err
}

func (f *fake) PublishEvent(_ context.Context, p rondo.Principal, raw []byte) (rondo.Receipt, error) {
	if err := f.begin(p); err != nil {
		return rondo.Receipt{}, err
	}
	f.raw = raw
	receipt := rondo.Receipt{EventID: eventID, Outcome: rondo.OutcomeApplied, Duplicate: f.duplicate}
	if f.refusal != "" {
		receipt.Outcome, receipt.Error = rondo.OutcomeRejected, f.refusal
	}
	return receipt, nil
}

func (f *fake) Act(_ context.Context, p rondo.Principal, which rondo.ID, a rondo.Action) (*rondo.Instance, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.action = a
	return f.find(p, which)
}

func (f *fake) find(p rondo.Principal, which rondo.ID) (*rondo.Instance, error) {
	if which != instanceID {
		return nil, &rondo.Error{Code: rondo.CodeNotFound, Message: "there is no row with that id"}
	}
	if p.Tenant != "acme" {
		return nil, &rondo.Error{Code: rondo.CodeNotFound, Message: "that row is of another org", Hint: "careless words"}
	}
	if f.known != nil {
		return f.known, nil
	}
	return knownInstance(), nil
}

func (f *fake) Instance(_ context.Context, p rondo.Principal, which rondo.ID) (*rondo.Instance, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	return f.find(p, which)
}

func (f *fake) Snapshot(context.Context, rondo.Principal, *rondo.Instance) ([]byte, error) {
	return []byte(`{"frozen":true}`), nil
}

func (f *fake) Instances(_ context.Context, p rondo.Principal, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.filter, f.page = filter, page
	return f.instances, nil
}

func (f *fake) Steps(_ context.Context, p rondo.Principal, which rondo.ID) ([]rondo.Step, *rondo.Instance, error) {
	if err := f.begin(p); err != nil {
		return nil, nil, err
	}
	i, err := f.find(p, which)
	return []rondo.Step{{
		ID: id(8), InstanceID: instanceID, StepID: "consent_gate", Kind: "gate_on_consent", Status: rondo.StepCompleted, Attempt: 1, Seq: 1,
		StartedAt: start, CompletedAt: start.Add(time.Second), Input: json.RawMessage(`{}`), Output: json.RawMessage(`{"granted":true}`), CorrelationID: "corr-1",
	}}, i, err
}

func (f *fake) Deliveries(_ context.Context, p rondo.Principal, _ *rondo.Instance, steps []rondo.Step) (map[string]rondo.Delivery, error) {
	if !f.delivered {
		return nil, f.begin(p)
	}
	return map[string]rondo.Delivery{steps[0].CorrelationID: {EventID: id(7), ReceivedAt: start, DeliveryID: "d-1", Payload: json.RawMessage(`{"delivery_id":"d-1"}`)}}, f.begin(p)
}

func (f *fake) Events(_ context.Context, p rondo.Principal, which rondo.ID, page store.Page) ([]rondo.EventRecord, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.page = page
	if _, err := f.find(p, which); err != nil {
		return nil, err
	}
	return []rondo.EventRecord{{
		ID: id(11), OrgID: "acme", EventID: eventID, CaseID: "case-1", InstanceID: instanceID, Type: "case.created",
		Envelope: json.RawMessage(`{"event_type":"case.created"}`), ReceivedAt: start, Processed: true, Outcome: rondo.OutcomeApplied, Duplicates: 2,
	}}, nil
}

func (f *fake) CreateDefinition(_ context.Context, p rondo.Principal, d rondo.NewDefinition) (rondo.Definition, error) {
	if err := f.begin(p); err != nil {
		return rondo.Definition{}, err
	}
	f.wanted = d
	return knownDefinition(definitionID), nil
}

func (f *fake) Definition(_ context.Context, p rondo.Principal, which rondo.ID) (rondo.Definition, error) {
	if err := f.begin(p); err != nil {
		return rondo.Definition{}, err
	}
	if which != definitionID || p.Tenant != "acme" {
		return rondo.Definition{}, rondo.NotFound("row")
	}
	d := knownDefinition(which)
	d.Semver = f.semver
	return d, nil
}

func (f *fake) DefinitionList(_ context.Context, p rondo.Principal, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	f.defFilter, f.page = filter, page
	return []rondo.Definition{knownDefinition(definitionID)}, nil
}

func (f *fake) ValidateDefinition(ctx context.Context, p rondo.Principal, which rondo.ID) (rondo.ValidationReport, error) {
	_, err := f.Definition(ctx, p, which)
	return f.report, err
}

func (f *fake) PublishDefinition(ctx context.Context, p rondo.Principal, which rondo.ID, reason string) (rondo.Definition, error) {
	f.reason = reason
	return f.Definition(ctx, p, which)
}

func (f *fake) ArchiveDefinition(ctx context.Context, p rondo.Principal, which rondo.ID, reason string) (rondo.Definition, error) {
	f.reason = reason
	return f.Definition(ctx, p, which)
}

func (f *fake) Templates(_ context.Context, p rondo.Principal) ([]rondo.Definition, error) {
	if err := f.begin(p); err != nil {
		return nil, err
	}
	return []rondo.Definition{knownDefinition(templateID)}, nil
}

func (f *fake) Template(_ context.Context, p rondo.Principal, which rondo.ID) (rondo.Definition, error) {
	if err := f.begin(p); err != nil {
		return rondo.Definition{}, err
	}
	if which != templateID {
		return rondo.Definition{}, rondo.NotFound("row")
	}
	return knownDefinition(which), nil
}

func (f *fake) Ready(context.Context) []rondo.Component {
	if f.panic != nil {
		panic(f.panic)
	}
	return f.components
}

// as lets everyone in as one principal.
type as rondo.Principal

func (p as) Authenticate(*http.Request) (rondo.Principal, error) { return rondo.Principal(p), nil }

// bench is an API over a fake engine, with its log.
type bench struct {
	*httpapi.API
	engine  *fake
	chat    *talker
	runs    *runner
	service *chat.Service // instead of chat, where a test asks for it
	metrics *metrics.Metrics
	log     *bytes.Buffer
}

func newBench(t *testing.T, change ...func(*httpapi.Config)) *bench {
	t.Helper()
	b := &bench{engine: &fake{}, metrics: metrics.New(metrics.Options{}), log: &bytes.Buffer{}}
	b.chat = newTalker(b.engine)
	b.runs = newRunner(b.engine)
	cfg := httpapi.Config{
		Chat: b.chat, Runs: b.runs,
		Cases: b.engine, Definitions: b.engine, Events: b.engine, Trials: b.engine, Jobs: b.engine, Retention: b.engine, Health: b.engine, Metrics: b.metrics,
		Auth:    as{Tenant: "acme", User: "ann", Scopes: auth.AllScopes()},
		Log:     slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:     func() time.Time { return start },
		Version: "test",
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if b.API, err = httpapi.New(cfg); err != nil {
		t.Fatalf("make the API: %v", err)
	}
	return b
}

// asUser is a caller of acme with these scopes only.
func asUser(scopes ...string) func(*httpapi.Config) {
	return func(c *httpapi.Config) { c.Auth = as{Tenant: "acme", User: "ann", Scopes: scopes} }
}

// do sends a request whose body is JSON when there is one. Headers come in pairs.
func (b *bench) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var r *http.Request
	if body == "" {
		r = httptest.NewRequest(method, target, nil)
	} else {
		r = httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	b.ServeHTTP(rec, r)
	return rec
}

// problem is an error answer as a client reads it.
type problem struct {
	Type      string             `json:"type"`
	Title     string             `json:"title"`
	Status    int                `json:"status"`
	Detail    string             `json:"detail"`
	Code      string             `json:"code"`
	Hint      string             `json:"hint"`
	Errors    []rondo.FieldError `json:"errors"`
	RequestID string             `json:"request_id"`
}

// problemIn checks the form of an error answer and returns it.
func problemIn(t *testing.T, rec *httptest.ResponseRecorder) problem {
	t.Helper()
	if got := rec.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q, want a problem: %s", got, rec.Body)
	}
	var p problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatalf("the problem is not JSON: %v: %s", err, rec.Body)
	}
	if p.Status != rec.Code || p.Title == "" || p.Detail == "" || p.Code == "" || p.Type != "urn:rondo:problem:"+p.Code || p.RequestID != rec.Header().Get("X-Request-Id") || p.RequestID == "" {
		t.Errorf("status %d with an incomplete problem: %s", rec.Code, rec.Body)
	}
	return p
}
