package chat

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/store"
)

// Service holds conversations. It keeps nothing of them in memory: any replica
// serves any turn. It is safe for concurrent use.
type Service struct {
	cfg   Config
	store store.Conversations
	now   func() time.Time
	log   *slog.Logger

	slots  chan struct{} // one for each request in flight
	relays chan struct{} // one for each relay right after a commit

	mu       sync.Mutex
	running  sync.WaitGroup // requests and whatever they left behind
	stopping bool
	stop     context.CancelFunc       // of the background loop; nil = not started
	attended map[string]chan struct{} // conversations held for a timer or a relay of this process, closed when given back
	upkeeps  int                      // how many of them were given back
}

// relaysAtOnce bounds the relays right after a commit; the loop does the others.
const relaysAtOnce = 32

// New makes a Service. It does no I/O.
func New(cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Service{
		cfg:      cfg,
		store:    cfg.Store,
		now:      cfg.Now,
		log:      cfg.Log,
		slots:    make(chan struct{}, cfg.MaxInFlight),
		relays:   make(chan struct{}, relaysAtOnce),
		attended: map[string]chan struct{}{},
	}, nil
}

// Start begins the background loop: due timers, events to relay, expiry. A second
// Start does nothing.
func (s *Service) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil || s.stopping {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.running.Go(func() { s.loop(ctx) })
}

// Stop refuses new requests, ends the loop and waits for turns under way, until
// ctx ends. Those that still run then go on and commit, or are lost with the
// process: their leases run out.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()

	idle := make(chan struct{})
	go func() {
		s.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return rondo.Op("waiting for turns under way", ctx.Err())
	}
}

// Info says who answers unless a definition names another; the zero Info when
// there is no agent.
func (s *Service) Info() agent.Info {
	if a, ok := s.cfg.Agents[s.cfg.DefaultAgent]; ok {
		return a.Info()
	}
	return agent.Info{}
}

// enter takes a place for a request; leave gives it back.
func (s *Service) enter() (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Message: "the server is stopping", Hint: "try again"}
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, &rondo.Error{Code: rondo.CodeOverloaded, Message: "too many turns are under way", Hint: "try again later", Err: &store.BusyError{RetryAfter: time.Second}}
	}
	s.running.Add(1)
	return func() {
		<-s.slots
		s.running.Done()
	}, nil
}

// behind runs f after its request was answered, unless too many run already.
func (s *Service) behind(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	select {
	case s.relays <- struct{}{}:
	default:
		return
	}
	s.running.Go(func() {
		defer func() { <-s.relays }()
		f()
	})
}
