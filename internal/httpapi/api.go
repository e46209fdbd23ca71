// Package httpapi is the REST edge: it turns HTTP requests into calls of the
// engine's services and their answers into JSON.
//
// # Guarantees
//
//  1. Every route has a row in the route table, and the row decides who may
//     call it, which query parameters exist and how large a body may be. A route
//     without a row, or a row without a handler, fails New.
//  2. No handler runs before the caller is known, holds a scope of the row, and
//     the request has been read and checked strictly.
//  3. Every error is an RFC 9457 problem with a stable code. It never contains
//     values of the request, and nothing of internal errors but the request id.
//  4. What the caller may not see answers like what does not exist, byte for
//     byte but for the request id.
//  5. Payloads, query strings and tokens are never logged.
//
// # Shape of answers
//
// JSON in snake_case. Members that have no value are null, never left out; only
// problems leave out hint and errors. Times are RFC 3339 in UTC with
// microseconds. Conversations and runs are in camelCase and leave members out that
// do not apply.
//
// It imports the root package, the store's filters, canonical JSON, auth, and
// huma, which nothing below this package knows.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/store"
)

// Cases is what the edge needs of the case engine. The principal's Tenant is the
// organisation to act for: the token's own, or the one that an admin named.
// Ids of other organisations are CodeNotFound.
type Cases interface {
	// PublishEvent takes one envelope in and answers after the commit. raw is
	// strict JSON and belongs to the service.
	PublishEvent(ctx context.Context, p rondo.Principal, raw []byte) (rondo.Receipt, error)
	// Act does an intervention and returns the instance after it.
	Act(ctx context.Context, p rondo.Principal, id rondo.ID, a rondo.Action) (*rondo.Instance, error)
	Instance(ctx context.Context, p rondo.Principal, id rondo.ID) (*rondo.Instance, error)
	// Instances lists newest first.
	Instances(ctx context.Context, p rondo.Principal, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error)
	// Steps returns the finished attempts in commit order, and the instance, whose
	// Machine.Live are the open ones.
	Steps(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.Step, *rondo.Instance, error)
	// Deliveries says what came back for what the steps emitted, by correlation id.
	Deliveries(ctx context.Context, p rondo.Principal, instance *rondo.Instance, steps []rondo.Step) (map[string]rondo.Delivery, error)
	// Events lists oldest first; Page.After is the ID of a row, not its event id.
	Events(ctx context.Context, p rondo.Principal, id rondo.ID, page store.Page) ([]rondo.EventRecord, error)
	Explaining
	Following
}

// Snapshots is an optional ability of Cases: with it, one instance is shown with
// the frozen definition that drives it.
type Snapshots interface {
	Snapshot(ctx context.Context, p rondo.Principal, instance *rondo.Instance) ([]byte, error)
}

// Definitions is what the edge needs of the registry.
type Definitions interface {
	CreateDefinition(ctx context.Context, p rondo.Principal, d rondo.NewDefinition) (rondo.Definition, error)
	Definition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error)
	// DefinitionList lists newest first.
	DefinitionList(ctx context.Context, p rondo.Principal, filter store.DefinitionFilter, page store.Page) ([]rondo.Definition, error)
	ValidateDefinition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.ValidationReport, error)
	PublishDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error)
	ArchiveDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, reason string) (rondo.Definition, error)
	// ChangeDraft edits a draft; a revision that the patch does not match is
	// CodePrecondition.
	ChangeDraft(ctx context.Context, p rondo.Principal, id rondo.ID, patch rondo.DefinitionPatch) (rondo.Definition, error)
	CloneDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, in rondo.DefinitionCopy) (rondo.Definition, error)
	// Revisions lists oldest first.
	Revisions(ctx context.Context, p rondo.Principal, id rondo.ID) ([]rondo.DefinitionRevision, error)
	DiffDefinitions(ctx context.Context, p rondo.Principal, from, to rondo.ID) (rondo.DefinitionDiff, error)
	// DrawDefinition draws as "svg" or "mermaid".
	DrawDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, format string) (string, error)
	ExportDefinition(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, rondo.Bundle, error)
	// ImportDefinition creates what the organisation lacks of a bundle.
	ImportDefinition(ctx context.Context, p rondo.Principal, b rondo.Bundle) (rondo.Imported, error)
	Catalogue
	Templates(ctx context.Context, p rondo.Principal) ([]rondo.Definition, error)
	Template(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, error)
}

