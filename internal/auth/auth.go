// Package auth says who is calling: it turns an HTTP request into a principal
// {tenant, user, scopes}, or refuses.
//
// # Guarantees
//
//  1. A token counts only when its signature verifies with a key that the
//     issuer publishes, under an algorithm that fits the type of that key.
//     Symmetric algorithms and "none" are never accepted; jku, x5u, jwk and x5c
//     in a token's header are never looked at.
//  2. iss, aud, exp and nbf are checked after the signature, with at most 60
//     seconds of clock skew. exp is required.
//  3. The tenant comes from a signed claim and must be on the allow-list; an
//     empty list lets nobody in.
//  4. When the issuer cannot be reached, known keys serve for at most 24 hours;
//     after that, and before the first fetch, every token is refused. Tokens with
//     unknown keys cause at most one fetch in 30 seconds.
//  5. Errors never contain any part of a token.
//
// It imports the root package and the JOSE library, starts no goroutine, and
// does no I/O before the first call of Authenticate.
package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
)

// Authenticator finds out who is calling. Its errors are *rondo.Error with one of
// the codes below, or rondo.CodeUnavailable when the issuer's keys cannot be had.
type Authenticator interface {
	Authenticate(r *http.Request) (rondo.Principal, error)
}

// Why a caller is refused. TenantNotAllowed is a refusal of someone known (403);
// the others say that the caller is not known (401).
const (
	CodeTokenMissing     rondo.Code = "token_missing"
	CodeTokenInvalid     rondo.Code = "token_invalid"
	CodeTokenExpired     rondo.Code = "token_expired"
	CodeAudienceMismatch rondo.Code = "audience_mismatch"
	CodeIssuerMismatch   rondo.Code = "issuer_mismatch"
	CodeTenantNotAllowed rondo.Code = "tenant_not_allowed"
)

// Config says whom to trust. With the zero value authentication is on and
// incomplete: New refuses it until Issuer and Audience are given.
type Config struct {
	// Off gives every caller the stub principal (tenant demo, user local, every
	// scope). It is for trials on the own machine. Default false.
	Off bool
	// AllowInsecure permits Off on an address that other machines can reach, and
	// under any host name. Default false.
	AllowInsecure bool

	// Issuer is the exact iss of accepted tokens. "{tenantid}" in it stands for
	// the token's tenant. Required.
	Issuer string
	// Audience lists the accepted aud values; a token must have one of them.
	// Required.
	Audience []string
	// JWKSURL is where the issuer publishes its keys. Default: the jwks_uri of
	// Issuer's /.well-known/openid-configuration.
	JWKSURL string

	// Tenants is the allow-list, compared exactly. Default empty: nobody.
	Tenants []string
	// TenantClaims names the claims that may hold the tenant, the first one
	// present counts. Default org_id, tid.
	TenantClaims []string
	// UserClaims does the same for the user. Default oid, sub.
	UserClaims []string
	// ScopeClaims does the same for the scopes, each a string of words or a list
	// of strings. Default scope, scp, roles.
	ScopeClaims []string

	// Skew is how far clocks may be apart, at most 60 s. Default 60 s; negative
	// means none.
	Skew time.Duration
	// RefreshEvery is how long fetched keys count as fresh. Default 1 h.
	RefreshEvery time.Duration
	// Client fetches the keys. Default: a client with a timeout of 5 s that
	// follows no redirect.
	Client *http.Client
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

const (
	maxSkew        = 60 * time.Second
	defaultRefresh = time.Hour
	fetchTimeout   = 5 * time.Second
)

// New makes the authenticator that the configuration asks for.
func New(cfg Config) (Authenticator, error) {
	if cfg.Off {
		return Stub{AnyHost: cfg.AllowInsecure}, nil
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return newVerifier(cfg.withDefaults()), nil
}

func (c Config) withDefaults() Config {
	if len(c.TenantClaims) == 0 {
		c.TenantClaims = []string{"org_id", "tid"}
	}
	if len(c.UserClaims) == 0 {
		c.UserClaims = []string{"oid", "sub"}
	}
	if len(c.ScopeClaims) == 0 {
		c.ScopeClaims = []string{"scope", "scp", "roles"}
	}
	switch {
	case c.Skew == 0:
		c.Skew = maxSkew
	case c.Skew < 0:
		c.Skew = 0
	}
	if c.RefreshEvery <= 0 {
		c.RefreshEvery = defaultRefresh
	}
	if c.Client == nil {
		c.Client = &http.Client{
			Timeout:       fetchTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

type principalKey struct{}

// WithPrincipal returns a context that carries who is calling.
func WithPrincipal(ctx context.Context, p rondo.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns who is calling, if the context says.
func PrincipalFrom(ctx context.Context) (rondo.Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(rondo.Principal)
	return p, ok
}
