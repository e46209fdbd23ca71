package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// keyedBench is an API that minds idempotency keys and counts what reaches its
// engine.
func keyedBench(t *testing.T) (*bench, *countingCases) {
	t.Helper()
	cases := &countingCases{}
	b := newBench(t, func(c *httpapi.Config) {
		cases.Cases = c.Cases
		c.Cases, c.Answers = cases, memory.Open(memory.Options{})
	})
	return b, cases
}

type countingCases struct {
	httpapi.Cases
	acted int
	err   error
	panic bool
}

func (c *countingCases) Act(ctx context.Context, p rondo.Principal, id rondo.ID, a rondo.Action) (*rondo.Instance, error) {
	c.acted++
	if c.panic {
		panic("a defect")
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.Cases.Act(ctx, p, id, a)
}

const cancelPath = instancePath + "/cancel"

func TestARepeatedRequestHasTheSameAnswerAndOneEffect(t *testing.T) {
	t.Parallel()
	b, cases := keyedBench(t)
	first := b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k1")
	again := b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k1")
	if first.Code != 200 || again.Code != 200 || cases.acted != 1 {
		t.Fatalf("got %d and %d, %d effects", first.Code, again.Code, cases.acted)
	}
	if diff := cmp.Diff(first.Body.String(), again.Body.String()); diff != "" {
		t.Errorf("answers differ:\n%s", diff)
	}
	if first.Header().Get("Content-Type") != again.Header().Get("Content-Type") {
		t.Errorf("headers %v and %v", first.Header(), again.Header())
	}
	older := b.do("POST", cancelPath, `{"reason":"x"}`, "X-Idempotency-Key", "k1")
	if older.Code != 200 || older.Body.String() != first.Body.String() || cases.acted != 1 {
		t.Errorf("with the header of older clients: %d, %d effects", older.Code, cases.acted)
	}
	for _, name := range []string{"Idempotent-Replayed", "X-Idempotency-Cache-Hit"} {
		if first.Header().Get(name) != "" || again.Header().Get(name) != "true" || older.Header().Get(name) != "true" {
			t.Errorf("%s: %q, then %q and %q", name, first.Header().Get(name), again.Header().Get(name), older.Header().Get(name))
		}
	}
	if b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k2"); cases.acted != 2 {
		t.Errorf("%d effects after another key, want 2", cases.acted)
	}
	if b.do("POST", cancelPath, `{"reason":"x"}`); cases.acted != 3 {
		t.Errorf("%d effects without a key, want 3", cases.acted)
	}
}

func TestCreatedThingsKeepTheirHeaders(t *testing.T) {
	t.Parallel()
	b, _ := keyedBench(t)
	body := `{"definition":{"name":"flow"}}`
	first := b.do("POST", "/workflow-definitions", body, "Idempotency-Key", "k")
	again := b.do("POST", "/workflow-definitions", body, "Idempotency-Key", "k")
	for _, name := range []string{"ETag", "Location"} {
		if got := again.Header().Get(name); again.Code != 201 || got == "" || got != first.Header().Get(name) {
			t.Errorf("%d, %s %q, at first %q", again.Code, name, got, first.Header().Get(name))
		}
	}
}

func TestAKeyBelongsToOneRequest(t *testing.T) {
	t.Parallel()
	b, cases := keyedBench(t)
	b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k")
	rec := b.do("POST", cancelPath, `{"reason":"y"}`, "Idempotency-Key", "k")
	if p := problemIn(t, rec); rec.Code != 422 || p.Code != "idempotency_key_reused" {
		t.Errorf("another body: got %d %s", rec.Code, p.Code)
	}
	checkDocumented(t, b.OpenAPI(), "POST", cancelPath, rec)
	if rec := b.do("POST", cancelPath, `{ "reason": "\u0078" }`, "Idempotency-Key", "k"); rec.Code != 200 || rec.Header().Get("Idempotent-Replayed") != "true" || cases.acted != 1 {
		t.Errorf("a body that says the same: got %d with %d effects", rec.Code, cases.acted)
	}
	if rec := b.do("POST", instancePath+"/resume", `{"reason":"x"}`, "Idempotency-Key", "k"); rec.Code != 200 || cases.acted != 2 {
		t.Errorf("another route: got %d with %d effects, want one of its own", rec.Code, cases.acted)
	}
}

func TestWhatBecomesOfAKeyWhenTheRequestFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err         error
		panic       bool
		first       int
		second      int // of the same request, once the engine works again
		effectTwice bool
	}{
		"refused":                {rondo.WrongState("it is completed"), false, 409, 200, true},
		"too busy":               {&rondo.Error{Code: rondo.CodeOverloaded, Message: "later"}, false, 429, 200, true},
		"the database is away":   {&rondo.Error{Code: rondo.CodeUnavailable, Message: "away"}, false, 503, 200, true},
		"perhaps it was done":    {&rondo.Error{Code: rondo.CodeUnavailable, Message: "cut", Err: store.ErrAmbiguous}, false, 503, 409, false},
		"the caller gave up":     {&rondo.Error{Code: rondo.CodeUnavailable, Message: "cut", Err: context.DeadlineExceeded}, false, 503, 409, false},
		"a defect of the server": {nil, true, 500, 409, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, cases := keyedBench(t)
			cases.err, cases.panic = test.err, test.panic
			first := b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k")
			cases.err, cases.panic = nil, false
			second := b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k")
			if first.Code != test.first || second.Code != test.second || (cases.acted == 2) != test.effectTwice {
				t.Errorf("got %d then %d with %d calls: %s", first.Code, second.Code, cases.acted, second.Body)
			}
		})
	}
}

func TestKeysThatAreNone(t *testing.T) {
	t.Parallel()
	b, cases := keyedBench(t)
	for _, key := range []string{"", strings.Repeat("k", 256), "k\x01", "schlüssel"} {
		for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
			if rec := b.do("POST", cancelPath, `{"reason":"x"}`, header, key); rec.Code != http.StatusBadRequest || cases.acted != 0 {
				t.Errorf("%s %q: got %d", header, key, rec.Code)
			}
		}
	}
	if rec := b.do("POST", cancelPath, `{"reason":"x"}`, "Idempotency-Key", "k", "X-Idempotency-Key", "l"); rec.Code != http.StatusBadRequest || cases.acted != 0 {
		t.Errorf("two keys: got %d", rec.Code)
	}
}
