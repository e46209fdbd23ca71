package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// exchange is what is known about one request while it is answered. It belongs
// to the goroutine that answers.
type exchange struct {
	requestID   string
	traceparent string // "" = none
	row         *Route // nil until routed
	chat        bool   // the path is of the chat API
	call        call
	failure     error // what a 5xx was caused by, for the log
	keyFailure  error // why an answer could not be kept under its idempotency key
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// RequestID returns the id of the request that the context belongs to.
func RequestID(ctx context.Context) string { return exchangeOf(ctx).requestID }

// Traceparent returns the W3C trace context that came with the request; "" when
// there was none.
func Traceparent(ctx context.Context) string { return exchangeOf(ctx).traceparent }

// edge wraps the router with what every request gets: an id, safe headers, one
// log line, one count, and a problem instead of a crash.
func (a *API) edge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := a.cfg.Now()
		x := &exchange{requestID: a.requestID(r), traceparent: traceparentOf(r), chat: isChat(r.URL.Path)}
		rec := &recorder{ResponseWriter: w}
		setHeaders(rec.Header(), x)
		defer func() {
			cause := recover()
			whole := cause == nil || a.recovered(rec, x, cause)
			a.account(r, rec, x, a.cfg.Now().Sub(started))
			if !whole {
				panic(http.ErrAbortHandler)
			}
		}()
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		if r.URL.Path != cleanPath(r.URL.Path) {
			// The standard router would redirect; an API has one spelling per route.
			x.noRoute().write(rec)
			return
		}
		if a.crossOrigin(rec, r) {
			return
		}
		next.ServeHTTP(rec, r)
	})
}

func cleanPath(p string) string {
	if p == "" || p[0] != '/' {
		return ""
	}
	return path.Clean(p)
}

// crash is what is known of a panic.
func crash(cause any) *rondo.Error {
	return &rondo.Error{Code: rondo.CodeInternal, Op: "panic", Err: fmt.Errorf("%v\n%s", cause, debug.Stack())}
}

// recovered answers a crash and reports whether it could. An answer that has
// begun cannot be mended: the connection must be cut so that the client does
// not take it for whole.
func (a *API) recovered(rec *recorder, x *exchange, cause any) bool {
	if aborted(cause) { // whoever cut the connection said why, unless it was the client
		if x.failure != nil {
			rec.status = http.StatusInternalServerError
		}
		return false
	}
	// Whatever was thrown, even an error with a code of its own, is a defect.
	x.failure = crash(cause)
	if rec.status != 0 {
		rec.status = http.StatusInternalServerError
		return false
	}
	x.problem(x.failure).write(rec)
	return true
}

// account writes the access line and counts the answer. Neither holds anything
// of the payload, the query or the path but the route's pattern and an id.
func (a *API) account(r *http.Request, rec *recorder, x *exchange, took time.Duration) {
	route, level := "unknown", slog.LevelInfo
	if x.row != nil {
		route = x.row.Path
		if x.row.Quiet {
			level = slog.LevelDebug
		}
	}
	status := rec.status
	if status == 0 {
		status = http.StatusOK
	}
	method := knownMethod(r.Method)
	if rec.Header().Get("Content-Type") == eventStreamType {
		a.cfg.Metrics.HTTPStream(method, route, status)
	} else {
		a.cfg.Metrics.HTTP(method, route, status, took.Seconds())
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.requestID), slog.String("method", method), slog.String("route", route),
		slog.Int("status", status), slog.Int64("bytes", rec.bytes), slog.Float64("took_ms", float64(took.Microseconds())/1000),
	}
	if x.call.principal.Tenant != "" {
		attrs = append(attrs, slog.String("org", x.call.principal.Tenant))
	}
	if id, err := rondo.ParseID(r.PathValue("id")); err == nil {
		attrs = append(attrs, slog.String("id", id.String()))
	}
	if x.traceparent != "" {
		attrs = append(attrs, slog.String("traceparent", x.traceparent))
	}
	if status >= http.StatusInternalServerError || x.failure != nil { // a stream can fail after its status
		level = slog.LevelError
		if x.failure != nil {
			attrs = append(attrs, slog.String("error", x.failure.Error()))
		}
	}
	if x.keyFailure != nil {
		level = max(level, slog.LevelWarn)
		attrs = append(attrs, slog.String("idempotency_error", x.keyFailure.Error()))
	}
	a.cfg.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// knownMethod keeps the number of metric series bounded: a method is whatever
// the client wrote.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "OTHER"
}

// requestID takes over the caller's id when it is harmless in logs and headers.
func (a *API) requestID(r *http.Request) string {
	given := r.Header.Get("X-Request-Id")
	if len(given) >= 1 && len(given) <= 64 && strings.Trim(given, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == "" {
		return given
	}
	return a.cfg.NewID().String()
}

// traceparentForm is version 00 of W3C Trace Context, without the all-zero ids.
var traceparentForm = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

func traceparentOf(r *http.Request) string {
	v := r.Header.Get("Traceparent")
	if !traceparentForm.MatchString(v) || strings.HasPrefix(v, "ff-") || v[3:35] == strings.Repeat("0", 32) || v[36:52] == strings.Repeat("0", 16) {
		return ""
	}
	return v
}

func setHeaders(h http.Header, x *exchange) {
	h.Set("X-Request-Id", x.requestID)
	if x.traceparent != "" {
		h.Set("Traceparent", x.traceparent)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// aborted reports whether a handler panicked only to cut the connection.
func aborted(cause any) bool {
	err, ok := cause.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}
