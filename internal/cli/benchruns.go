package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/bench"
)

type benchRuns struct {
	Output  string  `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
	Store   string  `name:"store" aliases:"database" help:"Database URL. Default: SQLite, synchronous FULL, in a temporary folder." placeholder:"URL"`
	Redis   string  `help:"Redis URL for the hot tier of the cache. Default: in process." placeholder:"URL"`
	Seconds float64 `help:"Length of the measured window of each shape." default:"5"`
	Slots   int     `help:"Steps at work at once." default:"128" placeholder:"N"`
	Warmup  float64 `help:"Seconds before each window." default:"1"`
	Plan    int     `name:"plan-steps" help:"Steps of the workflow that is planned, in hundreds; figures are compared at 10000." default:"10000" placeholder:"N"`
	Profile string  `help:"Write a CPU profile to this file." placeholder:"FILE"`
}

// Validate refuses what cannot be measured.
func (c benchRuns) Validate() error {
	return firstWrong(
		rule{c.Seconds > 0 && c.Seconds <= maxSeconds, "--seconds must be more than 0 and at most a day"},
		rule{c.Slots >= 1 && c.Slots <= 10_000, "--slots must be 1 to 10000"},
		rule{c.Warmup >= 0 && c.Warmup <= maxSeconds, "--warmup must be 0 or more and at most a day"},
		rule{c.Plan >= 100 && c.Plan <= 10_000, "--plan-steps must be 100 to 10000"},
	)
}

// Run measures and prints one result.
func (c benchRuns) Run(ctx context.Context, s streams) error {
	database, closeStore, err := openBenchStore(ctx, c.Store, true)
	if err != nil {
		return err
	}
	defer closeStore()
	kept, err := app.StoredRuns(database)
	if err != nil {
		return err
	}
	hot, closeHot, err := app.OpenHotCache(ctx, c.Redis)
	if err != nil {
		return err
	}
	defer closeHot()
	work := bench.Runs{Store: kept, Hot: hot, Slots: c.Slots, Window: seconds(c.Seconds), Warmup: seconds(c.Warmup), PlanSteps: c.Plan, Log: logger(s.err, slog.LevelWarn, false)}
	result, err := profiled(ctx, c.Profile, work.Run)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(s.out, result)
	}
	_, err = fmt.Fprintf(s.out, "%10.0f steps/s in fans of 102\n%10.0f steps/s in chains of 100\n%10.3f ms p95 of a reused step\n%10.1f ms to plan %d steps\n%10.1f ms to plan them when all are reused\n%10.0f steps/s in a run of them\n%10.0f MiB resident\n",
		result.FanStepsPerSecond, result.ChainStepsPerSecond, result.CachedP95, result.Plan10k, c.Plan/100*100, result.PlanReuse10k, result.Run10k, result.RSS)
	return err
}
