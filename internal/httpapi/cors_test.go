package httpapi_test

import (
	"testing"

	"github.com/rondo-engine/rondo/internal/httpapi"
)

func TestPagesOfConfiguredOriginsMayCall(t *testing.T) {
	t.Parallel()
	standard := newBench(t)
	own := newBench(t, func(c *httpapi.Config) {
		c.CORSOrigins = []string{"https://chat.example", "https://other.example:8443"}
	})
	closed := newBench(t, func(c *httpapi.Config) { c.CORSOrigins = []string{} })
	for name, test := range map[string]struct {
		on      *bench
		origin  string
		allowed bool
	}{
		"the default":             {standard, "http://localhost:5173", true},
		"another port":            {standard, "http://localhost:5174", false},
		"another scheme":          {standard, "https://localhost:5173", false},
		"a longer one":            {standard, "http://localhost:5173.evil.example", false},
		"null":                    {standard, "null", false},
		"none":                    {standard, "", false},
		"one of its own":          {own, "https://other.example:8443", true},
		"the default, not listed": {own, "http://localhost:5173", false},
		"nobody":                  {closed, "http://localhost:5173", false},
	} {
		want := ""
		if test.allowed {
			want = test.origin
		}
		answer := test.on.do("POST", "/api/chat/send", sendBody, "Origin", test.origin)
		h := answer.Header()
		exposed := h.Get("Access-Control-Expose-Headers") == "ETag, Location, Retry-After, Idempotent-Replayed, X-Idempotency-Cache-Hit"
		if answer.Code != 200 || h.Get("Access-Control-Allow-Origin") != want || exposed != test.allowed || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", name, answer.Code, h)
		}
		asked := test.on.do("OPTIONS", "/api/chat/send", "", "Origin", test.origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
		h = asked.Header()
		if !test.allowed {
			if asked.Code != 405 || h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Methods") != "" {
				t.Errorf("%s: asked beforehand: %d %v", name, asked.Code, h)
			}
			continue
		}
		if asked.Code != 204 || h.Get("Access-Control-Allow-Origin") != want || h.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST, PUT, PATCH, DELETE" ||
			h.Get("Access-Control-Allow-Headers") != "Content-Type, Authorization, Idempotency-Key, X-Idempotency-Key, If-Match, Last-Event-ID, traceparent" {
			t.Errorf("%s: asked beforehand: %d %v", name, asked.Code, h)
		}
	}
	// Problems can be read, too: a page must be able to say that a token has expired.
	verifier, _ := tokenBench(t)
	if rec := verifier.do("POST", "/api/chat/start", "", "Origin", "http://localhost:5173"); rec.Code != 401 || rec.Header().Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a refusal: %d %v", rec.Code, rec.Header())
	}
}

func TestWhatIsNoOriginIsRefused(t *testing.T) {
	t.Parallel()
	var whole httpapi.Config
	newBench(t, func(c *httpapi.Config) { whole = *c })
	for _, origin := range []string{"*", "", "null", "localhost:5173", "https://a.example/", "https://a.example/x", "ftp://a.example", "https://*.a.example/", "https://u@a.example"} {
		cfg := whole
		cfg.CORSOrigins = []string{origin}
		if _, err := httpapi.New(cfg); err == nil {
			t.Errorf("%q is taken for an origin", origin)
		}
	}
}
