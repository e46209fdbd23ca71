// Package engine is the embeddable orchestrator: New(Config), Start, Stop.
//
// An engine takes cases in by events, moves them through their definitions and
// asks modules for work. Any number of engines may run on one database and bus;
// all coordination is in those. Start returns when the engine is ready to work;
// Stop drains: it takes nothing more in, commits what it has, sends what it
// committed, acks what it applied, and returns.
//
// The services of an engine are methods grouped by noun: cases.go,
// definitions.go. Every one takes the principal who asks and is bound to that
// principal's organisation.
package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/embedded"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// Config is what an engine needs. Only Store is required.
type Config struct {
	// Store keeps all state. It must be migrated. Open it for the embedded bus
	// when Bus is nil.
	Store store.Store
	// Bus carries events to and from modules. Default: the embedded bus, on
	// Store's own commits.
	Bus bus.Bus
	// Shards is how many batches commit side by side. Default: as many as the
	// store has use for, 2 when it does not say.
	Shards int
	// Batch is how many inputs one commit takes at most. Default 128.
	Batch int
	// Queue is how many inputs may wait per shard before callers are held back.
	// Default 4096.
	Queue int
	// Retention is how long delivered events stay on the bus. Default 7 days.
	Retention time.Duration
	// StreamCap is how many entries a stream of the bus may have. What all groups
	// have acked goes early then; when that is not enough, events for the stream
	// wait in the database until its readers have caught up or are retired. At
	// least 10; negative = no cap. The embedded bus has none: its entries are in
	// the database anyway. Default 1,000,000.
	StreamCap int64
	// ParkedFor is how long an event waits for its case to begin before it is
	// unmatched. Default 30 days.
	ParkedFor time.Duration
	// Tick is how often the store is asked for timers that are due: those that
	// this engine has set it knows by itself. Default 250 ms.
	Tick time.Duration
	// Liveness is how often the engine looks for cases that have lost what would
	// wake them. Default 5 s.
	Liveness time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Log receives what operators must know; payloads are never logged. Default:
	// discarded.
	Log *slog.Logger
	// Observer is told about every commit. Default: nobody.
	Observer Observer
	// RunEnvironment is what definitions of runs may use beside what they declare
	// themselves: skills, prompts and configs of the server. Default: nothing.
	RunEnvironment plan.Environment
}

// Observer watches commits, for metrics and live views. It is called on the
// commit path and must return quickly.
type Observer interface {
	Committed(Commit)
}

// Commit is what one commit did.
type Commit struct {
	Inputs        int
	Took          time.Duration
	Changes       []Change
	Steps         []rondo.Step
	Events        []rondo.EventRecord
	Interventions []rondo.Intervention
	Sent          []rondo.Outgoing
	DeadLetters   int
	Healed        map[string]int // what would have woken cases was lost and is back, by what it was
	Purged        int            // instances that retention removed
}

// Change is one instance before and after. Before is nil when it was created.
type Change struct {
	Before, After *rondo.Instance
}

// Engine is a running orchestrator. Make one with New.
type Engine struct {
	store     store.Store
	bus       bus.Bus
	embedded  *embedded.Bus   // nil on an external bus
	relay     *caseloop.Relay // nil on the embedded bus
	loop      *caseloop.Loop
	processor *caseloop.Processor
	timers    *caseloop.Timers
	snapshots *caseloop.Snapshots
	ids       *rondo.IDs
	now       func() time.Time
	log       *slog.Logger
	retention time.Duration
	parkedFor time.Duration
	tick      time.Duration
	liveness  time.Duration
	observer  Observer
	runEnv    plan.Environment
	runAnswer atomic.Pointer[func(context.Context, *event.Envelope) error]

	live    *hub
	types   inboundTypes
	inbound inboundSet
	feeds   feedSet

	intake   context.CancelFunc // ends what feeds the loop
	outflow  context.CancelFunc // ends what sends its effects
	feeders  sync.WaitGroup
	senders  sync.WaitGroup
	wakeSoon chan struct{}
	lost     chan struct{}
	learned  chan struct{} // there may be new event types
	jobsSoon chan struct{} // a job was made here
}

