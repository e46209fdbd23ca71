package auth

import (
	"net"
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Stub lets everyone in as the local user of the demo tenant with every scope.
type Stub struct {
	// AnyHost accepts requests under any host name. Without it only loopback
	// names are served, so that a page of a foreign site which points its own
	// name at this machine cannot read it through a browser.
	AnyHost bool
}

var _ Authenticator = Stub{}

// Authenticate returns the stub principal.
func (s Stub) Authenticate(r *http.Request) (rondo.Principal, error) {
	if !s.AnyHost && !loopbackHost(hostOnly(r.Host)) {
		return rondo.Principal{}, &rondo.Error{
			Code:    CodeTokenMissing,
			Message: "authentication is off, and only loopback host names are served without it",
			Hint:    "call 127.0.0.1 or localhost, or turn authentication on",
		}
	}
	return StubPrincipal(), nil
}

// StubPrincipal is who everyone is while authentication is off.
func StubPrincipal() rondo.Principal {
	return rondo.Principal{Tenant: "demo", User: "local", Scopes: AllScopes()}
}

// AllScopes lists every scope of Rondo.
func AllScopes() []string {
	return []string{
		rondo.ScopeRead, rondo.ScopeReadInstances, rondo.ScopeWrite, rondo.ScopePublish,
		rondo.ScopeIntervene, rondo.ScopeEvents, rondo.ScopeAdmin,
		rondo.ScopeRunsRead, rondo.ScopeRunsWrite, rondo.ScopeRunsAdmin,
	}
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
