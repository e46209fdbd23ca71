package runs

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Service drives runs. It is safe for concurrent use.
//
// # Guarantees
//
//  1. What Trigger returned is durable and ends, whatever process dies.
//  2. A step is never attempted before everything it depends on is done, and never
//     after its run has ended. A completed step is not computed again in its run.
//  3. Of equal steps that are under way at once, in any runs of a tenant and in any
//     process, one is computed; the others wait without a slot.
//  4. A cache that is broken is a miss. A store that is away stops nothing that is
//     at work: what it gave is written when the store is back.
type Service struct {
	cfg   Config
	store store.Runs
	now   func() time.Time
	log   *slog.Logger
	keeping

	shards   []*shard
	slots    *slots
	memo     memo
	watchers watchers
	roster   roster                 // runs in hand
	held     atomic.Int64           // bytes that they have in memory
	orphans  orphans                // claimed, and not to be read so far
	queued   atomic.Int64           // above 0: runs may wait in the store for room
	term     atomic.Pointer[tenure] // nil until started
	lapsed   chan struct{}          // holds one: the tenure was found to be over
	look     chan struct{}          // holds one: there may be runs to claim
	relay    chan struct{}          // holds one: there is something to relay
	toHot    chan store.HotEntry
	hotAfter atomic.Int64 // nanoseconds since 1970: the hot tier is not asked before
	stopping atomic.Bool

	mu       sync.Mutex
	stop     context.CancelFunc // nil = not running
	ended    chan struct{}      // closed when the loops have ended
	loops    sync.WaitGroup
	attempts sync.WaitGroup // skills at work, and what is done by the way
}

// New makes a Service. It does no I/O.
func New(cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, store: cfg.Store, now: cfg.Now, log: cfg.Log, slots: newSlots(cfg.Slots, cfg.TenantSlots),
		lapsed: make(chan struct{}, 1), look: make(chan struct{}, 1), relay: make(chan struct{}, 1),
		toHot: make(chan store.HotEntry, hotQueue), ended: make(chan struct{}),
	}
	for i := range cfg.Shards {
		s.shards = append(s.shards, newShard(s, i))
	}
	return s, nil
}

// Start takes a name as owner and begins to drive runs. It returns when the store
// has answered. A Service is started once.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil || s.stopping.Load() {
		return rondo.WrongState("the run service was started before")
	}
	t, err := s.take(ctx)
	if err != nil {
		return rondo.Op("start the run service", err)
	}
	s.term.Store(t)
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	for _, sh := range s.shards {
		sh.term = t
		s.loops.Go(func() { sh.loop(living) })
	}
	s.loops.Go(func() { s.beat(living) })
	s.loops.Go(func() { s.poll(living) })
	s.loops.Go(func() { s.keep(living) })
	if s.cfg.Relay != nil {
		s.loops.Go(func() { s.relayRaised(living) })
	}
	if s.cfg.Hot != nil {
		s.loops.Go(func() { s.heat(living) })
	}
	return nil
}

// Stop begins no further attempts and waits for those under way until ctx ends.
// Those that still work then are given up: their runs, like all that have not
// ended, are left to others.
func (s *Service) Stop(ctx context.Context) error {
	s.stopping.Store(true)
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop == nil {
		return nil
	}
	s.wakeShards()
	var err error
	for _, sh := range s.shards {
		select {
		case <-sh.drained:
			continue
		case <-s.ended:
		case <-ctx.Done():
			err = rondo.Op("waiting for steps under way", ctx.Err())
		}
		break
	}
	s.halt()
	s.noteUses(context.WithoutCancel(ctx))
	s.leave(context.WithoutCancel(ctx), s.term.Load())
	return err
}

// halt ends every loop and gives skills a grace to end.
func (s *Service) halt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.loops.Wait()
	select {
	case <-s.ended:
		return
	default:
		close(s.ended)
	}
	gone := make(chan struct{})
	go func() {
		s.attempts.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(s.cfg.Grace):
		s.log.Error("skills do not end although they were told to; they are left alone")
	}
}

// shardOf is who drives a run.
func (s *Service) shardOf(id rondo.ID) *shard {
	return s.shards[int(id[15])%len(s.shards)]
}

func (s *Service) wakeShards() {
	for _, sh := range s.shards {
		sh.nudge()
	}
}

// tellShards tells the other shards that flights have landed.
func (s *Service) tellShards(by *shard, landed []flight) {
	for _, sh := range s.shards {
		if sh != by {
			sh.post(landings(landed))
		}
	}
}

// lookAround makes the poll look for runs now.
func (s *Service) lookAround() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// timeout is that of a step, or the default.
func (s *Service) timeout(of time.Duration) time.Duration {
	if of > 0 {
		return of
	}
	return s.cfg.DefaultTimeout
}
