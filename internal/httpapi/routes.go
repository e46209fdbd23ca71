package httpapi

import (
	"net/http"
	"slices"

	"github.com/rondo-engine/rondo"
)

// The largest bodies.
const (
	maxBody           = 256 << 10
	maxDefinitionBody = 1 << 20
)

// Route is one row of the route table: all that is decided about a request
// before its handler runs, and what the documentation says about it.
type Route struct {
	ID      string // operation id
	Method  string
	Path    string // pattern of net/http
	Tag     string
	Summary string

	// Scopes lists the scopes of which the caller needs one; admin has them all.
	// Empty means that no token is needed, unless Chat is set.
	Scopes []string
	// Chat marks a route of the chat API: any caller of an allowed organisation
	// may use it, {id} names a conversation, problems have the members that older
	// clients read, and idempotency keys are the turn service's business.
	Chat bool
	// Keyed says that a route of the chat API minds an idempotency key.
	Keyed bool
	// Camel marks a route of the run API, whose names are camelCase.
	Camel bool
	// Noun is what {id} names, for answers that say it is not there.
	Noun string
	// Query lists the parameters that exist. Others are refused.
	Query []Param
	// Body says whether a JSON body is taken.
	Body BodyRule
	// MaxBody bounds the body. Zero means 256 KiB.
	MaxBody int64
	// Success is the status of a good answer. Zero means 200.
	Success int
	// Errors lists statuses beyond those that follow from the fields above.
	Errors []int
	// Quiet routes are logged at debug level: probes call them all the time.
	Quiet bool
}

// BodyRule says whether a route takes a body.
type BodyRule int

// The body rules.
const (
	BodyNone     BodyRule = iota // a body is refused
	BodyOptional                 // absent means {}
	BodyRequired
)

// Pattern is how net/http knows the route.
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// Public reports whether no token is needed.
func (r Route) Public() bool { return len(r.Scopes) == 0 && !r.Chat }

// keyed reports whether the edge itself minds an idempotency key.
func (r Route) keyed() bool { return r.Method == http.MethodPost && !r.Public() && !r.Chat }

func (r Route) takes(param string) bool {
	for _, p := range r.Query {
		if p.Name == param {
			return true
		}
	}
	return false
}

// Routes returns the route table.
func (a *API) Routes() []Route { return routeTable(a.cfg.PublicMetrics) }

// The words of {id}, and the scopes and errors that many rows share.
const (
	nounDefinition = "workflow definition"
	nounInstance   = "workflow instance"
	nounTemplate   = "workflow template"
)

var (
	readDefinitions = []string{rondo.ScopeRead}
	readInstances   = []string{rondo.ScopeRead, rondo.ScopeReadInstances}
	writeDrafts     = []string{rondo.ScopeWrite}
	publishing      = []string{rondo.ScopePublish}
	intervening     = []string{rondo.ScopeIntervene}
	administering   = []string{rondo.ScopeAdmin}

	conflict     = []int{http.StatusConflict}
	publishRules = []int{http.StatusConflict, http.StatusUnprocessableEntity}
)

const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)

func routeTable(publicMetrics bool) []Route {
	return slices.Concat(
		healthRoutes(publicMetrics), definitionRoutes(), deftestRoutes(), instanceRoutes(), interventionRoutes(), eventRoutes(), jobRoutes(), retentionRoutes(), chatRoutes(), runRoutes(), documentRoutes(),
	)
}

func healthRoutes(publicMetrics bool) []Route {
	metrics := administering
	if publicMetrics {
		metrics = nil
	}
	return []Route{
		{ID: "get-health", Method: get, Path: "/health", Tag: "health", Summary: "Is the process alive?", Quiet: true},
		{ID: "get-readiness", Method: get, Path: "/health/ready", Tag: "health", Summary: "Can it do its work? Names database, migrations and bus, and what waits", Quiet: true},
		{ID: "get-metrics", Method: get, Path: "/metrics", Tag: "health", Summary: "Prometheus metrics", Scopes: metrics, Quiet: true},
	}
}

func documentRoutes() []Route {
	return []Route{
		{ID: "get-openapi", Method: get, Path: "/openapi.json", Tag: "documentation", Summary: "This document", Quiet: true},
		{ID: "get-docs", Method: get, Path: "/docs", Tag: "documentation", Summary: "This document, to read and to try", Quiet: true},
		{ID: "get-docs-asset", Method: get, Path: "/docs/{asset}", Tag: "documentation", Summary: "Script and style of the documentation page", Noun: "page", Quiet: true},
	}
}
