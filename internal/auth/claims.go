package auth

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rondo-engine/rondo"
)

const (
	maxIdentifier     = 128
	maxScopes         = 200
	tenantPlaceholder = "{tenantid}"
)

// principal checks the claims of a verified token and says who it is.
func (v *verifier) principal(claims map[string]jsontext.Value) (rondo.Principal, error) {
	none := rondo.Principal{}
	tenant, err := v.identity(claims, v.cfg.TenantClaims, "tenant")
	if err != nil {
		return none, err
	}
	if err := v.checkIssuer(claims, tenant); err != nil {
		return none, err
	}
	if err := v.checkAudience(claims); err != nil {
		return none, err
	}
	if err := v.checkTimes(claims); err != nil {
		return none, err
	}
	user, err := v.identity(claims, v.cfg.UserClaims, "user")
	if err != nil {
		return none, err
	}
	scopes, err := v.scopes(claims)
	if err != nil {
		return none, err
	}
	if tenant == "" || user == "" {
		return none, invalid("it lacks a claim that names the tenant or the user")
	}
	if !v.tenants[tenant] {
		return none, &rondo.Error{
			Code:    CodeTenantNotAllowed,
			Message: "the tenant of the token may not use this server",
			Hint:    "ask the operator to add the tenant to the allow-list",
		}
	}
	return rondo.Principal{Tenant: tenant, User: user, Scopes: scopes}, nil
}

func (v *verifier) checkIssuer(claims map[string]jsontext.Value, tenant string) error {
	want := strings.ReplaceAll(v.cfg.Issuer, tenantPlaceholder, tenant)
	if iss, ok := text(claims["iss"]); !ok || iss != want {
		return &rondo.Error{
			Code:    CodeIssuerMismatch,
			Message: "the token comes from another issuer",
			Hint:    "get a token from the issuer that this server trusts",
		}
	}
	return nil
}

func (v *verifier) checkAudience(claims map[string]jsontext.Value) error {
	audience, ok := words(claims["aud"], false)
	if !ok || !slices.ContainsFunc(audience, func(a string) bool { return slices.Contains(v.cfg.Audience, a) }) {
		return &rondo.Error{
			Code:    CodeAudienceMismatch,
			Message: "the token is meant for another audience",
			Hint:    "ask the issuer for a token with this server's audience",
		}
	}
	return nil
}

func (v *verifier) checkTimes(claims map[string]jsontext.Value) error {
	now := v.cfg.Now()
	exp, ok := instant(claims["exp"])
	if !ok {
		return invalid("its exp claim is missing or not a time")
	}
	if !now.Before(exp.Add(v.cfg.Skew)) {
		return &rondo.Error{Code: CodeTokenExpired, Message: "the token has expired", Hint: "get a new token"}
	}
	if claims["nbf"] != nil {
		nbf, ok := instant(claims["nbf"])
		if !ok {
			return invalid("its nbf claim is not a time")
		}
		if now.Before(nbf.Add(-v.cfg.Skew)) {
			return invalid("it is not valid yet")
		}
	}
	return nil
}

// identity returns the first of the named claims that is there; "" when none is.
func (v *verifier) identity(claims map[string]jsontext.Value, names []string, what string) (string, error) {
	for _, name := range names {
		raw, there := claims[name]
		if !there {
			continue
		}
		s, ok := text(raw)
		if !ok || !identifier(s) {
			return "", invalid("the claim that names its " + what + " is not a string of 1 to 128 bytes without control characters")
		}
		return s, nil
	}
	return "", nil
}

// scopes returns the words of the first scope claim that is there. No claim
// means no scope.
func (v *verifier) scopes(claims map[string]jsontext.Value) ([]string, error) {
	for _, name := range v.cfg.ScopeClaims {
		raw, there := claims[name]
		if !there {
			continue
		}
		scopes, ok := words(raw, true)
		if !ok || len(scopes) > maxScopes {
			return nil, invalid("its scope claim is not a string or a list of at most 200 strings")
		}
		return scopes, nil
	}
	return nil, nil
}

// words reads a string or a list of strings; split takes a string apart at
// spaces. Members of a list are taken whole.
func words(raw jsontext.Value, split bool) ([]string, bool) {
	if s, ok := text(raw); ok {
		if split {
			return strings.Fields(s), true
		}
		return []string{s}, true
	}
	if raw.Kind() != '[' {
		return nil, false
	}
	var list []jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, ok := text(item)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func text(raw jsontext.Value) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// instant reads a NumericDate. Times beyond the year 9999 are refused, so that
// adding the skew cannot overflow.
func instant(raw jsontext.Value) (time.Time, bool) {
	if raw.Kind() != '0' {
		return time.Time{}, false
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil || seconds < 0 || seconds > 253402300799 {
		return time.Time{}, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), true
}

func identifier(s string) bool {
	return s != "" && len(s) <= maxIdentifier && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
