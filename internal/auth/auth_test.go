package auth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
)

func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	verifier := newVerifier(t, is.Config("acme"))
	forgeries := authtest.Forgeries(t, is, "acme", "ann")
	if len(forgeries) < 60 {
		t.Errorf("%d forgeries, want at least 60", len(forgeries))
	}
	names := map[string]bool{}
	for _, f := range forgeries {
		if names[f.Name] {
			t.Errorf("two forgeries are called %q", f.Name)
		}
		names[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			p, err := verifier.Authenticate(&http.Request{Header: f.Header})
			if rondo.CodeOf(err) != f.Code {
				t.Fatalf("got %+v and error %v, want code %s", p, err, f.Code)
			}
			if !cmp.Equal(p, rondo.Principal{}) {
				t.Errorf("a refused caller still got %+v", p)
			}
			for _, value := range f.Header["Authorization"] {
				if token := strings.TrimPrefix(value, "Bearer "); len(token) > 20 && strings.Contains(err.Error(), token[:20]) {
					t.Errorf("the error shows the token: %v", err)
				}
			}
		})
	}
}

func TestHonestTokensAreAccepted(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	honest := rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{"a", "b"}}
	token := func(change authtest.Claims) string {
		return "Bearer " + is.Token("acme", "ann", []string{"a", "b"}, change)
	}
	body := `{"iss":"` + is.URL + `","aud":"rondo-api","exp":4102444800,"org_id":"acme","sub":"ann","scope":"a b"}`
	tests := map[string]struct {
		authorization string
		want          rondo.Principal
	}{
		"RS256":                   {token(nil), honest},
		"PS256":                   {"Bearer " + authtest.PS256(is.RSA, `{"alg":"PS256","kid":"rsa"}`, body), honest},
		"ES256":                   {"Bearer " + authtest.ES256(is.EC, `{"alg":"ES256","kid":"ec"}`, body), honest},
		"EdDSA":                   {"Bearer " + authtest.EdDSA(is.Ed, `{"alg":"EdDSA","kid":"ed"}`, body), honest},
		"type of an access token": {"Bearer " + authtest.RS256(is.RSA, `{"alg":"RS256","kid":"rsa","typ":"at+jwt"}`, body), honest},
		"embedded key ignored":    {"Bearer " + authtest.RS256(is.RSA, `{"alg":"RS256","kid":"rsa","jku":"http://127.0.0.1:1/x","jwk":{"kty":"RSA"}}`, body), honest},
		"bearer in lower case":    {strings.Replace(token(nil), "Bearer", "bearer", 1), honest},
		"BEARER in upper case":    {strings.Replace(token(nil), "Bearer", "BEARER", 1), honest},
		"bEaReR and two spaces":   {strings.Replace(token(nil), "Bearer", "bEaReR ", 1), honest},
		"audience in a list":      {token(authtest.Claims{"aud": []string{"x", authtest.Audience}}), honest},
		"expired within the skew": {token(authtest.Claims{"exp": is.Now().Add(-59 * time.Second).Unix()}), honest},
		"nbf within the skew":     {token(authtest.Claims{"nbf": is.Now().Add(60 * time.Second).Unix()}), honest},
		"nbf missing":             {token(authtest.Claims{"nbf": nil}), honest},
		"fractional exp":          {token(authtest.Claims{"exp": float64(is.Now().Unix()) + 0.5}), honest},
		"tenant from tid":         {token(authtest.Claims{"org_id": nil, "tid": "acme"}), honest},
		"user from oid first":     {token(authtest.Claims{"oid": "object-1"}), rondo.Principal{Tenant: "acme", User: "object-1", Scopes: []string{"a", "b"}}},
		"scopes from scp string":  {token(authtest.Claims{"scope": nil, "scp": "c d"}), rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{"c", "d"}}},
		"scopes from scp list":    {token(authtest.Claims{"scope": nil, "scp": []string{"c", "d"}}), rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{"c", "d"}}},
		"scopes from roles":       {token(authtest.Claims{"scope": nil, "roles": []string{"e"}}), rondo.Principal{Tenant: "acme", User: "ann", Scopes: []string{"e"}}},
		"scope before roles":      {token(authtest.Claims{"roles": []string{rondo.ScopeAdmin}}), honest},
		"no scope claim":          {token(authtest.Claims{"scope": nil}), rondo.Principal{Tenant: "acme", User: "ann"}},
	}
	verifier := newVerifier(t, is.Config("acme", "beta"))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := verifier.Authenticate(request(test.authorization))
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClaimNamesAreConfigurable(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	cfg := is.Config("acme")
	cfg.TenantClaims, cfg.UserClaims, cfg.ScopeClaims = []string{"https://x/tenant"}, []string{"email"}, []string{"permissions"}
	verifier := newVerifier(t, cfg)
	got, err := verifier.Authenticate(request("Bearer " + is.Token("ignored", "ignored", []string{"ignored"},
		authtest.Claims{"https://x/tenant": "acme", "email": "ann@x", "permissions": []string{"p"}})))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rondo.Principal{Tenant: "acme", User: "ann@x", Scopes: []string{"p"}}, got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
}

func TestEmptyAllowListLetsNobodyIn(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	_, err := newVerifier(t, is.Config()).Authenticate(request("Bearer " + is.Token("acme", "ann", nil)))
	if rondo.CodeOf(err) != auth.CodeTenantNotAllowed {
		t.Errorf("got %v, want %s", err, auth.CodeTenantNotAllowed)
	}
}

func TestIssuerCanNameTheTenant(t *testing.T) {
	t.Parallel()
	is := authtest.NewIssuer(t)
	cfg := is.Config("acme", "beta")
	cfg.Issuer = "https://login.example/{tenantid}/v2.0"
	verifier := newVerifier(t, cfg)
	own := is.Token("acme", "ann", nil, authtest.Claims{"iss": "https://login.example/acme/v2.0"})
	if _, err := verifier.Authenticate(request("Bearer " + own)); err != nil {
		t.Errorf("the tenant's own issuer is refused: %v", err)
	}
	foreign := is.Token("beta", "ann", nil, authtest.Claims{"iss": "https://login.example/acme/v2.0"})
	if _, err := verifier.Authenticate(request("Bearer " + foreign)); rondo.CodeOf(err) != auth.CodeIssuerMismatch {
		t.Errorf("got %v, want %s", err, auth.CodeIssuerMismatch)
	}
}

func newVerifier(t *testing.T, cfg auth.Config) auth.Authenticator {
	t.Helper()
	a, err := auth.New(cfg)
	if err != nil {
		t.Fatalf("make the authenticator: %v", err)
	}
	return a
}

func request(authorization string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {authorization}}}
}
