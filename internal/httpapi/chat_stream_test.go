package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/httpapi"
)

func started(n int) chat.StreamEvent { return chat.StreamEvent{Started: &n} }

func delta(text string) chat.StreamEvent {
	return chat.StreamEvent{Delta: &agent.Delta{ID: "m1", Text: text}}
}

func TestTurnsAreStreamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.chat.says = []chat.StreamEvent{started(7), delta("Hel"), delta("lo\n<b>")}
	const want = "event: turn.started\ndata: {\"turnNumber\":7}\n\n" +
		"event: message.delta\ndata: {\"id\":\"m1\",\"text\":\"Hel\"}\n\n" +
		"event: message.delta\ndata: {\"id\":\"m1\",\"text\":\"lo\\n\\u003cb\\u003e\"}\n\n" +
		"event: turn.completed\ndata: {\"turnMeta\":{\"turnNumber\":7},\"n\":1.50}\n\n"
	for path, body := range map[string]string{"send": sendBody, "card-action": cardBody, "orchestrate": `{"query":"q"}`} {
		rec := b.do("POST", "/api/chat/"+path, body, "Accept", "application/json;q=0.5, text/event-stream")
		if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s: %d %v", path, rec.Code, rec.Header())
		}
		if diff := cmp.Diff(want, rec.Body.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream;q=0", "text/event-stream; q=0.0"} {
		if rec := b.do("POST", "/api/chat/send", sendBody, "Accept", accept); rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q is streamed", accept)
		}
	}
	for path, body := range map[string]string{"/api/chat/start": "", chatAt + "/end": ""} {
		if rec := b.do("POST", path, body, "Accept", "text/event-stream"); rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s is streamed", path)
		}
	}
}

// failing is a turn that fails after it has said something.
type failing struct {
	*talker
	err   error
	panic any
}

func (f failing) Do(_ context.Context, _ chat.Caller, r chat.Request) (chat.Answer, error) {
	if r.Stream != nil {
		r.Stream(started(1))
	}
	if f.panic != nil {
		panic(f.panic)
	}
	return chat.Answer{}, f.err
}

func TestTurnsThatFailOnTheWaySaySo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure failing
		want    string
	}{
		"agent": {failing{err: &rondo.Error{Code: rondo.CodeAgentFailed, Message: "the agent failed"}}, `"status":502,"detail":"the agent failed","code":"agent_failed","request_id":"r1","error":"the agent failed"}`},
		"crash": {failing{panic: "secret"}, `"code":"internal"`},
	} {
		b := newBench(t, func(c *httpapi.Config) {
			test.failure.talker = newTalker(&fake{})
			c.Chat = test.failure
		})
		rec := b.do("POST", "/api/chat/send", sendBody, "Accept", "text/event-stream", "X-Request-Id", "r1")
		_, last, _ := strings.Cut(rec.Body.String(), "event: turn.failed\ndata: ")
		if rec.Code != 200 || !strings.Contains(last, test.want) || strings.Contains(last, "secret") {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
		if name == "crash" && !strings.Contains(b.log.String(), "secret") {
			t.Errorf("the log does not say why: %s", b.log)
		}
	}
}

func TestAnAnswerGivenBeforeIsStreamedAlike(t *testing.T) {
	t.Parallel()
	rec := newBench(t).do("POST", "/api/chat/send", sendBody, "Accept", "text/event-stream")
	if !strings.HasPrefix(rec.Body.String(), "event: turn.started\ndata: {\"turnNumber\":7}\n\nevent: turn.completed\n") {
		t.Errorf("got %s", rec.Body)
	}
}

func TestSilentTurnsBeat(t *testing.T) {
	t.Parallel()
	api := newBench(t, func(c *httpapi.Config) { c.Now = time.Now })
	synctest.Test(t, func(t *testing.T) {
		api.chat.says = []chat.StreamEvent{started(1)}
		api.chat.during = func(context.Context) { time.Sleep(40 * time.Second) } // of fake time
		rec := api.do("POST", "/api/chat/send", sendBody, "Accept", "text/event-stream")
		if got := strings.Count(rec.Body.String(), ": alive\n\n"); got != 2 {
			t.Errorf("%d heartbeats in 40 s: %s", got, rec.Body)
		}
	})
}

// TestTurnsOutliveTheLimitsOfRequests runs a real server that gives no
// time to answer.
func TestTurnsOutliveTheLimitsOfRequests(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.chat.says = []chat.StreamEvent{started(1)}
			server := httptest.NewUnstartedServer(b)
			server.Config.WriteTimeout = time.Nanosecond
			server.Start()
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/chat/send", strings.NewReader(sendBody))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", accept)
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || !strings.Contains(string(body), `"n":1.50`) {
				t.Errorf("the answer was cut: %q, %v", body, err)
			}
		})
	}
}

func TestAReaderWhoLeavesDoesNotStopTheTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.chat.says = []chat.StreamEvent{started(1)}
	gone, finished := make(chan struct{}), make(chan struct{})
	b.chat.during = func(ctx context.Context) {
		<-ctx.Done() // the reader left
		close(gone)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.ServeHTTP(w, r)
		close(finished)
	}))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/chat/send", strings.NewReader(sendBody))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != "event: turn.started\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	leave()
	<-gone
	<-finished // Do has returned by itself
}

func TestTurnsAreNotBoundedFromOutside(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{"POST /api/chat/send": true, "POST /api/chat/start": true, "GET /api/chat/conversations": false, "POST /api/chats": false, "POST /events": false, "GET /events/stream": true} {
		method, path, _ := strings.Cut(target, " ")
		if got := httpapi.IsStream(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}
