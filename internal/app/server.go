package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/internal/metrics"
	"github.com/rondo-engine/rondo/store"
)

// Options is what a server needs to know.
type Options struct {
	Listen         string
	Database       string // URL
	Redis          string // URL; "" = the embedded bus
	Migrate        bool   // bring the schema up to date first
	Auth           auth.Config
	AllowEviction  bool
	StreamCap      int64         // see engine.Config
	ParkedFor      time.Duration // see engine.Config
	NoTenantLabels bool
	Chat           ChatOptions
	Runs           RunOptions
	Drain          time.Duration // how long a stop may take. Default 20 s.
	Log            *slog.Logger
	Version        string

	observer engine.Observer                              // beside the metrics; nil = none
	extra    func(*engine.Engine) map[string]http.Handler // routes beside the API; nil = none
}

// lagEvery is how often the lag gauges are read.
const lagEvery = 5 * time.Second

// server is a running orchestrator with its edges.
type server struct {
	opts    Options
	store   store.Store
	bus     bus.Bus // nil = embedded
	engine  *engine.Engine
	metrics *metrics.Metrics
	http    *http.Server
	listen  net.Listener
	chat    *conversations                // nil = none are held
	runs    *runPart                      // nil = not started
	library *runLibrary                   // what workflows may use
	running atomic.Pointer[engine.Engine] // once started
}

// Serve runs the orchestrator until ctx ends, then drains it.
func Serve(ctx context.Context, opts Options) error {
	s, err := start(ctx, opts)
	if err != nil {
		return err
	}
	s.opts.Log.Info("ready", "address", s.listen.Addr().String(), "version", opts.Version,
		"database", masked(opts.Database), "bus", cmp.Or(masked(opts.Redis), "embedded"), "agent", cmp.Or(opts.Chat.Provider, "none"))
	return s.run(ctx, nil)
}

