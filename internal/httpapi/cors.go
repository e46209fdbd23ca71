package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// defaultOrigin is where the chat page is served while it is developed.
const defaultOrigin = "http://localhost:5173"

// What pages of other origins may send and see.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsHeaders = "Content-Type, Authorization, Idempotency-Key, X-Idempotency-Key, If-Match, Last-Event-ID, traceparent"
	corsExposed = "ETag, Location, Retry-After, Idempotent-Replayed, X-Idempotency-Cache-Hit"
	corsMaxAge  = "600"
)

// checkOrigins refuses what no browser sends as an origin: it would never match,
// and whoever wrote it means something else.
func checkOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("httpapi: %q is not an origin: use scheme://host[:port] without a path, such as %s", origin, defaultOrigin)
		}
	}
	return nil
}

// crossOrigin lets pages of the configured origins read answers, and reports
// whether the request was a browser's question beforehand, which is answered
// now. Origins are compared exactly and are never echoed otherwise; cookies play
// no part, so credentials are not allowed.
func (a *API) crossOrigin(w http.ResponseWriter, r *http.Request) (answered bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(a.cfg.CORSOrigins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
