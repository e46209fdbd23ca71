package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/metrics"
	"github.com/rondo-engine/rondo/store"
)

const (
	patience  = 30 * time.Second       // how long something may take on a busy machine before it counts as never
	glance    = 25 * time.Millisecond  // how often is looked when nothing rings
	ackSoon   = 400 * time.Millisecond // how long what a dead replica held waits on Redis
	sweepSoon = 200 * time.Millisecond // how often cases are looked for that nothing would wake
	outlast   = 31 * time.Second       // longer than any lease of an engine, shorter than any timeout of a template
)

// world is one ground with its replicas, the desk that plays the modules, and
// the clock that all of them share.
type world struct {
	ground   *ground
	clock    *clock
	bell     *bell
	desk     *desk
	store    store.Store // the test's own eyes
	ids      *rondo.IDs
	replicas []*replica
	modules  bus.Bus // what the desk publishes on
	metrics  *metrics.Metrics
	detach   func()

	mu    sync.Mutex
	sent  map[string]map[string]int // org → stream → distinct events committed for sending
	seen  map[rondo.ID]bool
	early []string // what was acked before it was in the ledger
}

// replica is one engine behind its own REST edge.
type replica struct {
	engine   *engine.Engine
	edge     *edge
	api      http.Handler
	store    store.Store
	bus      bus.Bus // nil on the embedded bus
	scissors *scissors
	gone     bool
}

func newWorld(t *testing.T, p pair, replicas int) *world {
	t.Helper()
	w := &world{ground: newGround(t, p), clock: &clock{}, bell: newBell(), metrics: metrics.New(metrics.Options{}), sent: map[string]map[string]int{}, seen: map[rondo.ID]bool{}}
	w.ids = rondo.NewIDs(w.clock.Now)
	w.desk = newDesk(w.bell, w.clock)
	w.store = w.ground.openStore(t)
	t.Cleanup(func() { _ = w.store.Close() })
	for range replicas {
		w.replicas = append(w.replicas, w.startReplica(t, nil))
	}
	w.modules = w.ground.openBus(t)
	if w.modules != nil {
		t.Cleanup(func() { _ = w.modules.Close() })
	} else {
		w.modules = w.replicas[0].engine.Bus()
	}
	w.detach = w.desk.attach(t, w.modules)
	t.Cleanup(func() {
		w.detach()
		for _, r := range w.replicas {
			w.stop(r)
		}
	})
	return w
}

// Committed hears of every commit of every replica.
func (w *world) Committed(c engine.Commit) {
	app.Meter(w.metrics).Committed(c)
	w.mu.Lock()
	for _, out := range c.Sent {
		if out.Relayed || w.seen[out.EventID] {
			continue
		}
		w.seen[out.EventID] = true
		if w.sent[out.OrgID] == nil {
			w.sent[out.OrgID] = map[string]int{}
		}
		w.sent[out.OrgID][out.Stream]++
	}
	w.mu.Unlock()
	w.bell.Ring()
}

// acking hears of every ack on an external bus: what is acked must be in the
// ledger (I13), or it would be lost with the process.
func (w *world) acking(d bus.Delivery) {
	e, err := event.Parse(d.Envelope)
	if err != nil || e.Type != d.Stream || len(d.Envelope) > caseloop.MaxEvent {
		return // became a dead letter
	}
	if _, err := w.store.Event(context.Background(), e.OrgID, e.EventID); rondo.CodeOf(err) == rondo.CodeNotFound {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.early = append(w.early, fmt.Sprintf("%s %s of case %s", e.Type, e.EventID, e.CaseID))
	}
}

// startReplica starts an engine; prepare, if any, sees it before it does anything.
func (w *world) startReplica(t *testing.T, prepare func(*replica)) *replica {
	t.Helper()
	r := &replica{store: w.ground.openStore(t), bus: w.ground.openBus(t), scissors: &scissors{onCut: w.bell.Ring}}
	cfg := engine.Config{Store: cutStore{r.store, r.scissors}, Now: w.clock.Now, Observer: w, Tick: glance, Liveness: sweepSoon}
	if r.bus != nil {
		cfg.Bus = cutBus{r.bus, r.scissors, ackSoon, w.acking}
	}
	if prepare != nil {
		prepare(r)
	}
	var err error
	if r.engine, err = engine.New(cfg); err != nil {
		t.Fatalf("new engine on %s: %v", w.ground.where(), err)
	}
	if err := r.engine.Start(t.Context()); err != nil {
		t.Fatalf("start engine on %s: %v", w.ground.where(), err)
	}
	if r.edge == nil {
		r.edge = newEdge(t, w)
	}
	r.api = r.edge.over(r)
	return r
}

