package llm

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/rondo-engine/rondo/skill/internal/answer"
	"github.com/rondo-engine/rondo/skill/internal/spec"
)

// Effective is a configuration with the operator's model and base URL where it names
// none: with another model the answer is another one. It has no secrets. What cannot
// be read stays as it is.
func Effective(raw json.RawMessage, opts Options) json.RawMessage {
	var cfg Config
	var problems spec.Problems
	if !spec.Decode(raw, &cfg, &problems) {
		return raw
	}
	members := map[string]json.RawMessage{}
	if len(raw) > 0 && string(raw) != "null" && json.Unmarshal(raw, &members) != nil {
		return raw
	}
	fill := func(name, written, operators string) {
		if written != "" || operators == "" {
			return
		}
		if quoted, err := answer.Quote(operators); err == nil {
			members[name] = quoted
		}
	}
	fill("model", cfg.Model, opts.Model)
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBase
	}
	fill("base_url", cfg.BaseURL, normal(opts.BaseURL))
	filled, err := answer.Quote(members)
	if err != nil {
		return raw
	}
	return filled
}

// normal is an address in the one way to write it: the scheme and the host in lower
// case, without the port that the scheme has anyway and without slashes at the end.
func normal(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u.String()
}
