// Package client calls the REST API of a Rondo server.
//
// # Guarantees
//
//  1. Every error is a *rondo.Error: an answer that is a problem keeps its code,
//     hint and fields; a server that cannot be reached is CodeUnavailable.
//  2. The token is sent to the server of Config.BaseURL and nowhere else:
//     redirects are not followed.
//  3. Answers are bounded, and a call ends when its context does.
//
// Calls that have no method of their own go through Do. A Client is safe for
// concurrent use. The package imports the standard library and the root package
// only.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// Config is what a client needs. Only BaseURL is required.
type Config struct {
	// BaseURL is where the server is, such as http://127.0.0.1:3006.
	BaseURL string
	// Token is the bearer token. Default: none is sent.
	Token string
	// OrgID is the organisation to act for; only an admin may name another than
	// their own. Default: that of the token.
	OrgID string
	// HTTP sends the requests. Default: a client that gives up after a minute.
	// Its redirect policy is not used.
	HTTP *http.Client
}

// Client calls one server. Make one with New.
type Client struct {
	base  *url.URL
	token string
	org   string
	http  *http.Client
}

// maxAnswer bounds one answer.
const maxAnswer = 64 << 20

// New makes a client. It does no I/O.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "new client", Message: "the address of the server is not an http or https URL",
			Hint: "use for example http://127.0.0.1:3006",
		}
	}
	sender := http.Client{Timeout: time.Minute}
	if cfg.HTTP != nil {
		sender = *cfg.HTTP
	}
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: cfg.Token, org: cfg.OrgID, http: &sender}, nil
}

// Call is one request.
type Call struct {
	Method string      // default GET
	Path   string      // such as /workflow-definitions
	Query  url.Values  // nil = none
	Header http.Header // beyond those that every call has; nil = none
	Body   any         // sent as JSON; nil = none
	Global bool        // the route is the same for every organisation: Config.OrgID is not sent
}

// Answer is what came back, apart from the body that Do decodes.
type Answer struct {
	Status int
	Header http.Header
}

// Do sends a call and decodes the JSON of a good answer into out. Out may be nil,
// for answers that do not matter, a *[]byte, for answers that are kept as they
// are, or anything that encoding/json can fill.
func (c *Client) Do(ctx context.Context, call Call, out any) (Answer, error) {
	op := call.op()
	request, err := c.request(ctx, call)
	if err != nil {
		return Answer{}, &rondo.Error{Code: rondo.CodeInvalid, Op: op, Message: "the request cannot be made", Err: err}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, c.unreachable(op, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it matters
	answer := Answer{Status: response.StatusCode, Header: response.Header}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer, c.unreachable(op, err)
	case len(raw) > maxAnswer:
		return answer, &rondo.Error{Code: rondo.CodeTooLarge, Op: op, Message: "the answer is larger than 64 MiB", Hint: "ask for less"}
	case response.StatusCode < 200 || response.StatusCode > 299:
		return answer, problemIn(op, response, raw)
	}
	switch out := out.(type) {
	case nil:
		return answer, nil
	case *[]byte:
		*out = raw
		return answer, nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return answer, &rondo.Error{
			Code: rondo.CodeInternal, Op: op, Message: "the answer is not what was expected",
			Hint: "check that the address is that of a Rondo server of this version", Err: err,
		}
	}
	return answer, nil
}

func (call Call) op() string {
	if call.Method == "" {
		return http.MethodGet + " " + call.Path
	}
	return call.Method + " " + call.Path
}

func (c *Client) request(ctx context.Context, call Call) (*http.Request, error) {
	var body io.Reader
	if call.Body != nil {
		raw, err := json.Marshal(call.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	query := url.Values{}
	maps.Copy(query, call.Query)
	if c.org != "" && !call.Global && !query.Has("org_id") {
		query.Set("org_id", c.org)
	}
	target := c.base.String() + call.Path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, target, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, call.Header)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

func (c *Client) unreachable(op string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the whole address
		err = wrapped.Err
	}
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: c.base.Redacted() + " does not answer",
		Hint: "check the address, and that the server runs", Err: err,
	}
}

// problemIn is the error that an answer tells of.
func problemIn(op string, response *http.Response, raw []byte) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	told, ok := readProblem(op, raw)
	if kind != "application/problem+json" || !ok {
		code := rondo.CodeInternal
		if response.StatusCode >= 500 {
			code = rondo.CodeUnavailable
		}
		return &rondo.Error{
			Code: code, Op: op, Message: "the answer is " + response.Status + " and not from a Rondo server",
			Hint: "check the address, and what stands between you and the server",
		}
	}
	return told
}

// readProblem reads a problem; ok is false when it is none.
func readProblem(op string, raw []byte) (told *rondo.Error, ok bool) {
	var problem struct {
		Code   rondo.Code         `json:"code"`
		Detail string             `json:"detail"`
		Hint   string             `json:"hint"`
		Errors []rondo.FieldError `json:"errors"`
	}
	if json.Unmarshal(raw, &problem) != nil || problem.Code == "" {
		return nil, false //nolint:nilerr // it is no problem then, and ok says so
	}
	return &rondo.Error{Code: problem.Code, Op: op, Message: problem.Detail, Hint: problem.Hint, Fields: problem.Errors}, true
}
