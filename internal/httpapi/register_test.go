package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

func TestRoutesAndRowsMustMatch(t *testing.T) {
	t.Parallel()
	r := newRegistrar(&API{cfg: Config{Metrics: noMetrics{}}})
	r.HandleFunc("GET /unlisted", func(http.ResponseWriter, *http.Request) {})
	r.plain("made-up", "text/plain", nil)
	_, err := r.finish()
	if err == nil {
		t.Fatal("a route without a row was accepted")
	}
	for _, want := range []string{"GET /unlisted has no row", "operation made-up has no row", "row GET /health has no handler"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestCursorsRoundTrip(t *testing.T) {
	t.Parallel()
	for n := range byte(50) {
		id := [16]byte{0: n, 15: n + 1}
		got, ok := parseCursor(listEvents, formatCursor(listEvents, id))
		if !ok || got != id {
			t.Errorf("%x became %x, %v", id, got, ok)
		}
		if _, ok := parseCursor(listInstances, formatCursor(listEvents, id)); ok {
			t.Errorf("%x was taken by another list", id)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(formatCursor(listEvents, [16]byte{1}))
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := parseCursor(listEvents, s); ok && formatCursor(listEvents, id) != s {
			t.Errorf("%q has two spellings", s)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"reason":"x"}`))
	f.Add([]byte(`{"Reason":"x","reason":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var reason string
		if err := decode(raw, member{name: "reason", required: true, text: &reason}); err == nil && strings.TrimSpace(reason) == "" {
			t.Errorf("%q was accepted without a reason", raw)
		}
	})
}
