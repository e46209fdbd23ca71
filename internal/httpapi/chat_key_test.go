package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

// unasked keeps no answers: the keys of the chat API are not its business.
type unasked struct {
	httpapi.Answers
	t *testing.T
}

func (u unasked) ReserveAnswer(context.Context, rondo.Answer) (rondo.Answer, bool, error) {
	u.t.Error("the keys of the case API were asked")
	return rondo.Answer{}, true, nil
}

func TestChatKeysGoToTheService(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, body string
		headers    []string
		key, route string
		status     int
	}{
		"none":               {"/api/chat/send", sendBody, nil, "", "", 200},
		"the header":         {"/api/chat/send", sendBody, []string{"Idempotency-Key", "k"}, "k", "POST /api/chat/send", 200},
		"the older header":   {"/api/chat/send", sendBody, []string{"X-Idempotency-Key", "k"}, "k", "POST /api/chat/send", 200},
		"both, the same":     {"/api/chat/start", "", []string{"Idempotency-Key", "k", "X-Idempotency-Key", "k"}, "k", "POST /api/chat/start", 200},
		"both, different":    {"/api/chat/start", "", []string{"Idempotency-Key", "k", "X-Idempotency-Key", "l"}, "", "", 400},
		"the longest":        {chatAt + "/end", "", []string{"Idempotency-Key", strings.Repeat("k", 255)}, strings.Repeat("k", 255), "POST " + chatAt + "/end", 200},
		"too long":           {"/api/chat/send", sendBody, []string{"X-Idempotency-Key", strings.Repeat("k", 256)}, "", "", 400},
		"empty":              {"/api/chat/send", sendBody, []string{"Idempotency-Key", ""}, "", "", 400},
		"not printable":      {"/api/chat/send", sendBody, []string{"Idempotency-Key", "é"}, "", "", 400},
		"replay has no use":  {chatAt + "/replay", `{"definition":"default"}`, []string{"Idempotency-Key", "k"}, "", "", 200},
		"a card with a key":  {"/api/chat/card-action", cardBody, []string{"Idempotency-Key", "k"}, "k", "POST /api/chat/card-action", 200},
		"a query with a key": {"/api/chat/orchestrate", `{"query":"q"}`, []string{"Idempotency-Key", "k"}, "k", "POST /api/chat/orchestrate", 200},
	} {
		b := newBench(t, func(c *httpapi.Config) { c.Answers = unasked{t: t} })
		rec := b.do("POST", test.path, test.body, test.headers...)
		if rec.Code != test.status {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
		if got := b.chat.request; got.Key != test.key || got.Route != test.route || (got.Fingerprint != "") != (test.key != "") {
			t.Errorf("%s: key %q, route %q, fingerprint %q", name, got.Key, got.Route, got.Fingerprint)
		}
	}
}

func TestFingerprintsAreOfTheCanonicalBody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	of := func(path, body string) string {
		b.do("POST", path, body, "Idempotency-Key", "k")
		return b.chat.request.Fingerprint
	}
	first := of("/api/chat/send", sendBody)
	if again := of("/api/chat/send", `{ "text":"he\u006clo", "conversationId":"`+chatID+`" }`); again != first || len(first) != 64 {
		t.Errorf("the same body written otherwise: %q and %q", first, again)
	}
	if other := of("/api/chat/send", strings.Replace(sendBody, "hello", "hello!", 1)); other == first {
		t.Error("another body has the same fingerprint")
	}
	if none, empty := of("/api/chat/start", ""), of("/api/chat/start", "{}"); none != empty {
		t.Error("no body is not an empty one")
	}
}

func TestReplayedAnswersSaySo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, replayed := range []bool{false, true} {
		b.chat.answer.Replayed = replayed
		for _, accept := range []string{"*/*", "text/event-stream"} {
			h := b.do("POST", "/api/chat/send", sendBody, "Idempotency-Key", "k", "Accept", accept).Header()
			if (h.Get("Idempotent-Replayed") == "true") != replayed || (h.Get("X-Idempotency-Cache-Hit") == "true") != replayed {
				t.Errorf("%s, replayed %v: %v", accept, replayed, h)
			}
		}
	}
}
