package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/blobs"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/skill/skills"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/hot"
)

// RunOptions is what runs need to know.
type RunOptions struct {
	Allow       SkillOptions
	Skills      string // file of skills, prompts and configs; "" = none
	Blobs       string // URL of where the bytes of artifacts are
	Slots       int    // see runs.Config, and below
	TenantSlots int
	MaxRuns     int
	TenantRuns  int
	Lease       time.Duration

	Retention     time.Duration
	CacheMaxAge   time.Duration
	CacheMaxBytes int64
}

// runPart is the part of a server that drives runs.
type runPart struct {
	service *runs.Service
	skills  *skills.Set
	worker  *engine.RunWorker // nil = cases start none here
	hot     io.Closer         // Redis of its own; nil = none
}

// StoredRuns is a database as a store of runs.
func StoredRuns(s store.Store) (store.Runs, error) {
	kept, ok := s.(store.Runs)
	if !ok {
		return nil, &rondo.Error{Code: rondo.CodeInternal, Op: "open runs", Message: "this database keeps no runs"}
	}
	return kept, nil
}

// OpenHotCache opens the hot tier of the step cache: in the Redis that a URL names,
// in process when there is none. Nothing of value is in it, so a Redis that evicts
// is fine.
func OpenHotCache(ctx context.Context, redis string) (tier store.HotCache, closeIt func(), err error) {
	if redis == "" {
		return hot.New(hot.Options{}), func() {}, nil
	}
	opened, err := OpenRedisConversations(ctx, redis, true)
	if err != nil {
		return nil, nil, err
	}
	return opened.RunCache(), func() { _ = opened.Close() }, nil
}

// runParts is what a run service stands on.
type runParts struct {
	store   store.Store
	engine  *engine.Engine
	library *runLibrary
	redis   string
	log     *slog.Logger
	observe runs.Observer // nil = nobody
	relay   runs.Relay    // nil = what runs raise waits for a server
}

// newRuns makes a run service that is not started.
func newRuns(ctx context.Context, o RunOptions, p runParts) (*runPart, error) {
	kept, err := StoredRuns(p.store)
	if err != nil {
		return nil, err
	}
	if p.relay != nil { // a server, whose engine is at work
		kept = p.engine.RunStore(kept)
	}
	set := p.library.set
	set.Sweep()
	blobStore, err := blobs.Open(o.Blobs, os.Getenv)
	if err != nil {
		return nil, err
	}
	tier, closeHot, err := OpenHotCache(ctx, p.redis)
	if err != nil {
		return nil, err
	}
	part := &runPart{skills: set, hot: closer(closeHot)}
	retention, _ := p.store.(store.Retention) // nil: there are no policies by tenant
	part.service, err = runs.New(runs.Config{
		Store: kept, Definitions: p.engine.RunDefinitions(), Skills: skills.ForRuns{Set: set},
		Environment: p.library, Blobs: blobStore, Hot: tier, Relay: p.relay, Observer: p.observe, Log: p.log,
		Slots: o.Slots, TenantSlots: o.TenantSlots, MaxRuns: o.MaxRuns, TenantRuns: o.TenantRuns, OwnerLease: o.Lease, RunRetention: o.Retention, Retention: retention, CacheMaxAge: o.CacheMaxAge, CacheMaxBytes: o.CacheMaxBytes,
	})
	if err != nil {
		closeHot()
		return nil, err
	}
	return part, nil
}

// closer is a function that lets go of something.
type closer func()

// Close calls it.
func (c closer) Close() error {
	c()
	return nil
}

// driveRuns makes the server drive runs, once its engine works.
func (s *server) driveRuns(ctx context.Context) error {
	part, err := newRuns(ctx, s.opts.Runs, runParts{
		store: s.store, engine: s.engine, library: s.library, redis: s.opts.Redis, log: s.opts.Log, observe: s.metrics.Runs(), relay: s.engine.RunRelay(),
	})
	if err != nil {
		return err
	}
	s.runs = part // from here on close sees to it
	if err := part.service.Start(ctx); err != nil {
		return rondo.Op("start runs", err)
	}
	s.engine.OnRunAnswer(part.service.Deliver)
	part.worker = s.engine.RunWorker(part.service)
	return part.worker.Start(ctx)
}

// stop ends the work of runs in order: nothing more of cases and workers, then the
// steps under way. What is not done then is left to others.
func (p *runPart) stop(ctx context.Context) error {
	if p == nil || p.service == nil {
		return nil
	}
	var errs []error
	if p.worker != nil {
		errs = append(errs, p.worker.Stop())
	}
	return errors.Join(append(errs, p.service.Stop(ctx))...)
}

// close lets go of what runs stood on.
func (p *runPart) close() error {
	if p == nil || p.hot == nil {
		return nil
	}
	return p.hot.Close()
}
