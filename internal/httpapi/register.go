package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
)

// registrar puts handlers behind the rows of the route table and writes the
// OpenAPI document as it goes. Every handler passes through HandleFunc, so none
// can escape the guard.
type registrar struct {
	api    *API
	mux    *http.ServeMux
	huma   huma.API
	rows   map[string]Route // by operation id
	served map[string]bool  // patterns that have a handler
	errs   []error
}

func newRegistrar(a *API) *registrar {
	r := &registrar{api: a, mux: http.NewServeMux(), rows: map[string]Route{}, served: map[string]bool{}}
	for _, row := range a.Routes() {
		r.rows[row.ID] = row
	}
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: huma.DefaultJSONFormat.Unmarshal}
	r.huma = humago.New(r, huma.Config{
		OpenAPI:       document(a.cfg.Version),
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
	})
	r.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) { a.unrouted(w, req, r.mux) })
	return r
}

var _ humago.Mux = (*registrar)(nil)

// HandleFunc registers a handler behind the guard of its row.
func (r *registrar) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	for _, row := range r.rows {
		if row.Pattern() == pattern {
			r.served[pattern] = true
			r.mux.HandleFunc(pattern, r.api.guard(row, handler))
			return
		}
	}
	r.errs = append(r.errs, fmt.Errorf("httpapi: %s has no row in the route table", pattern))
}

// ServeHTTP routes a request.
func (r *registrar) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

// plain registers a handler that writes its own answer of the given type.
func (r *registrar) plain(id, contentType string, handler http.HandlerFunc) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	op := r.operation(row)
	op.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{contentType: {}}}
	op.Parameters = append(op.Parameters, pathParams(row)...)
	r.huma.OpenAPI().AddOperation(&op)
	r.HandleFunc(row.Pattern(), handler)
}

// handle registers a typed handler. body is an example of the request body, for
// its schema; nil = none.
func handle[O any](r *registrar, id string, body any, handler func(context.Context, *call) (*O, error)) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	op := r.operation(row)
	op.Parameters = append(op.Parameters, pathParams(row)...)
	huma.Register(r.huma, op, func(ctx context.Context, _ *struct{}) (*O, error) {
		x := exchangeOf(ctx)
		out, err := handler(ctx, &x.call)
		if err != nil {
			return nil, x.problem(err)
		}
		return out, nil
	})
	if body != nil {
		r.describeBody(row, body)
	}
}

func (r *registrar) row(id string) (Route, bool) {
	row, ok := r.rows[id]
	if !ok {
		r.errs = append(r.errs, fmt.Errorf("httpapi: operation %s has no row in the route table", id))
	}
	return row, ok
}

// describeBody documents a request body. huma must not know of it while
// registering, or it would read and check the body again, less strictly.
func (r *registrar) describeBody(row Route, body any) {
	schema := r.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(body), true, "")
	r.described(row).RequestBody = &huma.RequestBody{
		Required: row.Body == BodyRequired,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

// described is what the document says about a row so far.
func (r *registrar) described(row Route) *huma.Operation {
	item := r.huma.OpenAPI().Paths[row.Path]
	switch row.Method {
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	case http.MethodPatch:
		return item.Patch
	case http.MethodDelete:
		return item.Delete
	default:
		return item.Get
	}
}

// also documents a second status with the same body as the first.
func (r *registrar) also(id string, status int, description string) {
	row, ok := r.row(id)
	if !ok {
		return
	}
	op := r.described(row)
	first := op.Responses[strconv.Itoa(max(row.Success, http.StatusOK))]
	op.Responses[strconv.Itoa(status)] = &huma.Response{Description: description, Content: first.Content}
}

// operation is what the document says about a row before its answer is known.
func (r *registrar) operation(row Route) huma.Operation {
	op := huma.Operation{
		OperationID: row.ID, Method: row.Method, Path: row.Path, Summary: row.Summary, Tags: []string{row.Tag},
		DefaultStatus:      row.Success,
		SkipValidateParams: true, SkipValidateBody: true,
		Responses: map[string]*huma.Response{},
	}
	if row.Chat {
		op.Security = []map[string][]string{{securityScheme: {}}}
		op.Description = "Needs a token of an allowed organisation, and no scope."
	} else if !row.Public() {
		op.Security = []map[string][]string{}
		for _, scope := range row.Scopes {
			op.Security = append(op.Security, map[string][]string{securityScheme: {scope}})
		}
		op.Description = "Needs the scope " + strings.Join(row.Scopes, " or ") + "."
	}
	for _, p := range row.Query {
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.Name, In: "query", Description: p.Doc, Schema: p.schema()})
	}
	if row.keyed() {
		op.Parameters = append(op.Parameters, keyParams("24 hours")...)
	}
	if row.Keyed {
		op.Parameters = append(op.Parameters, keyParams("an hour")...)
	}
	problems := r.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem](), true, "")
	for _, status := range row.statuses() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{problemType: {Schema: problems}},
		}
	}
	return op
}

