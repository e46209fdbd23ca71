// Package llm asks models behind an OpenAI-compatible chat completions API as skills.
//
// # Guarantees beside those of the port
//
//  1. A key goes only to hosts that the operator named for it, and shows up in no
//     error.
//  2. Servers that the operator did not name himself are reached through package
//     guard.
//  3. With response_format json or json_schema, data is JSON that keeps to the schema,
//     or the attempt has failed.
//
// It imports the standard library, the root package, the skill port and
// internal/guard.
package llm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/schema"
	"github.com/rondo-engine/rondo/skill/internal/spec"
	"github.com/rondo-engine/rondo/skill/internal/text"
)

// Options are the operator's.
type Options struct {
	// BaseURL is of configurations that name none. Default https://api.openai.com/v1.
	BaseURL string
	// Model is of configurations that name none. Default: they must.
	Model string
	// KeyEnv is the variable with the key of BaseURL. Default OPENAI_API_KEY.
	KeyEnv string
	// Trusted are base URLs, BaseURL among them, that need no guard: the operator chose
	// them.
	Trusted []string
	// Client reaches all other servers. Required.
	Client *guard.Client
	// Plain reaches trusted servers. Default: a client without redirects.
	Plain *http.Client
	// Secret returns the value of an environment variable for a host; ok is false when
	// that host may not have it. Default: no host has any.
	Secret func(name, host string) (value string, ok bool)
	Limits skill.Limits
}

// Config is a skill of type llm as a file declares it.
type Config struct {
	BaseURL string `json:"base_url"`
	Model   string `json:"model"`
	// APIKeyEnv names the environment variable with the key.
	APIKeyEnv string `json:"api_key_env"`
	System    string `json:"system"` // a template
	// Prompt is a template. Default: the input's member prompt, else all of it as JSON.
	Prompt      string   `json:"prompt"`
	Temperature *float64 `json:"temperature"`
	MaxTokens   int      `json:"max_tokens"`
	Seed        *int64   `json:"seed"`
	// ResponseFormat is text (default), json or json_schema.
	ResponseFormat string          `json:"response_format"`
	Schema         json.RawMessage `json:"schema"` // of json_schema
	Price          Price           `json:"price"`
}

// Price is what a million tokens cost, in the currency of your choice.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Skill asks one model. It is safe for concurrent use.
type Skill struct {
	cfg  Config
	opts Options
	url  *url.URL
	// operators says that url is the operator's own, however it is written.
	operators bool
	client    *http.Client
	system    *text.Template // nil = none
	prompt    *text.Template // nil = from the input
	schema    *schema.Schema // nil = none
}

var _ skill.Skill = (*Skill)(nil)

const defaultBase = "https://api.openai.com/v1"

// New reads a configuration strictly; it asks nobody. Its errors are CodeInvalidDef.
func New(raw json.RawMessage, opts Options) (*Skill, error) {
	s := &Skill{opts: opts}
	s.opts.Limits = opts.Limits.Or()
	if s.opts.Secret == nil {
		s.opts.Secret = func(string, string) (string, bool) { return "", false }
	}
	if s.opts.BaseURL == "" {
		s.opts.BaseURL = defaultBase
	}
	if s.opts.KeyEnv == "" {
		s.opts.KeyEnv = "OPENAI_API_KEY"
	}
	var problems spec.Problems
	if !spec.Decode(raw, &s.cfg, &problems) {
		return nil, problems.Err("llm")
	}
	if s.cfg.Model == "" {
		s.cfg.Model = opts.Model
	}
	if s.cfg.Model == "" {
		problems.Add("/model", "required", "name a model that the API offers")
	}
	if t := s.cfg.Temperature; t != nil && (*t < 0 || *t > 2) {
		problems.Add("/temperature", "range", "temperature is 0 to 2")
	}
	if s.cfg.MaxTokens < 0 {
		problems.Add("/max_tokens", "range", "max_tokens is not negative")
	}
	if s.cfg.Price.Input < 0 || s.cfg.Price.Output < 0 {
		problems.Add("/price", "range", "a price is not negative")
	}
	s.address(&problems)
	s.compile(&problems)
	if err := problems.Err("llm"); err != nil {
		return nil, err
	}
	return s, nil
}

// address finds out whom to ask, and how.
func (s *Skill) address(problems *spec.Problems) {
	base := s.cfg.BaseURL
	if base == "" {
		base = s.opts.BaseURL
	}
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		problems.Add("/base_url", "format", "write it like "+defaultBase)
		return
	}
	s.url = parsed.JoinPath("chat", "completions")
	plain := normal(base)
	s.operators = plain == normal(s.opts.BaseURL)
	if s.operators && s.cfg.APIKeyEnv == "" {
		s.cfg.APIKeyEnv = s.opts.KeyEnv
	}
	if s.operators || slices.ContainsFunc(s.opts.Trusted, func(trusted string) bool { return normal(trusted) == plain }) {
		s.client = s.plain()
		return
	}
	s.client = s.opts.Client.HTTP
	if err := s.opts.Client.Check(parsed); err != nil {
		problems.Add("/base_url", "forbidden", err.Error())
	}
}

// plain is a client that reaches what the operator chose.
func (s *Skill) plain() *http.Client {
	client := http.Client{}
	if s.opts.Plain != nil {
		client = *s.opts.Plain
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

func (s *Skill) compile(problems *spec.Problems) {
	var err error
	if s.cfg.System != "" {
		if s.system, err = text.Parse("system", s.cfg.System); err != nil {
			problems.Add("/system", "format", err.Error())
		}
	}
	if s.cfg.Prompt != "" {
		if s.prompt, err = text.Parse("prompt", s.cfg.Prompt); err != nil {
			problems.Add("/prompt", "format", err.Error())
		}
	}
	switch s.cfg.ResponseFormat {
	case "", "text", "json":
		if len(s.cfg.Schema) > 0 {
			problems.Add("/schema", "conflict", "a schema needs response_format: json_schema")
		}
	case "json_schema":
		if len(s.cfg.Schema) == 0 {
			problems.Add("/schema", "required", "json_schema needs a schema")
		} else if s.schema, err = schema.Compile(s.cfg.Schema); err != nil {
			problems.Add("/schema", "format", err.Error())
		}
	default:
		problems.Add("/response_format", "enum", "response_format is text, json or json_schema")
	}
}
