package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/bench"
	"github.com/rondo-engine/rondo/store"
)

type benchCommand struct {
	Cases benchCases `cmd:"" help:"Five no-op module steps a case, everything durable, in a closed loop."`
	Chat  benchChat  `cmd:"" help:"Turns of conversations with an agent that answers at once, everything durable, in a closed loop."`
	Runs  benchRuns  `cmd:"" help:"Runs of no-op steps, side by side and in a row, everything durable, one at a time."`
	Lists benchLists `cmd:"" help:"Pages of instances by every filter, among many."`
}

// maxSeconds bounds what is measured, so that it fits a duration.
const maxSeconds = 24 * 60 * 60

type benchCases struct {
	Output   string  `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
	Store    string  `name:"store" aliases:"database" help:"Database URL. Default: SQLite, synchronous FULL, in a temporary folder." placeholder:"URL"`
	Redis    string  `help:"Redis URL for the bus. Default: the embedded bus." placeholder:"URL"`
	InFlight int     `name:"inflight" help:"Cases under way at once." default:"100"`
	Steps    int     `help:"Steps a case." default:"5"`
	Seconds  float64 `help:"Length of the measured window." default:"10"`
	Warmup   float64 `help:"Seconds before the window." default:"2"`
	Finished int     `help:"Finished cases to put into the database first." default:"0"`
	Shards   int     `help:"Commits side by side; 0 = the store's own." default:"0"`
	Batch    int     `help:"Inputs a commit takes at most; 0 = 128." default:"0"`
	Profile  string  `help:"Write a CPU profile to this file." placeholder:"FILE"`
}

// Validate refuses what cannot be measured.
func (c benchCases) Validate() error {
	return firstWrong(
		rule{c.InFlight >= 1, "--inflight must be at least 1"},
		rule{c.Steps >= 1 && c.Steps <= 100, "--steps must be 1 to 100"},
		rule{c.Seconds > 0 && c.Seconds <= maxSeconds, "--seconds must be more than 0 and at most a day"},
		rule{c.Warmup >= 0 && c.Warmup <= maxSeconds, "--warmup must be 0 or more and at most a day"},
		rule{c.Finished >= 0, "--finished must be 0 or more"},
		rule{c.Shards >= 0, "--shards must be 0 or more"},
		rule{c.Batch >= 0, "--batch must be 0 or more"},
	)
}

// Run measures and prints one result.
func (c benchCases) Run(ctx context.Context, s streams) error {
	log := logger(s.err, slog.LevelWarn, false)
	database, closeStore, err := openBenchStore(ctx, c.Store, c.Redis == "")
	if err != nil {
		return err
	}
	defer closeStore()
	work := bench.Cases{
		Store: database, InFlight: c.InFlight, Steps: c.Steps, Warmup: seconds(c.Warmup), Window: seconds(c.Seconds),
		Finished: c.Finished, Shards: c.Shards, Batch: c.Batch, Log: log,
	}
	if c.Redis != "" {
		events, err := app.OpenBus(c.Redis, false, nil, log)
		if err != nil {
			return err
		}
		defer func() { _ = events.Close() }()
		work.Bus = events
	}
	result, err := profiled(ctx, c.Profile, work.Run)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(s.out, result)
	}
	_, err = fmt.Fprintf(s.out, "%10.0f steps/s\n%10.0f cases/s\n%10.2f ms p50\n%10.2f ms p99\n%10.0f MiB resident\n%10.0f commits/s\n%10.2f rows/step\n",
		result.StepsPerSecond, result.CasesPerSecond, result.P50, result.P99, result.RSS, result.CommitsPerSecond, result.RowsPerStep)
	return err
}

// profiled measures, and writes a CPU profile of that to a file; "" = none.
func profiled[R any](ctx context.Context, file string, run func(context.Context) (R, error)) (result R, err error) {
	stop, err := profile(file)
	if err != nil {
		return result, err
	}
	defer stop()
	return run(ctx)
}

// openBenchStore opens and migrates a database: the one at url, else one that goes
// away when it is closed.
func openBenchStore(ctx context.Context, url string, embedded bool) (database store.Store, closeStore func(), err error) {
	remove := func() {}
	if url == "" {
		dir, err := os.MkdirTemp("", "rondo-bench-")
		if err != nil {
			return nil, nil, err
		}
		remove = func() { _ = os.RemoveAll(dir) }
		url = "sqlite:" + filepath.Join(dir, "bench.db")
	}
	if database, err = app.OpenStore(url, embedded); err != nil {
		remove()
		return nil, nil, err
	}
	closeStore = func() {
		_ = database.Close()
		remove()
	}
	if err := database.Migrate(ctx); err != nil {
		closeStore()
		return nil, nil, err
	}
	return database, closeStore, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// profile writes a CPU profile to a file until stop is called; "" = none.
func profile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