// statuses lists the errors that a row can answer with.
func (r Route) statuses() []int {
	out := append([]int{http.StatusBadRequest, http.StatusInternalServerError}, r.Errors...)
	if !r.Public() {
		out = append(out, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	}
	if r.Noun != "" {
		out = append(out, http.StatusNotFound)
	}
	if r.Body != BodyNone {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.keyed() {
		out = append(out, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	return out
}

func (p Param) schema() *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	switch p.Format {
	case "integer":
		low, high := 1.0, float64(maxLimit)
		s = &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high, Default: defaultLimit}
	case "uuid", "date-time":
		s.Format = p.Format
	case "":
		if len(p.Enum) == 0 {
			low, high := 1, maxIdentifier
			s.MinLength, s.MaxLength = &low, &high
		}
	}
	for _, word := range p.Enum {
		s.Enum = append(s.Enum, word)
	}
	return s
}

func pathParams(row Route) []*huma.Param {
	switch {
	case row.Chat:
		return chatPathParams(row)
	case row.Camel:
		return runPathParams(row)
	case strings.Contains(row.Path, "{id}"):
		return []*huma.Param{{Name: "id", In: "path", Required: true, Description: "Id of the " + row.Noun, Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"}}}
	case strings.Contains(row.Path, "{name}"):
		return []*huma.Param{{Name: "name", In: "path", Required: true, Description: "Name of the " + row.Noun, Schema: &huma.Schema{Type: huma.TypeString}}}
	case strings.Contains(row.Path, "{asset}"):
		return []*huma.Param{{Name: "asset", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return nil
}

const securityScheme = "bearer"

func document(version string) *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Rondo API", Version: version,
			Description: "Cases: event-driven workflows. Members without a value are null, never left out; problems leave out hint and errors. Times are RFC 3339 in UTC with microseconds. Lists are paged by an opaque cursor.",
		},
		Tags: docsTags(),
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				securityScheme: {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A token of the configured issuer. orchestrator:admin implies every scope."},
			},
		},
	}
}

// schemaName keeps the nouns of runs apart from those of cases: a plan is one of
// a case, a RunPlan one of a run.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.PkgPath() == reflect.TypeFor[runs.Plan]().PkgPath() {
		return "Run" + name
	}
	return name
}

// finish checks that table and handlers match and returns the document.
func (r *registrar) finish() ([]byte, error) {
	for _, row := range r.api.Routes() {
		if !r.served[row.Pattern()] {
			r.errs = append(r.errs, fmt.Errorf("httpapi: row %s has no handler", row.Pattern()))
		}
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	r.describeReplays()
	if err := r.addExamples(); err != nil {
		return nil, err
	}
	// huma describes its own error type with every operation; ours are problems.
	schemas := r.huma.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	raw, err := json.Marshal(r.huma.OpenAPI())
	return raw, rondo.Op("write the OpenAPI document", err)
}