// edge is a REST edge that one replica after the other can stand behind: making
// one takes far longer than starting an engine. Nobody may call it meanwhile.
type edge struct {
	*engine.Engine
	answers struct{ httpapi.Answers }
	handler http.Handler
}

func newEdge(t *testing.T, w *world) *edge {
	t.Helper()
	e := &edge{}
	handler, err := httpapi.New(httpapi.Config{
		Cases: e, Definitions: e, Events: e, Trials: e, Jobs: e, Retention: e, Health: e, Answers: &e.answers, Auth: callers{}, Now: w.clock.Now,
	})
	if err != nil {
		t.Fatalf("new REST edge: %v", err)
	}
	e.handler = handler
	return e
}

// over puts a replica behind the edge.
func (e *edge) over(r *replica) http.Handler {
	e.Engine, e.answers.Answers = r.engine, cutStore{r.store, r.scissors}
	return e.handler
}

// stop drains a replica and closes what it stood on.
func (w *world) stop(r *replica) {
	if r.gone {
		return
	}
	r.gone = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.engine.Stop(ctx)
	w.release(r)
}

// crash ends a replica without letting anything of it have an effect any more.
func (w *world) crash(r *replica) {
	if r.gone {
		return
	}
	r.gone = true
	r.scissors.snip()
	if r.bus != nil {
		_ = r.bus.Close() // nothing reaches Redis, not even a farewell
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.engine.Stop(ctx)
	w.release(r)
}

func (w *world) release(r *replica) {
	if r.bus != nil {
		_ = r.bus.Close()
	}
	if w.ground.memory == nil {
		_ = r.store.Close()
	}
}

// restart replaces a crashed replica. On the embedded bus the modules live in
// the same process and start again too. Time passes until what the dead one had
// leased is free.
func (w *world) restart(t *testing.T, i int) {
	t.Helper()
	w.restartThen(t, i, func(*replica) {})
}

// restartThen is restart of a replica that is prepared before it does anything.
func (w *world) restartThen(t *testing.T, i int, prepare func(*replica)) {
	t.Helper()
	w.crash(w.replicas[i])
	if !w.ground.redis {
		w.detach()
	}
	w.clock.Advance(outlast)
	w.replicas[i] = w.startReplica(t, func(r *replica) {
		r.edge = w.replicas[i].edge
		prepare(r)
	})
	if !w.ground.redis {
		w.modules = w.replicas[i].engine.Bus()
		w.detach = w.desk.attach(t, w.modules)
	}
}

// await waits until something holds. tell says what to look at when it never
// does.
func (w *world) await(t *testing.T, what string, holds func() bool, tell func() string) {
	t.Helper()
	if !w.comes(holds) {
		t.Fatalf("on %s, waited %v in vain: %s\n%s", w.ground.where(), patience, what, tell())
	}
}

// comes looks after every commit and delivery whether something holds, and
// reports false when it never does.
func (w *world) comes(holds func() bool) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		rung := w.bell.Next()
		if holds() {
			return true
		}
		select {
		case <-rung:
		case <-tick.C:
		case <-limit.C:
			return false
		}
	}
}

// sentTo counts the distinct events that were committed for sending to a stream.
func (w *world) sentTo(org, stream string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[org][stream]
}

// describe tells all that is stored about the cases of an organisation.
func (w *world) describe(org string) string {
	ctx := context.Background()
	instances, err := w.store.Instances(ctx, store.InstanceFilter{OrgID: org}, store.Page{})
	if err != nil {
		return fmt.Sprintf("the cases of %s cannot be read: %v", org, err)
	}
	told := fmt.Sprintf("organisation %s has %d cases; it is %s", org, len(instances), w.clock.Now().UTC().Format(time.RFC3339))
	for _, i := range instances {
		told += fmt.Sprintf("\ncase %s: %s %s at %s, version %d", i.CaseID, i.Status, i.HaltReason, i.HaltStepID, i.Version)
		steps, _ := w.store.Steps(ctx, org, i.ID)
		for _, s := range steps {
			told += fmt.Sprintf("\n  step %s#%d %s %s", s.StepID, s.Attempt, s.Status, s.Error)
		}
		for _, a := range i.Machine.Live {
			told += fmt.Sprintf("\n  live %s#%d %s, correlation %s", a.StepID, a.Number, a.Status, a.CorrelationID)
		}
		events, _ := w.store.Events(ctx, org, i.ID, store.Page{})
		for _, e := range events {
			told += fmt.Sprintf("\n  event %s %s ×%d %s", e.Type, e.Outcome, 1+e.Duplicates, e.Error)
		}
		for _, e := range w.desk.of(i.Key(), "") {
			told += fmt.Sprintf("\n  desk %s %s", e.Type, e.EventID)
		}
	}
	return told
}
