// Command module is a module for Rondo in some sixty lines: it answers the AI
// reviews of every case, over Redis Streams or over HTTP alone. Run as many of it
// as you like; they share the work.
//
//	REDIS_URL=redis://127.0.0.1:6379/0 go run ./examples/module
//	RONDO_SERVER=http://127.0.0.1:3006 go run ./examples/module
//
// RONDO_TOKEN is the bearer token for HTTP, if one is needed.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/redis"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
	"github.com/rondo-engine/rondo/worker/httpbus"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

// run works until it is interrupted, then finishes what it has begun.
func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))

	events, err := connect(log)
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	if err := events.Check(ctx); err != nil {
		return err
	}

	module := worker.New(worker.Config{
		Group:    "ai-review",
		Bus:      events,
		Handlers: map[string]worker.Handler{event.TypeAIReviewRequested: review},
		Log:      log,
	})
	if err := module.Start(ctx); err != nil {
		return err
	}
	log.Info("answering AI reviews")
	<-ctx.Done()

	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return module.Stop(drain)
}

// connect chooses the way to Rondo; the rest of the module does not mind which.
func connect(log *slog.Logger) (bus.Bus, error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		return redis.New(url, redis.Options{Name: "ai-review", Log: log})
	}
	opts := httpbus.Options{URL: cmp.Or(os.Getenv("RONDO_SERVER"), "http://127.0.0.1:3006"), Log: log}
	if token := os.Getenv("RONDO_TOKEN"); token != "" {
		opts.Token = func(context.Context) (string, error) { return token, nil }
	}
	return httpbus.New(opts)
}

type image struct {
	ID string `json:"id"`
}

type diagnosis struct {
	Code       string  `json:"code"`
	Confidence float64 `json:"confidence"`
}

type opinion struct {
	Confidence float64     `json:"confidence"`
	Diagnoses  []diagnosis `json:"diagnoses"`
}

// review does the work of one request. Its answer becomes ai_review.completed; a
// *worker.Failure becomes ai_review.failed with that reason; any other error a
// failure that Rondo may retry.
func review(_ context.Context, request *event.Envelope) (any, error) {
	var in struct {
		Images []image `json:"images"`
	}
	if err := json.Unmarshal(request.Payload, &in); err != nil {
		return nil, &worker.Failure{ReasonCode: "invalid_input", Message: "the request is not of the expected shape"}
	}
	if len(in.Images) == 0 {
		return nil, &worker.Failure{ReasonCode: "image_quality", Message: "there is no image to look at"}
	}
	// Here a real module would ask its model.
	return opinion{Confidence: 0.91, Diagnoses: []diagnosis{{Code: "D22.5", Confidence: 0.91}}}, nil
}
