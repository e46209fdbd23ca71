package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
)

// call is a request that has passed the guard.
type call struct {
	principal rondo.Principal // Tenant is the organisation to act for
	id        rondo.ID        // of the path; zero = the route has none
	name      string          // of the path; "" = the route has none
	chat      chatCall        // of the chat API only
	run       runCall         // of the run API only
	header    http.Header     // as it came
	query     url.Values      // checked against the row
	body      []byte          // strict JSON; nil = none
}

// guard lets a request through to its handler once the row's conditions hold:
// caller, scope, path, query, organisation, body, in this order.
func (a *API) guard(row Route, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		x.row = &row
		if err := a.admit(w, r, row, &x.call); err != nil {
			a.refuse(w, x, err)
			return
		}
		r = r.WithContext(auth.WithPrincipal(r.Context(), x.call.principal))
		if a.cfg.Answers != nil && row.keyed() && hasKey(r.Header) {
			a.once(w, r, x, next)
			return
		}
		next(w, r)
	}
}

func (a *API) admit(w http.ResponseWriter, r *http.Request, row Route, c *call) error {
	if !row.Public() {
		principal, err := a.cfg.Auth.Authenticate(r)
		if err != nil {
			return err
		}
		c.principal = principal
		if !row.Chat && !slices.ContainsFunc(row.Scopes, principal.Can) {
			return &rondo.Error{
				Code: rondo.CodeForbidden, Message: "the token lacks a scope that this needs",
				Hint: "get a token with " + strings.Join(row.Scopes, " or "),
			}
		}
	}
	c.header, c.name = r.Header, r.PathValue("name")
	query, bad := readQuery(r.URL.RawQuery, row.Query)
	if bad != nil {
		return bad
	}
	c.query = query
	if err := c.actFor(row); err != nil {
		return err
	}
	if row.Chat {
		if err := c.readChat(r, row); err != nil {
			return err
		}
	} else if strings.Contains(row.Path, "{id}") {
		id, err := rondo.ParseID(r.PathValue("id"))
		if err != nil || id.IsZero() {
			return rondo.NotFound(row.Noun) // what cannot be an id is an id that nobody has
		}
		c.id = id
	}
	if row.Camel {
		if err := c.readRunPath(r, row); err != nil {
			return err
		}
	} else if strings.Contains(row.Path, "{name}") && !identifier(c.name) {
		return rondo.NotFound(row.Noun)
	}
	body, err := readBody(w, r, row)
	c.body = body
	return err
}

// actFor puts the organisation that an admin names in the place of their own.
func (c *call) actFor(row Route) error {
	org := c.query.Get("org_id")
	if !row.takes("org_id") || org == "" || org == c.principal.Tenant {
		return nil
	}
	if !c.principal.Admin() {
		return &rondo.Error{
			Code: rondo.CodeForbidden, Message: "only an admin may act for another organisation",
			Hint: "leave org_id out",
		}
	}
	c.principal.Tenant = org
	return nil
}

// refuse answers an error outside huma.
func (a *API) refuse(w http.ResponseWriter, x *exchange, err error) {
	p := x.problem(err)
	p.write(w)
}

// problem is what the caller is told of an error; its cause is kept for the log.
func (x *exchange) problem(err error) *problem {
	noun := ""
	if x.row != nil {
		noun = x.row.Noun
	}
	p := problemOf(err, noun, x.requestID)
	if x.chat {
		p.forOlderClients()
	}
	if p.Status >= http.StatusInternalServerError {
		x.failure = err
	}
	return p
}

// noRoute says that a path leads nowhere.
func (x *exchange) noRoute() *problem {
	p := problemOf(rondo.NotFound(""), "route", x.requestID)
	if x.chat {
		p.forOlderClients()
	}
	return p
}

// unrouted answers requests that match no route, or a route by another method.
func (a *API) unrouted(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	x := exchangeOf(r.Context())
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := mux.Handler(probe); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		x.noRoute().write(w)
		return
	}
	p := x.problem(&rondo.Error{
		Code: codeMethodNotAllowed, Message: "this route does not have the method",
		Hint: "use " + strings.Join(allowed, " or "),
	})
	p.header.Set("Allow", strings.Join(allowed, ", "))
	p.write(w)
}
