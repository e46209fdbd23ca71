package copilot_test

import (
	"context"
	"encoding/json"
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

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/copilot"
)

// authority is an identity provider that answers as told and counts.
type authority struct {
	t         *testing.T
	source    *copilot.OnBehalfOf
	clock     atomic.Int64 // seconds
	exchanges atomic.Int64
	last      atomic.Pointer[http.Request]
	answer    func(w http.ResponseWriter, number int64)
}

func newAuthority(t *testing.T, change func(*copilot.OnBehalfOfConfig)) *authority {
	t.Helper()
	p := &authority{t: t}
	p.answer = func(w http.ResponseWriter, number int64) { grant(w, number, 3600) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		p.last.Store(r)
		p.answer(w, p.exchanges.Add(1))
	}))
	t.Cleanup(server.Close)
	cfg := copilot.OnBehalfOfConfig{
		Authority: server.URL + "/tenant-1", ClientID: "rondo", ClientSecret: agenttest.Secret, Scope: "https://api.powerplatform.com/.default",
		Now: func() time.Time { return time.Unix(p.clock.Load(), 0) },
	}
	if change != nil {
		change(&cfg)
	}
	source, err := copilot.NewOnBehalfOf(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.source = source
	return p
}

func grant(w http.ResponseWriter, number int64, expires any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token_type": "Bearer", "access_token": fmt.Sprint("token-", number), "expires_in": expires})
}

func user(name string) agent.Session {
	return agent.Session{TenantID: "t", UserID: name, UserToken: agenttest.Secret + name}
}

func (p *authority) want(session agent.Session, want string) {
	p.t.Helper()
	if got, err := p.source.Token(p.t.Context(), session); got != want || err != nil {
		p.t.Errorf("the token of %s is %q, %v, want %q", session.UserID, got, err, want)
	}
}

func TestTheExchangeIsOnBehalfOfTheUser(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, nil)
	p.want(user("alice"), "token-1")
	want := map[string][]string{
		"grant_type":          {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"requested_token_use": {"on_behalf_of"},
		"client_id":           {"rondo"},
		"client_secret":       {agenttest.Secret},
		"assertion":           {agenttest.Secret + "alice"},
		"scope":               {"https://api.powerplatform.com/.default"},
	}
	asked := p.last.Load()
	if diff := cmp.Diff(want, map[string][]string(asked.PostForm)); diff != "" || asked.URL.Path != "/tenant-1/oauth2/v2.0/token" {
		t.Errorf("at %s it asks (-want +got):\n%s", asked.URL.Path, diff)
	}
}

func TestATokenIsKeptUntilShortlyBeforeItEnds(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, nil)
	p.want(user("alice"), "token-1")
	p.clock.Store(3600 - 61)
	p.want(user("alice"), "token-1")
	p.want(user("bob"), "token-2")
	p.clock.Store(3600 - 60)
	p.want(user("alice"), "token-3")
	p.want(user("bob"), "token-2")
	p.source.Forget(user("alice"))
	p.want(user("alice"), "token-4")
	p.source.Forget(user("nobody"))
}

func TestUsersWithoutAnIDAreToldApartByTheirTokens(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, nil)
	p.want(agent.Session{UserToken: "a"}, "token-1")
	p.want(agent.Session{UserToken: "b"}, "token-2")
	p.want(agent.Session{UserToken: "a"}, "token-1")
	p.want(agent.Session{TenantID: "t1", UserID: "u", UserToken: "a"}, "token-3")
	p.want(agent.Session{TenantID: "t2", UserID: "u", UserToken: "a"}, "token-4")
}

func TestTheLifeOfATokenMayBeWrittenOddly(t *testing.T) {
	t.Parallel()
	for _, expires := range []any{"3600", 3600.5, 1e300} {
		p := newAuthority(t, nil)
		p.answer = func(w http.ResponseWriter, number int64) { grant(w, number, expires) }
		p.want(user("alice"), "token-1")
		p.want(user("alice"), "token-1")
	}
	for _, expires := range []any{nil, 0, -5, 30} {
		p := newAuthority(t, nil)
		p.answer = func(w http.ResponseWriter, number int64) { grant(w, number, expires) }
		p.want(user("alice"), "token-1")
		p.want(user("alice"), "token-2")
	}
}

func TestTheTokensKeptAreBounded(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, func(cfg *copilot.OnBehalfOfConfig) { cfg.MaxUsers = 2 })
	p.want(user("a"), "token-1")
	p.want(user("b"), "token-2")
	p.want(user("a"), "token-1")
	p.want(user("c"), "token-3") // b was used longest ago
	p.want(user("a"), "token-1")
	p.want(user("b"), "token-4")
}

func TestOneExchangeAtATimeForAUser(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, nil)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { p.want(user("alice"), "token-1") })
	}
	all.Wait()
	if n := p.exchanges.Load(); n != 1 {
		t.Errorf("%d exchanges, want 1", n)
	}
}

