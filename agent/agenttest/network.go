package agenttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo/agent"
)

// server serves a handler on a local port and counts its requests.
func server(t *testing.T, handler http.HandlerFunc) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func (d Driver) answer(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", typeStream)
	_, _ = io.WriteString(w, stream(d.Events(text)))
}

// abort closes the connection under an answer.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func testStatuses(t *testing.T, d Driver) {
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		status int
		header map[string]string
		body   string
		after  time.Duration
		word   string
	}{
		{status: 400, body: `{"error":{"code":"bad_request","message":"` + UserText + `"}}`, word: "bad_request"},
		{status: 401, body: `{"error":"` + Secret + `"}`},
		{status: 403, body: `{"error":{"code":"` + Secret + `"}}`},
		{status: 404, body: "<html>" + UserText},
		{status: 429, header: map[string]string{"Retry-After": "7"}, after: 7 * time.Second},
		{status: 429, header: map[string]string{
			"Date": date.Format(http.TimeFormat), "Retry-After": date.Add(90 * time.Second).Format(http.TimeFormat),
		}, after: 90 * time.Second},
		{status: 429, header: map[string]string{"Retry-After": "9999999999999999"}, after: time.Hour},
		{status: 429, header: map[string]string{"Retry-After": "-5"}},
		{status: 429, header: map[string]string{"Retry-After": "soon"}},
		{status: 500},
		{status: 502, body: strings.Repeat("x", 1<<20)},
		{status: 503, header: map[string]string{"Retry-After": "1"}, after: time.Second},
		{status: http.StatusNotModified},
	}
	for _, test := range tests {
		url, requests := server(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range test.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		})
		what := fmt.Sprint("status ", test.status)
		failure := failureIn(t, what, Listen(t, d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText))), agent.KindRefused)
		if failure.Status != test.status || failure.RetryAfter != test.after || !strings.Contains(failure.Message, test.word) {
			t.Errorf("%s: the error is %+v, want status %d, retry after %s and the word %q", what, failure, test.status, test.after, test.word)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%s: %d requests, want 1", what, n)
		}
	}
}

func testRedirect(t *testing.T, d Driver) {
	elsewhere, strayed := server(t, func(w http.ResponseWriter, _ *http.Request) { d.answer(w, "from elsewhere") })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url, requests := server(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere, status) })
		failure := failureIn(t, "redirect", Listen(t, d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText))), agent.KindRefused)
		if failure.Status != status || requests.Load() != 1 {
			t.Errorf("the error is %+v after %d requests, want status %d after 1", failure, requests.Load(), status)
		}
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went where a redirect pointed, want none", n)
	}
}

func testOnce(t *testing.T, d Driver) {
	// The connection is warm, so that a transport could think that the server just
	// closed an idle one, and send again.
	var fail atomic.Bool
	url, requests := server(t, func(w http.ResponseWriter, r *http.Request) {
		if fail.Load() {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			abort(w, r)
		}
		d.answer(w, "hello")
	})
	a := d.New(t, url, nil)
	wantText(t, "the first call", Listen(t, a.Send(t.Context(), session(), userSays(UserText))), "hello")
	fail.Store(true)
	wantKind(t, "the second call", Listen(t, a.Send(t.Context(), session(), userSays(UserText))), agent.KindUnreachable)
	if n := requests.Load(); n != 2 {
		t.Errorf("two calls made %d requests, want 2", n)
	}
	// A stream that a real server cuts within an event.
	url, requests = server(t, func(w http.ResponseWriter, r *http.Request) {
		whole := stream(d.Events("hello"))
		w.Header().Set("Content-Type", typeStream)
		_, _ = io.WriteString(w, whole[:len(whole)-10])
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		abort(w, r)
	})
	wantKind(t, "a cut stream", Listen(t, d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText))), agent.KindUnreachable)
	if n := requests.Load(); n != 1 {
		t.Errorf("a cut stream made %d requests, want 1", n)
	}
}

func testUnreachable(t *testing.T, d Driver) {
	gone := httptest.NewServer(http.NotFoundHandler())
	url := gone.URL
	gone.Close()
	wantKind(t, "nobody listens", Listen(t, d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText))), agent.KindUnreachable)
}

