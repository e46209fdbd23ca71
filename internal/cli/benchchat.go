package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/bench"
)

type benchChat struct {
	Output   string  `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
	Store    string  `name:"store" aliases:"database" help:"Database URL. Default: SQLite, synchronous FULL, in a temporary folder." placeholder:"URL" xor:"where"`
	Redis    string  `help:"Redis URL: conversations are kept there instead." placeholder:"URL" xor:"where"`
	InFlight int     `name:"inflight" help:"Turns under way at once." default:"100"`
	Seconds  float64 `help:"Length of the measured window." default:"10"`
	Warmup   float64 `help:"Seconds before the window." default:"2"`
	Long     int     `help:"Messages of a long conversation whose turns are measured too; 0 = none." default:"2000"`
	Profile  string  `help:"Write a CPU profile to this file." placeholder:"FILE"`
}

// Validate refuses what cannot be measured.
func (c benchChat) Validate() error {
	return firstWrong(
		rule{c.InFlight >= 1 && c.InFlight <= 100_000, "--inflight must be 1 to 100000"},
		rule{c.Seconds > 0 && c.Seconds <= maxSeconds, "--seconds must be more than 0 and at most a day"},
		rule{c.Warmup >= 0 && c.Warmup <= maxSeconds, "--warmup must be 0 or more and at most a day"},
		rule{c.Long >= 0 && c.Long <= 1_000_000, "--long must be 0 to 1000000"},
	)
}

// Run measures and prints one result.
func (c benchChat) Run(ctx context.Context, s streams) error {
	work := bench.Chat{InFlight: c.InFlight, Warmup: seconds(c.Warmup), Window: seconds(c.Seconds), Long: c.Long, Log: logger(s.err, slog.LevelError, false)}
	if c.Redis != "" {
		conversations, err := app.OpenRedisConversations(ctx, c.Redis, false)
		if err != nil {
			return err
		}
		defer func() { _ = conversations.Close() }()
		work.Store = conversations
	} else {
		database, closeStore, err := openBenchStore(ctx, c.Store, true)
		if err != nil {
			return err
		}
		defer closeStore()
		if work.Store, err = app.StoredConversations(database); err != nil {
			return err
		}
	}
	result, err := profiled(ctx, c.Profile, work.Run)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(s.out, result)
	}
	_, err = fmt.Fprintf(s.out, "%10.0f turns/s\n%10.2f ms p50\n%10.2f ms p99\n%10.0f MiB resident\n%10.2f ms p50 of a lone turn\n%10.2f ms p50 of a lone turn after %d messages\n",
		result.TurnsPerSecond, result.P50, result.P99, result.RSS, result.LoneP50, result.LongP50, result.LongMessages)
	return err
}
