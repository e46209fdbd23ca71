package auth

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Validate refuses a configuration that must not listen on the address: an
// incomplete one, and authentication turned off where other machines can reach
// it, unless AllowInsecure says that this is meant.
func Validate(listenAddr string, cfg Config) error {
	if !cfg.Off {
		return cfg.check()
	}
	if cfg.AllowInsecure || loopbackAddr(listenAddr) {
		return nil
	}
	return &rondo.Error{
		Code:    rondo.CodeInvalid,
		Op:      "check authentication",
		Message: fmt.Sprintf("authentication is off and %q can be reached from other machines", listenAddr),
		Hint:    "listen on 127.0.0.1, turn authentication on, or allow insecure access explicitly",
	}
}

func (c Config) check() error {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if c.Issuer == "" {
		add("the issuer is missing")
	}
	if len(c.Audience) == 0 {
		add("the audience is missing")
	}
	for _, a := range c.Audience {
		if a == "" {
			add("an audience is empty")
		}
	}
	if c.Skew > maxSkew {
		add("the clock skew %v is over %v", c.Skew, maxSkew)
	}
	switch {
	case c.JWKSURL != "":
		if !webURL(c.JWKSURL) {
			add("the key URL is not an http or https URL")
		}
	case strings.Contains(c.Issuer, tenantPlaceholder):
		add("an issuer with %s needs an explicit key URL", tenantPlaceholder)
	case c.Issuer != "" && !webURL(c.Issuer):
		add("the issuer is not an http or https URL, so it needs an explicit key URL")
	}
	for _, tenant := range c.Tenants {
		if !identifier(tenant) {
			add("an allowed tenant is empty, longer than %d bytes or has control characters", maxIdentifier)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &rondo.Error{
		Code:    rondo.CodeInvalid,
		Op:      "check authentication",
		Message: strings.Join(wrong, "; "),
		Hint:    "give issuer and audience of the tokens to accept, or turn authentication off for a local trial",
	}
}

func webURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// loopbackAddr reports whether only this machine can reach a listen address.
// An address without a host listens everywhere.
func loopbackAddr(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && loopbackHost(host)
}

func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
