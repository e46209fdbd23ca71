package cli

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo/internal/bench"
)

type benchLists struct {
	Output    string `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
	Store     string `name:"store" aliases:"database" help:"URL of an empty database. Default: SQLite in a temporary folder." placeholder:"URL"`
	Instances int    `help:"Running instances to put into the database." default:"10000"`
	Finished  int    `help:"Finished instances among them." default:"20000"`
	Rounds    int    `help:"How often each query runs." default:"40"`
}

// Validate refuses what cannot be measured.
func (c benchLists) Validate() error {
	return firstWrong(
		rule{c.Instances >= 1, "--instances must be at least 1"},
		rule{c.Finished >= 0, "--finished must be 0 or more"},
		rule{c.Rounds >= 1, "--rounds must be at least 1"},
	)
}

// Run measures and prints one line per query.
func (c benchLists) Run(ctx context.Context, s streams) error {
	database, closeStore, err := openBenchStore(ctx, c.Store, true)
	if err != nil {
		return err
	}
	defer closeStore()
	result, err := bench.Lists{Store: database, Instances: c.Instances, Finished: c.Finished, Rounds: c.Rounds}.Run(ctx)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		return printJSON(s.out, result)
	}
	for _, q := range result.Queries {
		if _, err := fmt.Fprintf(s.out, "%8.2f ms p50 %8.2f ms p95 %4d rows  %s\n", q.P50, q.P95, q.Rows, q.Query); err != nil {
			return err
		}
	}
	return nil
}
