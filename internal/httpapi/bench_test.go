package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/auth/authtest"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/metrics"
)

// BenchmarkPublishEvent is what the edge adds to an event of about 1 KB: with
// the stub user, and with a signed token.
func BenchmarkPublishEvent(b *testing.B) {
	is := authtest.NewIssuer(b)
	verifier, err := auth.New(is.Config("acme"))
	if err != nil {
		b.Fatal(err)
	}
	body := `{"event_id":"01000000-0000-7000-8000-000000000004","event_type":"ai_review.completed","payload":{"text":"` + strings.Repeat("x", 800) + `"}}`
	for name, who := range map[string]auth.Authenticator{"stub": auth.Stub{AnyHost: true}, "token": verifier} {
		b.Run(name, func(b *testing.B) {
			engine := &fake{}
			api, err := httpapi.New(httpapi.Config{
				Cases: engine, Definitions: engine, Events: engine, Trials: engine, Jobs: engine, Retention: engine, Health: engine, Auth: who,
				Metrics: metrics.New(metrics.Options{}), Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			token := "Bearer " + is.Token("acme", "ann", auth.AllScopes())
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/events", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", token)
				rec := httptest.NewRecorder()
				api.ServeHTTP(rec, r)
				if rec.Code != 202 {
					b.Fatalf("status %d: %s", rec.Code, rec.Body)
				}
			}
		})
	}
}
