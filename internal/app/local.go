package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/demo"
	"github.com/rondo-engine/rondo/internal/httpapi"
	"github.com/rondo-engine/rondo/store"
)

// LocalOptions is what runs without a server need to know.
type LocalOptions struct {
	Database string // URL
	Redis    string // URL of the hot tier; "" = in process
	Runs     RunOptions
	Log      *slog.Logger
	Version  string
}

// Local drives runs on this machine without a server: the same service and the
// same API, reachable from this process alone. Any number of them, and servers,
// may share a database. It drives no cases: events that runs raise for them, and
// work for remote skills, wait in the database for a server on it.
type Local struct {
	store  store.Store
	engine *engine.Engine
	runs   *runPart
	http   *http.Server
	pipe   *pipe
	served chan error
	client *client.Client
}

// StartLocal opens a database, brings it up to date, and begins to drive runs.
func StartLocal(ctx context.Context, o LocalOptions) (*Local, error) {
	l := &Local{pipe: newPipe(), served: make(chan error, 1)}
	if err := l.open(ctx, o); err != nil {
		l.Close(time.Second)
		return nil, err
	}
	return l, nil
}

func (l *Local) open(ctx context.Context, o LocalOptions) error {
	o.Runs.Allow.own = simulatedSkills()
	library, err := newRunLibrary(o.Runs.Skills, o.Runs.Allow)
	if err != nil {
		return err
	}
	if l.store, err = OpenStore(o.Database, o.Redis == ""); err != nil {
		return err
	}
	if err := l.store.Migrate(ctx); err != nil {
		return rondo.Op("migrate", err)
	}
	if l.engine, err = engine.New(engine.Config{Store: l.store, Log: o.Log, RunEnvironment: library}); err != nil {
		return err
	}
	if l.runs, err = newRuns(ctx, o.Runs, runParts{store: l.store, engine: l.engine, library: library, redis: o.Redis, log: o.Log}); err != nil {
		return err
	}
	if err := l.runs.service.Start(ctx); err != nil {
		return rondo.Op("start runs", err)
	}
	api, err := httpapi.New(httpapi.Config{
		Cases: l.engine, Definitions: l.engine, Events: l.engine, Trials: l.engine, Jobs: l.engine, Retention: l.engine, Health: l.engine,
		Runs: l.runs.service, Auth: auth.Stub{}, Log: o.Log, Version: o.Version,
	})
	if err != nil {
		return err
	}
	l.http = httpapi.NewServer("", api)
	l.http.RegisterOnShutdown(api.EndStreams)
	go func() { l.served <- l.http.Serve(l.pipe) }()
	l.client, err = client.New(client.Config{BaseURL: "http://localhost", HTTP: &http.Client{
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.pipe.dial(ctx) }},
	}})
	return err
}

// Client calls the API.
func (l *Local) Client() *client.Client { return l.client }

// Register makes a definition of a run active, whatever was active under its
// version before: a file that is being worked on keeps its version.
func (l *Local) Register(ctx context.Context, source []byte) (rondo.Definition, error) {
	if err := checkSkills(l.runs.skills, source); err != nil {
		return rondo.Definition{}, err
	}
	return l.engine.RegisterLocal(ctx, demo.Org, source)
}

// Close leaves what has not ended to others and lets go of everything.
func (l *Local) Close(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if l.http != nil {
		if err := l.http.Shutdown(ctx); err != nil {
			_ = l.http.Close() // somebody still reads a stream
		}
		<-l.served // it says that it was closed
	}
	_ = l.runs.stop(ctx) // what is left goes on elsewhere
	_ = l.runs.close()
	if l.store != nil {
		_ = l.store.Close()
	}
}