// New wires an engine. It does no I/O.
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "new engine", Message: "Config.Store is missing"}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Retention <= 0 {
		cfg.Retention = 7 * 24 * time.Hour
	}
	if cfg.StreamCap == 0 {
		cfg.StreamCap = 1_000_000
	}
	if cfg.StreamCap > 0 && cfg.StreamCap < caseloop.MinCap {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "new engine", Message: "the cap of a stream is below 10",
			Hint: "give it room for the entries of a few minutes at least; the default is 1,000,000",
		}
	}
	if cfg.ParkedFor <= 0 {
		cfg.ParkedFor = flow.ParkedFor
	}
	if cfg.Tick <= 0 {
		cfg.Tick = 250 * time.Millisecond
	}
	if cfg.Liveness <= 0 {
		cfg.Liveness = 5 * time.Second
	}
	if w, ok := cfg.Store.(writers); ok && cfg.Shards <= 0 {
		cfg.Shards = w.Writers()
	}
	e := &Engine{
		store: cfg.Store, bus: cfg.Bus, now: cfg.Now, log: cfg.Log, retention: cfg.Retention, parkedFor: cfg.ParkedFor, tick: cfg.Tick, liveness: cfg.Liveness, observer: cfg.Observer, runEnv: cfg.RunEnvironment,
		ids: rondo.NewIDs(cfg.Now), snapshots: caseloop.NewSnapshots(cfg.Store), live: newHub(), wakeSoon: make(chan struct{}, 1), lost: make(chan struct{}, 1), learned: make(chan struct{}, 1), jobsSoon: make(chan struct{}, 1),
	}
	e.processor = &caseloop.Processor{
		Store: cfg.Store, Snapshots: e.snapshots, Now: cfg.Now, NewID: e.ids.New, Jitter: rand.Float64, ParkedFor: cfg.ParkedFor, Observe: e.committed,
	}
	if cfg.Bus == nil {
		e.embedded = embedded.New(cfg.Store, embedded.Options{Sink: sink{e}, Clock: cfg.Now, Log: cfg.Log})
		e.bus = e.embedded
		e.processor.Release = e.embedded.Committed
		e.processor.Lazy = func() ([]int64, []store.GroupState) { return nil, e.embedded.TakeAcks() }
		e.processor.Restore = func(_ []int64, acks []store.GroupState) { e.embedded.ReturnAcks(acks) }
	} else {
		e.relay = caseloop.NewRelay(cfg.Bus, cfg.Store, cfg.Now)
		if _, ok := cfg.Bus.(bus.Shortener); ok && cfg.StreamCap > 0 {
			e.relay.Cap = cfg.StreamCap
		}
		e.processor.Release = e.relay.Release
		e.processor.Doubt = e.relay.Doubt
		e.processor.Lazy = func() ([]int64, []store.GroupState) { return e.relay.TakeSent(), nil }
		e.processor.Restore = func(sent []int64, _ []store.GroupState) { e.relay.RestoreSent(sent) }
	}
	e.loop = caseloop.NewLoop(e.processor, caseloop.LoopOptions{Shards: cfg.Shards, Batch: cfg.Batch, Queue: cfg.Queue})
	e.timers = &caseloop.Timers{Store: cfg.Store, Submit: e.loop.Submit, Now: cfg.Now, Lease: 10 * time.Second}
	return e, nil
}

// writers is a store that knows how many batches it can commit side by side. One
// that writes through a single connection wants fewer and larger batches.
type writers interface{ Writers() int }

// Bus is what modules in the same process publish to and subscribe on.
func (e *Engine) Bus() bus.Bus { return e.bus }

// BusLost tells the engine that the bus has lost entries of a stream: every open
// request is published again, with the same ids. It does not block.
func (e *Engine) BusLost(stream string) {
	e.log.Warn("the bus lost entries; open requests are published again", "stream", stream)
	signal(e.lost)
}

