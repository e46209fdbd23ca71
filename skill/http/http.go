// Package http calls endpoints as skills, through a guarded client: URLs come from
// tenants.
//
// # Guarantees beside those of the port
//
//  1. What package guard promises: public addresses, allowed ports, no redirects, no
//     proxy.
//  2. Every attempt of a step carries the same Idempotency-Key, run/step.
//  3. Network trouble, 408, 425, 429 and 5xx may be tried again; every other refusal
//     is final.
//  4. A secret goes only to hosts that the operator named for it.
//
// It imports the standard library, the root package, the skill port and
// internal/guard.
package http

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/spec"
	"github.com/rondo-engine/rondo/skill/internal/text"
)

// Options are the operator's.
type Options struct {
	// Client sends the requests. Required.
	Client *guard.Client
	// Secret returns the value of an environment variable for a host; ok is false when
	// that host may not have it. Default: no host has any.
	Secret func(name, host string) (value string, ok bool)
	Limits skill.Limits
}

// Config is a skill of type http as a file declares it.
type Config struct {
	Method  string            `json:"method"`  // default POST
	URL     string            `json:"url"`     // a template; values in it are escaped
	Headers map[string]string `json:"headers"` // values are templates
	// Body is a template. Default: the input as JSON, nothing for GET, HEAD and DELETE.
	Body string `json:"body"`
	// BearerEnv names the environment variable whose value is sent as bearer token.
	BearerEnv string `json:"bearer_env"`
	// Output is how the answer is read: json (default) or text.
	Output string `json:"output"`
	// Artifact keeps the answer's body as a file instead.
	Artifact *Artifact `json:"artifact"`
}

// Artifact names a file.
type Artifact struct {
	Name string `json:"name"`
	Type string `json:"type"` // MIME; default: what the answer says
}

// Skill calls one endpoint. It is safe for concurrent use.
type Skill struct {
	cfg     Config
	opts    Options
	url     *text.Template
	headers map[string]*text.Template
	body    *text.Template // nil = the input, or nothing
}

var _ skill.Skill = (*Skill)(nil)

// Methods that have no body.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions}

var (
	methods = append([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, bodiless...)
	token   = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	// reserved headers are the client's own.
	reserved = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Idempotency-Key", "Proxy-Authorization", "Expect"}
)

// New reads a configuration strictly; it calls nothing. Its errors are
// CodeInvalidDef.
func New(raw json.RawMessage, opts Options) (*Skill, error) {
	s := &Skill{opts: opts, headers: map[string]*text.Template{}}
	s.opts.Limits = opts.Limits.Or()
	if s.opts.Secret == nil {
		s.opts.Secret = func(string, string) (string, bool) { return "", false }
	}
	var problems spec.Problems
	if !spec.Decode(raw, &s.cfg, &problems) {
		return nil, problems.Err("http")
	}
	if s.cfg.Method = strings.ToUpper(s.cfg.Method); s.cfg.Method == "" {
		s.cfg.Method = http.MethodPost
	}
	if !slices.Contains(methods, s.cfg.Method) {
		problems.Add("/method", "enum", "method is one of "+strings.Join(methods, ", "))
	}
	s.compile(&problems)
	if s.cfg.Body != "" && slices.Contains(bodiless, s.cfg.Method) {
		problems.Add("/body", "conflict", s.cfg.Method+" has no body: leave it out, or use POST")
	}
	if s.cfg.Output != "" && s.cfg.Output != "json" && s.cfg.Output != "text" {
		problems.Add("/output", "enum", "output is json or text")
	}
	if s.cfg.Artifact != nil && s.cfg.Artifact.Name == "" {
		problems.Add("/artifact/name", "required", "name the file")
	}
	if err := problems.Err("http"); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Skill) compile(problems *spec.Problems) {
	var err error
	if s.cfg.URL == "" {
		problems.Add("/url", "required", "name the endpoint, like https://api.example.org/render")
	} else if s.url, err = text.ParseURL("url", s.cfg.URL); err != nil {
		problems.Add("/url", "format", err.Error())
	}
	for name, value := range s.cfg.Headers {
		place := "/headers/" + name
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token.MatchString(name):
			problems.Add(place, "format", "this is not the name of a header")
		case slices.Contains(reserved, canonical):
			problems.Add(place, "reserved", "this header is set by Rondo")
		}
		parsed, err := text.Parse("header", value)
		if err != nil {
			problems.Add(place, "format", err.Error())
			continue
		}
		s.headers[canonical] = parsed
	}
	if s.cfg.Body != "" {
		if s.body, err = text.Parse("body", s.cfg.Body); err != nil {
			problems.Add("/body", "format", err.Error())
		}
	}
}