// testSecrets has a server repeat everything it was told in every place it can.
func testSecrets(t *testing.T, d Driver) {
	name := d.Piece().Name
	repeated := func(r *http.Request) string {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return r.Header.Get("Authorization") + " " + Secret + " " + UserText + " " + string(body)
	}
	for _, serve := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) { http.Error(w, repeated(r), http.StatusTeapot) },
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", repeated(r))
		},
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", typeStream)
			_, _ = io.WriteString(w, "event: "+name+"\ndata: {\""+Secret+"\": "+UserText+repeated(r)+"\n\n")
		},
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typeStream)
			_, _ = io.WriteString(w, "event: error\ndata: {\"error\":{\"code\":\""+Secret+"\",\"message\":\""+UserText+"\"}}\n\n")
		},
		func(w http.ResponseWriter, r *http.Request) { // what is no HTTP at all
			said := repeated(r)
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer connection.Close()
			_, _ = io.WriteString(connection, said+"\r\n\r\n")
		},
	} {
		url, _ := server(t, serve)
		// Listen looks into the error.
		if heard := Listen(t, d.New(t, url+"?key="+Secret, nil).Send(t.Context(), session(), userSays(UserText))); heard.Err == nil {
			t.Errorf("it answers %q, want an error", heard.Texts())
		}
	}
}

// testDeadline waits in fake time: for an answer, for the rest of one, and for one
// that drips.
func testDeadline(t *testing.T, d Driver) {
	whole := stream(d.Events("hello"))
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"no answer": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"half an answer": func(r *http.Request) (*http.Response, error) {
			return respond(typeStream, io.MultiReader(strings.NewReader(whole[:len(whole)/2]), blocked{r.Context().Done()})), nil
		},
		"half of JSON": func(r *http.Request) (*http.Response, error) {
			return respond(typeJSON, io.MultiReader(strings.NewReader(`{"a`), blocked{r.Context().Done()})), nil
		},
		"half of an error": func(r *http.Request) (*http.Response, error) {
			response := respond(typeJSON, blocked{r.Context().Done()})
			response.StatusCode = http.StatusBadGateway
			return response, nil
		},
		"a drip": func(r *http.Request) (*http.Response, error) {
			return respond(typeStream, &drip{text: whole, every: time.Minute, done: r.Context().Done()}), nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began := time.Now()
			heard := Listen(t, d.New(t, "http://agent.test", serve(answer)).Send(ctx, session(), userSays(UserText)))
			if !errors.Is(heard.Err, context.DeadlineExceeded) || agent.KindOf(heard.Err) != "" {
				t.Errorf("%s: the error is %v, want the context's own", name, heard.Err)
			}
			if took := time.Since(began); took != 30*time.Second {
				t.Errorf("%s: it took %s, want 30s", name, took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		client := serve(func(r *http.Request) (*http.Response, error) {
			return respond(typeStream, &drip{text: whole, every: time.Minute, done: r.Context().Done()}), nil
		})
		wantText(t, "a drip without a deadline", Listen(t, d.New(t, "http://agent.test", client).Send(t.Context(), session(), userSays(UserText))), "hello")
	})
}

// drip is a body that gives one byte at a time.
type drip struct {
	text  string
	every time.Duration
	done  <-chan struct{}
}

// Read waits for the next byte.
func (d *drip) Read(p []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	timer := time.NewTimer(d.every)
	defer timer.Stop()
	select {
	case <-d.done:
		return 0, context.Canceled
	case <-timer.C:
	}
	n := copy(p[:1], d.text)
	d.text = d.text[n:]
	return n, nil
}

func testOwnAnswers(t *testing.T, d Driver) {
	url, requests := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, after, _ := strings.Cut(string(body), "number-")
		d.answer(w, "answer to "+after[:3])
	})
	a := d.New(t, url, nil)
	var all sync.WaitGroup
	const users = 50
	for i := range users {
		all.Go(func() {
			heard := Listen(t, a.Send(t.Context(), session(), userSays(fmt.Sprintf("number-%03d", i))))
			wantText(t, "one of many", heard, fmt.Sprintf("answer to %03d", i))
		})
	}
	all.Wait()
	if n := requests.Load(); n != users {
		t.Errorf("%d calls made %d requests", users, n)
	}
}

func testGivesUp(t *testing.T, d Driver) {
	gone := make(chan struct{})
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		events := d.Events("hello")
		w.Header().Set("Content-Type", typeStream)
		_, _ = io.WriteString(w, stream(events[:len(events)-1]))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	})
	for range d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText)) {
		break
	}
	<-gone
}

func testRequest(t *testing.T, d Driver) {
	url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			t.Errorf("the method is %s, want POST", r.Method)
		}
		for name, want := range map[string]string{
			"Authorization": "Bearer " + Secret, "Content-Type": "application/json", "Accept": "text/event-stream",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("the header %s is %q, want %q", name, got, want)
			}
		}
		d.answer(w, "hello")
	})
	wantText(t, "the answer", Listen(t, d.New(t, url, nil).Send(t.Context(), session(), userSays(UserText))), "hello")
}
