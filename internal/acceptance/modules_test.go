package acceptance

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
	"github.com/rondo-engine/rondo/worker/httpbus"
)

// TestModulesNeedNoRedis lets two members of a module that know nothing but HTTP
// answer the requests of their organisation, on every pair, while another
// organisation's cases ask for the same.
func TestModulesNeedNoRedis(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			served, other := newTenant(t, w), newTenant(t, w)
			served.publish(onlyAI)
			other.publish(onlyAI)
			server := httptest.NewServer(w.replicas[0].api)
			t.Cleanup(server.Close)

			var foreign atomic.Int64
			for range 2 {
				served.joinModule(server.URL, func(_ context.Context, request *event.Envelope) (any, error) {
					if request.OrgID != served.org {
						foreign.Add(1)
					}
					return reviewed(0.9), nil
				})
			}
			const cases = 20
			for i := range cases {
				other.start(fmt.Sprint("theirs-", i))
				served.start(fmt.Sprint("ours-", i))
			}
			for i := range cases {
				served.wantCompleted(fmt.Sprint("ours-", i), "ai", "done")
			}
			if n := foreign.Load(); n > 0 {
				t.Errorf("on %s: %d requests of another organisation were delivered", w.ground.where(), n)
			}
			if i, _ := other.instance("theirs-0"); i.Status != rondo.StatusRunning {
				t.Errorf("on %s: nobody answers the other organisation, and its case is %s", w.ground.where(), i.Status)
			}
			served.wantNoLag("http:" + served.org + ":ai-review")
			checkEverything(t, w.store, w.ground.where(), "after a module worked over HTTP")
		})
	}
}

// joinModule runs one member of a module until the test ends.
func (n *tenant) joinModule(url string, handler worker.Handler) {
	n.t.Helper()
	token := n.org + " module " + rondo.ScopeEvents
	events, err := httpbus.New(httpbus.Options{URL: url, Token: func(context.Context) (string, error) { return token, nil }})
	if err != nil {
		n.t.Fatal(err)
	}
	module := worker.New(worker.Config{Group: "ai-review", Bus: events, Handlers: map[string]worker.Handler{event.TypeAIReviewRequested: handler}})
	if err := module.Start(n.t.Context()); err != nil {
		n.t.Fatalf("on %s: start a module: %v", n.w.ground.where(), err)
	}
	n.t.Cleanup(func() {
		if err := module.Stop(context.Background()); err != nil {
			n.t.Errorf("on %s: stop the module: %v", n.w.ground.where(), err)
		}
		_ = events.Close()
	})
}

// wantNoLag waits until a group has acknowledged everything.
func (n *tenant) wantNoLag(group string) {
	n.t.Helper()
	groups, ok := n.w.modules.(bus.Groups)
	if !ok {
		n.t.Fatalf("on %s: the bus does not know its groups", n.w.ground.where())
	}
	n.await("group "+group+" has acknowledged everything", func() bool {
		lag, err := groups.Lag(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		for _, g := range lag[event.TypeAIReviewRequested] {
			if g.Group == group {
				return max(g.Unread, 0)+g.Pending == 0
			}
		}
		return false
	})
}
