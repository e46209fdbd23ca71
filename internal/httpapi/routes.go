package httpapi

import (
	"net/http"

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
	// Empty means that no token is needed.
	Scopes []string
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
func (r Route) Public() bool { return len(r.Scopes) == 0 }

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

func routeTable(publicMetrics bool) []Route {
	readDefinitions := []string{rondo.ScopeRead}
	readInstances := []string{rondo.ScopeRead, rondo.ScopeReadInstances}
	metrics := []string{rondo.ScopeAdmin}
	if publicMetrics {
		metrics = nil
	}
	const get, post = http.MethodGet, http.MethodPost
	const definition, instance, template = "workflow definition", "workflow instance", "workflow template"
	conflict, rules := []int{http.StatusConflict}, []int{http.StatusConflict, http.StatusUnprocessableEntity}
	return []Route{
		{ID: "get-health", Method: get, Path: "/health", Tag: "health", Summary: "Is the process alive?", Quiet: true},
		{ID: "get-readiness", Method: get, Path: "/health/ready", Tag: "health", Summary: "Can it do its work? Names database, migrations and bus, and what waits", Quiet: true},
		{ID: "get-metrics", Method: get, Path: "/metrics", Tag: "health", Summary: "Prometheus metrics", Scopes: metrics, Quiet: true},

		{ID: "create-definition", Method: post, Path: "/workflow-definitions", Tag: "definitions", Summary: "Create a draft, from a source or a template", Scopes: []string{rondo.ScopeWrite}, Noun: template, Query: orgOnly(), Body: BodyRequired, MaxBody: maxDefinitionBody, Success: http.StatusCreated},
		{ID: "list-definitions", Method: get, Path: "/workflow-definitions", Tag: "definitions", Summary: "List definitions, newest first", Scopes: readDefinitions, Query: definitionFilters()},
		{ID: "get-definition", Method: get, Path: "/workflow-definitions/{id}", Tag: "definitions", Summary: "Read one definition", Scopes: readDefinitions, Noun: definition, Query: orgOnly()},
		{ID: "validate-definition", Method: post, Path: "/workflow-definitions/{id}/validate", Tag: "definitions", Summary: "Say what would forbid publishing, and change nothing", Scopes: []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish}, Noun: definition, Query: orgOnly(), Body: BodyOptional},
		{ID: "publish-definition", Method: post, Path: "/workflow-definitions/{id}/publish", Tag: "definitions", Summary: "Make a draft the active definition", Scopes: []string{rondo.ScopePublish}, Noun: definition, Query: orgOnly(), Body: BodyOptional, Errors: rules},
		{ID: "archive-definition", Method: post, Path: "/workflow-definitions/{id}/archive", Tag: "definitions", Summary: "Take a definition out of use; running cases go on", Scopes: []string{rondo.ScopePublish}, Noun: definition, Query: orgOnly(), Body: BodyOptional, Errors: conflict},
		{ID: "list-templates", Method: get, Path: "/workflow-templates", Tag: "definitions", Summary: "List the shipped templates", Scopes: readDefinitions},
		{ID: "get-template", Method: get, Path: "/workflow-templates/{id}", Tag: "definitions", Summary: "Read one shipped template", Scopes: readDefinitions, Noun: template},

		{ID: "list-instances", Method: get, Path: "/workflow-instances", Tag: "instances", Summary: "List instances, newest first", Scopes: readInstances, Query: instanceFilters()},
		{ID: "get-instance", Method: get, Path: "/workflow-instances/{id}", Tag: "instances", Summary: "Read one instance", Scopes: readInstances, Noun: instance, Query: orgOnly()},
		{ID: "list-steps", Method: get, Path: "/workflow-instances/{id}/steps", Tag: "instances", Summary: "List the attempts: finished ones in order, then open ones", Scopes: readInstances, Noun: instance, Query: orgOnly()},
		{ID: "list-events", Method: get, Path: "/workflow-instances/{id}/events", Tag: "instances", Summary: "List the inbound events, oldest first", Scopes: readInstances, Noun: instance, Query: append(orgOnly(), paging()...)},
		{ID: "halt-instance", Method: post, Path: "/workflow-instances/{id}/halt", Tag: "interventions", Summary: "Halt a running case", Scopes: []string{rondo.ScopeIntervene}, Noun: instance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},
		{ID: "resume-instance", Method: post, Path: "/workflow-instances/{id}/resume", Tag: "interventions", Summary: "Resume a halted case", Scopes: []string{rondo.ScopeIntervene}, Noun: instance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},
		{ID: "cancel-instance", Method: post, Path: "/workflow-instances/{id}/cancel", Tag: "interventions", Summary: "Cancel a case for good", Scopes: []string{rondo.ScopeIntervene}, Noun: instance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},

		{ID: "publish-event", Method: post, Path: "/events", Tag: "events", Summary: "Publish one event envelope; answers after it is durable", Scopes: []string{rondo.ScopeEvents}, Body: BodyRequired, Success: http.StatusAccepted},

		{ID: "get-openapi", Method: get, Path: "/openapi.json", Tag: "documentation", Summary: "This document", Quiet: true},
		{ID: "get-docs", Method: get, Path: "/docs", Tag: "documentation", Summary: "This document, to read and to try", Quiet: true},
		{ID: "get-docs-asset", Method: get, Path: "/docs/{asset}", Tag: "documentation", Summary: "Script and style of the documentation page", Noun: "page", Quiet: true},
	}
}