// Catalogue is what definitions may refer to: reason codes and step kinds.
type Catalogue interface {
	// ReasonCodes lists by scope and code.
	ReasonCodes(ctx context.Context, p rondo.Principal, filter rondo.ReasonCodeFilter) ([]rondo.ReasonCode, error)
	// CheckReasonCode lists all that is wrong with what CreateReasonCode would be
	// given.
	CheckReasonCode(ctx context.Context, p rondo.Principal, code rondo.ReasonCode, system bool) error
	CreateReasonCode(ctx context.Context, p rondo.Principal, code rondo.ReasonCode, system bool) (rondo.ReasonCode, error)
	ChangeReasonCode(ctx context.Context, p rondo.Principal, id rondo.ID, patch rondo.ReasonCodePatch) (rondo.ReasonCode, error)
	// StepKinds lists the built-in ones and the newest of each of the
	// organisation's own, by name.
	StepKinds(ctx context.Context, p rondo.Principal) ([]rondo.StepKind, error)
	// StepKindVersions lists newest first.
	StepKindVersions(ctx context.Context, p rondo.Principal, name string) ([]rondo.StepKind, error)
	PutStepKind(ctx context.Context, p rondo.Principal, name string, contract []byte) (rondo.StepKind, error)
	ArchiveStepKind(ctx context.Context, p rondo.Principal, name string) (rondo.StepKind, error)
}

// Health says whether the engine can work.
type Health interface {
	Ready(ctx context.Context) []rondo.Component
}

// Metrics is told of every answer and shows what was counted.
type Metrics interface {
	HTTP(method, route string, status int, seconds float64)
	// HTTPStream is told of a stream instead, when it has ended.
	HTTPStream(method, route string, status int)
	Handler() http.Handler
}

// Config is what the edge stands on.
type Config struct {
	Cases       Cases              // required
	Definitions Definitions        // required
	Events      Events             // required
	Trials      Trials             // required
	Jobs        Jobs               // required
	Retention   Retention          // required
	Health      Health             // required
	Auth        auth.Authenticator // required

	// Metrics counts requests and is served at /metrics. Default: nothing is
	// counted and /metrics is empty.
	Metrics Metrics
	// PublicMetrics serves /metrics without a token. Its labels name
	// organisations, so by default it needs the admin scope.
	PublicMetrics bool

	// Chat holds conversations. Default: the routes of the chat API answer 503.
	Chat Chat
	// ChatAnyID takes any text of 1 to 255 characters as the id of a conversation,
	// for clients that make their own (CHAT_UNKNOWN=initialise). Default: ids of
	// turns must be UUIDs.
	ChatAnyID bool
	// ChatRedis is what /health says about Redis: conversations are kept there.
	ChatRedis bool

	// Runs executes workflows. Default: the routes of runs answer 503.
	Runs RunService

	// CORSOrigins lists the origins whose pages may call the API, each exactly
	// scheme://host[:port]. Default http://localhost:5173; empty but not nil means
	// none.
	CORSOrigins []string

	// Answers makes POSTs repeatable by an Idempotency-Key. Default: the header is
	// not looked at.
	Answers Answers

	// Log takes one line per request. Default: nothing is logged.
	Log *slog.Logger
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// NewID makes request ids. Default: UUIDv7 of Now.
	NewID func() rondo.ID
	// Version is shown by /health and in the OpenAPI document. Default "dev".
	Version string
}

func (c Config) withDefaults() (Config, error) {
	if c.Cases == nil || c.Definitions == nil || c.Events == nil || c.Trials == nil || c.Jobs == nil || c.Retention == nil || c.Health == nil || c.Auth == nil {
		return c, errors.New("httpapi: Cases, Definitions, Events, Trials, Jobs, Retention, Health and Auth are required")
	}
	if c.CORSOrigins == nil {
		c.CORSOrigins = []string{defaultOrigin}
	}
	if err := checkOrigins(c.CORSOrigins); err != nil {
		return c, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = rondo.NewIDs(c.Now).New
	}
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	return c, nil
}

// API is the whole edge as one handler.
type API struct {
	cfg     Config
	handler http.Handler
	openapi []byte
	streams *streams
}

var _ http.Handler = (*API)(nil)

// New registers every route. It does no I/O.
func New(cfg Config) (*API, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &API{cfg: cfg, streams: newStreams()}
	r := newRegistrar(a)
	a.registerHealth(r)
	a.registerDefinitions(r)
	a.registerTrials(r)
	a.registerInstances(r)
	a.registerEvents(r)
	a.registerJobs(r)
	a.registerRetention(r)
	a.registerChat(r)
	a.registerRuns(r)
	a.registerDocs(r)
	if a.openapi, err = r.finish(); err != nil {
		return nil, err
	}
	a.handler = a.edge(r.mux)
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// OpenAPI returns the OpenAPI 3.1 document, as served at /openapi.json.
func (a *API) OpenAPI() []byte { return append([]byte(nil), a.openapi...) }

type noMetrics struct{}

func (noMetrics) HTTP(string, string, int, float64) {}
func (noMetrics) HTTPStream(string, string, int)    {}

func (noMetrics) Handler() http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
}