// start opens everything in order and undoes it when a later part fails: after
// it returns nil the server answers.
func start(ctx context.Context, opts Options) (*server, error) {
	if opts.Drain <= 0 {
		opts.Drain = 20 * time.Second
	}
	if err := auth.Validate(opts.Listen, opts.Auth); err != nil {
		return nil, err
	}
	if opts.Auth.Off && opts.Auth.AllowInsecure {
		opts.Log.Warn("authentication is off: everyone who can reach this address may do everything", "address", opts.Listen)
	}
	if err := opts.Chat.check(); err != nil {
		return nil, err
	}
	authenticator, err := auth.New(opts.Auth)
	if err != nil {
		return nil, err
	}
	s := &server{opts: opts, metrics: metrics.New(metrics.Options{NoTenantLabels: opts.NoTenantLabels, Runtime: true})}
	// Listen first: a second start on the same address must fail before it touches the database.
	if s.listen, err = (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Listen); err != nil {
		return nil, &rondo.Error{Code: rondo.CodeUnavailable, Op: "listen", Message: err.Error(), Hint: "stop what listens there, or choose another address with --listen"}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	edge := httpapi.Config{
		Cases: s.engine, Definitions: s.engine, Events: s.engine, Trials: s.engine, Jobs: s.engine, Retention: s.engine, Answers: s.store, Health: s.engine, Auth: authenticator, Metrics: s.metrics, Log: opts.Log, Version: opts.Version,
	}
	if err = s.talk(ctx); err == nil {
		s.offerChat(&edge)
		err = s.driveRuns(ctx)
	}
	var handler *httpapi.API
	if err == nil {
		edge.Runs = s.runs.service
		handler, err = httpapi.New(edge)
	}
	if err != nil {
		err = errors.Join(err, s.runs.stop(ctx), s.chat.stop(ctx))
		s.engine.Stop(ctx)
		return nil, errors.Join(err, s.close())
	}
	s.http = httpapi.NewServer(opts.Listen, s.mount(handler))
	if s.chat != nil {
		s.http.WriteTimeout = max(s.http.WriteTimeout, opts.Chat.turnLimit())
	}
	s.http.RegisterOnShutdown(handler.EndStreams)
	return s, nil
}

// open connects store and bus and starts the engine.
func (s *server) open(ctx context.Context) error {
	var err error
	if s.library, err = newRunLibrary(s.opts.Runs.Skills, s.opts.Runs.Allow); err != nil {
		return err
	}
	if s.store, err = OpenStore(s.opts.Database, s.opts.Redis == ""); err != nil {
		return err
	}
	if s.opts.Migrate {
		if err := s.store.Migrate(ctx); err != nil {
			return rondo.Op("migrate", err)
		}
	} else if err := s.store.Check(ctx); err != nil {
		return rondo.Op("check database", err) // its hint fits: unreachable, too old or too new
	}
	if s.opts.Redis != "" {
		if s.bus, err = OpenBus(s.opts.Redis, s.opts.AllowEviction, s.busLost, s.opts.Log); err != nil {
			return err
		}
		if err := s.bus.Check(ctx); err != nil {
			return rondo.Op("check redis", err)
		}
	}
	watching := observers{meter{s.metrics}}
	if s.opts.observer != nil {
		watching = append(watching, s.opts.observer)
	}
	if s.engine, err = engine.New(engine.Config{Store: s.store, Bus: s.bus, StreamCap: s.opts.StreamCap, ParkedFor: s.opts.ParkedFor, Log: s.opts.Log, Observer: watching, RunEnvironment: s.library}); err != nil {
		return err
	}
	s.running.Store(s.engine)
	return s.engine.Start(ctx)
}

// busLost passes a loss on to the engine, which consumes only once it is there.
func (s *server) busLost(stream string) {
	if e := s.running.Load(); e != nil {
		e.BusLost(stream)
	}
}

// requestLimit is how long a request may take: a database that hangs must not
// hang its callers.
const requestLimit = 30 * time.Second

// mount puts the extra routes before the API, shows the documentation at the
// root, and bounds every request.
func (s *server) mount(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	if s.opts.extra != nil {
		for prefix, handler := range s.opts.extra(s.engine) {
			mux.Handle(prefix, handler)
		}
	}
	mux.Handle("GET /{$}", http.RedirectHandler("/docs", http.StatusSeeOther))
	mux.Handle("/", api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if httpapi.IsStream(r) { // it lasts as long as its reader wants
			mux.ServeHTTP(w, r)
			return
		}
		limit := requestLimit
		if strings.HasPrefix(r.URL.Path, "/api/chat/") {
			limit = s.opts.Chat.turnLimit()
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		mux.ServeHTTP(w, r.WithContext(ctx))
	})
}

// run answers until ctx ends, then stops in order: whatever first stops, no new
// requests, drain the engine, close what it stood on.
func (s *server) run(ctx context.Context, first func()) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listen) }()
	gauges, stopGauges := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watchLag(gauges)
	}()
	var serveErr error
	select {
	case <-ctx.Done():
	case serveErr = <-failed:
	}
	stopGauges()
	<-watched
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Drain)
	defer cancel()
	s.opts.Log.Info("stopping", "drain", s.opts.Drain.String())
	if first != nil {
		first()
	}
	shutdown := s.http.Shutdown(drain)
	ran := s.runs.stop(drain)
	talked := s.chat.stop(drain)
	s.engine.Stop(drain)
	if errors.Is(serveErr, http.ErrServerClosed) {
		serveErr = nil
	}
	return errors.Join(serveErr, shutdown, ran, talked, s.close())
}

func (s *server) close() error {
	errs := []error{s.chat.close(), s.runs.close()}
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if err := s.listen.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// watchLag keeps the lag gauges current.
func (s *server) watchLag(ctx context.Context) {
	ticker := time.NewTicker(lagEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lag, err := s.engine.Lag(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.opts.Log.Warn("reading how far behind the engine is", "error", err)
			}
			continue
		}
		s.metrics.SetOutbox(lag.Unsent, lag.OldestUnsent.Seconds())
		s.metrics.SetTimerLag(lag.Timer.Seconds())
		s.metrics.SetWaiting(lag.Waiting.Parked, lag.Waiting.DeadLetters)
		groups := make([]metrics.Lag, len(lag.Groups))
		for i, g := range lag.Groups {
			groups[i] = metrics.Lag{Group: g.Group, Stream: g.Stream, Entries: g.Entries, Tenant: engine.HTTPGroup(g.Group)}
		}
		s.metrics.SetBusLag(groups)
		s.metrics.SetHeld(lag.Held)
	}
}

// Migrate brings a database up to date and says so.
func Migrate(ctx context.Context, url string, out io.Writer) error {
	s, err := OpenStore(url, true)
	if err != nil {
		return err
	}
	if err := s.Migrate(ctx); err != nil {
		return errors.Join(rondo.Op("migrate", err), s.Close())
	}
	_, err = fmt.Fprintf(out, "%s: the schema is up to date\n", masked(url))
	return errors.Join(err, s.Close())
}
