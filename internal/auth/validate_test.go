package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/auth"
)

func TestValidateRefusesWhatMustNotListen(t *testing.T) {
	t.Parallel()
	good := auth.Config{Issuer: "https://id.example", Audience: []string{"rondo"}}
	with := func(change func(*auth.Config)) auth.Config { c := good; change(&c); return c }
	tests := map[string]struct {
		addr string
		cfg  auth.Config
		ok   bool
	}{
		"off on 127.0.0.1":           {"127.0.0.1:3006", auth.Config{Off: true}, true},
		"off on ::1":                 {"[::1]:3006", auth.Config{Off: true}, true},
		"off on localhost":           {"localhost:3006", auth.Config{Off: true}, true},
		"off everywhere":             {":3006", auth.Config{Off: true}, false},
		"off on 0.0.0.0":             {"0.0.0.0:3006", auth.Config{Off: true}, false},
		"off on ::":                  {"[::]:3006", auth.Config{Off: true}, false},
		"off on a private address":   {"192.168.1.4:3006", auth.Config{Off: true}, false},
		"off on another name":        {"rondo.example:3006", auth.Config{Off: true}, false},
		"off on nonsense":            {"127.0.0.1", auth.Config{Off: true}, false},
		"off everywhere by flag":     {":3006", auth.Config{Off: true, AllowInsecure: true}, true},
		"on everywhere":              {":3006", good, true},
		"zero value":                 {"127.0.0.1:3006", auth.Config{}, false},
		"no audience":                {":3006", with(func(c *auth.Config) { c.Audience = nil }), false},
		"empty audience":             {":3006", with(func(c *auth.Config) { c.Audience = []string{""} }), false},
		"no issuer":                  {":3006", with(func(c *auth.Config) { c.Issuer = "" }), false},
		"skew over a minute":         {":3006", with(func(c *auth.Config) { c.Skew = 61e9 }), false},
		"key URL of another scheme":  {":3006", with(func(c *auth.Config) { c.JWKSURL = "file:///etc/passwd" }), false},
		"templated issuer, no keys":  {":3006", with(func(c *auth.Config) { c.Issuer = "https://id.example/{tenantid}" }), false},
		"issuer not a URL, no keys":  {":3006", with(func(c *auth.Config) { c.Issuer = "rondo-local" }), false},
		"issuer not a URL, and keys": {":3006", with(func(c *auth.Config) { c.Issuer = "rondo-local"; c.JWKSURL = "https://id.example/keys" }), true},
		"empty tenant in the list":   {":3006", with(func(c *auth.Config) { c.Tenants = []string{""} }), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := auth.Validate(test.addr, test.cfg)
			if (err == nil) != test.ok {
				t.Errorf("got %v, want ok %v", err, test.ok)
			}
			if err != nil && rondo.CodeOf(err) != rondo.CodeInvalid {
				t.Errorf("code %s, want %s", rondo.CodeOf(err), rondo.CodeInvalid)
			}
			if _, err := auth.New(test.cfg); !test.cfg.Off && (err == nil) != test.ok {
				t.Errorf("New says %v, want ok %v", err, test.ok)
			}
		})
	}
}

func TestStubIsTheLocalUserOnLoopbackNamesOnly(t *testing.T) {
	t.Parallel()
	stub, err := auth.New(auth.Config{Off: true})
	if err != nil {
		t.Fatal(err)
	}
	want := rondo.Principal{Tenant: "demo", User: "local", Scopes: auth.AllScopes()}
	for _, host := range []string{"127.0.0.1:3006", "localhost:3006", "LOCALHOST", "[::1]:3006", "[::1]", "127.0.0.1"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		got, err := stub.Authenticate(r)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("host %s: %v (-want +got):\n%s", host, err, diff)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:3006", "127.0.0.1.evil.example", "", "0.0.0.0:3006"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		if got, err := stub.Authenticate(r); rondo.CodeOf(err) != auth.CodeTokenMissing {
			t.Errorf("host %q: got %+v, %v, want %s", host, got, err, auth.CodeTokenMissing)
		}
		if _, err := (auth.Stub{AnyHost: true}).Authenticate(r); err != nil {
			t.Errorf("host %q with AnyHost: %v", host, err)
		}
	}
}