// Start begins to work and returns when the engine is ready. On error nothing
// runs.
func (e *Engine) Start(ctx context.Context) error {
	launched, err := e.store.Launched(ctx, e.now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return rondo.Op("start engine", err)
	}
	e.processor.Launched = launched.Truncate(time.Second) // producers may count in seconds
	if err := e.seed(ctx); err != nil {
		return rondo.Op("seed templates and reason codes", err)
	}
	if err := e.refreshTypes(ctx); err != nil {
		return rondo.Op("start engine", err)
	}
	intake, stopIntake := context.WithCancel(context.Background())
	outflow, stopOutflow := context.WithCancel(context.Background())
	e.intake, e.outflow = stopIntake, stopOutflow
	e.loop.Start()
	if e.relay != nil {
		e.senders.Go(func() { e.runRelay(outflow) })
		if e.relay.Cap > 0 {
			e.senders.Go(func() { e.runStreamCap(outflow) })
		}
		if err := e.subscribe(ctx, intake); err != nil {
			e.Stop(ctx)
			return rondo.Op("subscribe to the bus", err)
		}
	}
	e.feeders.Go(func() { e.runTimers(intake) })
	e.feeders.Go(func() { e.runUpkeep(intake) })
	e.feeders.Go(func() { e.runJobs(intake) })
	e.feeders.Go(func() { e.runLiveness(intake) })
	e.feeders.Go(func() { e.runRetention(intake) })
	return nil
}

// Stop drains the engine and returns when nothing of it runs any more. When ctx
// ends first, what is left is abandoned; nothing is lost by that, it only
// happens again after the next start.
func (e *Engine) Stop(ctx context.Context) {
	if e.intake == nil { // it never started
		return
	}
	e.live.close()
	e.intake()
	if err := e.feeds.closeAll(); err != nil {
		e.log.Warn("closing event streams", "error", err)
	}
	e.inbound.stopFetching()
	e.feeders.Wait()
	e.loop.Stop(ctx)
	e.outflow()
	e.senders.Wait()
	if e.relay != nil {
		e.drainRelay(ctx)
	}
	e.inbound.drain(ctx, e.log)
	if e.embedded != nil {
		if err := e.embedded.Close(); err != nil {
			e.log.Warn("stopping the embedded bus", "error", err)
		}
	}
}

// committed tells the observer what a batch did and wakes the timer poller when
// an instance wants to be woken soon.
func (e *Engine) committed(b caseloop.Batch) {
	commit := Commit{Inputs: b.Inputs, Took: b.Took, Sent: b.Outbox}
	soon := e.now().Add(e.tick)
	wake := false
	for _, d := range b.Decisions {
		if after := d.Decision.Instance; after != nil {
			before := d.Before
			if replaced := d.Decision.Replaced; replaced != nil {
				commit.Changes = append(commit.Changes, Change{Before: before, After: replaced})
				before = nil
			}
			commit.Changes = append(commit.Changes, Change{Before: before, After: after})
			wake = wake || (!after.WakeAt.IsZero() && after.WakeAt.Before(soon))
		}
		if e.observer == nil {
			continue
		}
		if d.Healed {
			commit.Healed = e.countHealed(commit.Healed, d.Before)
		}
		commit.Steps = append(commit.Steps, d.Decision.Steps...)
		for _, row := range d.Decision.Rejudged {
			if row.Outcome != rondo.OutcomeParked { // one that stays parked was told of when it came
				commit.Events = append(commit.Events, row)
			}
		}
		if d.Decision.Event != nil {
			commit.Events = append(commit.Events, *d.Decision.Event)
		}
		if d.Decision.Intervention != nil {
			commit.Interventions = append(commit.Interventions, *d.Decision.Intervention)
		}
	}
	if wake {
		signal(e.wakeSoon)
	}
	e.live.committed(&b)
	if e.observer != nil {
		e.observer.Committed(commit)
	}
}