func TestTheOthersGoOnWhenTheOneWhoAsksGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The first exchange hangs until its caller gives up, the second answers.
		var exchanges atomic.Int64
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			if exchanges.Add(1) == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			recorder := httptest.NewRecorder()
			grant(recorder, 2, 3600)
			return recorder.Result(), nil
		})}
		source, err := copilot.NewOnBehalfOf(copilot.OnBehalfOfConfig{TenantID: "t", ClientID: "c", ClientSecret: "s", Scope: "x", HTTP: client})
		if err != nil {
			t.Fatal(err)
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := source.Token(hasty, user("alice")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the one who gives up gets %v, want the context's own", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if token, err := source.Token(t.Context(), user("alice")); token != "token-2" || err != nil {
				t.Errorf("the one who waits gets %q, %v, want token-2", token, err)
			}
		})
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := source.Token(impatient, user("alice")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one who will not wait gets %v, want the context's own", err)
		}
		all.Wait()
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnExchangeThatFailsIsAnErrorOfTokens(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, int64){
		"refused": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"`+agenttest.Secret+`"}`)
		},
		"down":    func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusBadGateway) },
		"broken":  func(http.ResponseWriter, int64) { panic(http.ErrAbortHandler) },
		"no JSON": func(w http.ResponseWriter, _ int64) { _, _ = io.WriteString(w, agenttest.Secret) },
		"not a token": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{}`)
		},
		"a stream": func(w http.ResponseWriter, _ int64) { w.Header().Set("Content-Type", "text/event-stream") },
		"without end": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Repeat(" ", 1<<20))
		},
		"elsewhere": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"a wrong type": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":7}`)
		},
	} {
		p := newAuthority(t, nil)
		p.answer = answer
		for range 2 { // a failure is not remembered
			_, err := p.source.Token(t.Context(), user("alice"))
			if agent.KindOf(err) != agent.KindToken || strings.Contains(err.Error(), agenttest.Secret) {
				t.Errorf("%s: %v (%s), want an error of tokens that tells none", name, err, agent.KindOf(err))
			}
		}
		if n := p.exchanges.Load(); n != 2 {
			t.Errorf("%s: %d exchanges for two calls, want 2", name, n)
		}
	}
	p := newAuthority(t, nil)
	if _, err := p.source.Token(t.Context(), agent.Session{UserID: "u"}); agent.KindOf(err) != agent.KindToken || p.exchanges.Load() != 0 {
		t.Errorf("without a token of the user: %v, want an error of tokens and no exchange", err)
	}
}

func TestATokenThatTheAgentRefusesIsForgotten(t *testing.T) {
	t.Parallel()
	p := newAuthority(t, nil)
	shown := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	a, err := copilot.New(copilot.Config{DirectConnectURL: server.URL, Tokens: p.source})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		heard := agenttest.Listen(t, a.Send(t.Context(), user("alice"), rondo.Activity{Text: "hi"}))
		if agent.KindOf(heard.Err) != agent.KindRefused {
			t.Errorf("%v, want refused", heard.Err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer token-1", "Bearer token-2"}, []string{<-shown, <-shown}); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// sourceFunc is a source of someone else's.
type sourceFunc func() (string, error)

func (f sourceFunc) Token(context.Context, agent.Session) (string, error) { return f() }

func TestErrorsOfOtherSourcesAreErrorsOfTokens(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]copilot.TokenSource{
		"someone else's": sourceFunc(func() (string, error) { return "", errors.New(agenttest.Secret) }),
		"nothing":        copilot.StaticToken(""),
	} {
		a, err := copilot.New(copilot.Config{DirectConnectURL: "http://agent.test", Tokens: source})
		if err != nil {
			t.Fatal(err)
		}
		if heard := agenttest.Listen(t, a.Start(t.Context(), user("alice"))); agent.KindOf(heard.Err) != agent.KindToken {
			t.Errorf("%s: %v, want an error of tokens", name, heard.Err)
		}
	}
}

func TestAnExchangeThatIsConfiguredWronglyIsRefused(t *testing.T) {
	t.Parallel()
	good := copilot.OnBehalfOfConfig{TenantID: "t", ClientID: "c", ClientSecret: "s", Scope: "x"}
	if _, err := copilot.NewOnBehalfOf(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*copilot.OnBehalfOfConfig){
		"no tenant": func(c *copilot.OnBehalfOfConfig) { c.TenantID = "" },
		"no client": func(c *copilot.OnBehalfOfConfig) { c.ClientID = "" },
		"no secret": func(c *copilot.OnBehalfOfConfig) { c.ClientSecret = "" },
		"no scope":  func(c *copilot.OnBehalfOfConfig) { c.Scope = "" },
		"no URL":    func(c *copilot.OnBehalfOfConfig) { c.Authority = "login" },
		"a file":    func(c *copilot.OnBehalfOfConfig) { c.Authority = "file://host/x" },
	} {
		cfg := good
		change(&cfg)
		if _, err := copilot.NewOnBehalfOf(cfg); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%s: %v, want code invalid", name, err)
		}
	}
}
