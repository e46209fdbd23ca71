package cli

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo/internal/sim"
)

type simCommand struct {
	Schedules int    `help:"How many schedules to play." default:"10000"`
	Seed      uint64 `help:"Seed of the first schedule; the others count up from it. A reported seed with --schedules 1 replays that schedule." default:"1"`
	Workers   int    `help:"Schedules side by side." default:"2"`
}

// Validate refuses a simulation of nothing, which would always succeed.
func (c simCommand) Validate() error {
	return firstWrong(
		rule{c.Schedules >= 1, "--schedules must be at least 1"},
		rule{c.Workers >= 1, "--workers must be at least 1"},
	)
}

// Run simulates and fails when an invariant was broken.
func (c simCommand) Run(ctx context.Context, s streams) error {
	terminal := isTerminal(s.err)
	report, err := sim.Run(ctx, sim.Options{
		Schedules: c.Schedules, Seed: c.Seed, Workers: c.Workers,
		Progress: func(done int) {
			end := "\n"
			if terminal {
				end = "\r"
			}
			_, _ = fmt.Fprintf(s.err, "%d of %d schedules%s", done, c.Schedules, end)
		},
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "reached in %d schedules (seeds %d to %d):\n", report.Schedules, c.Seed, c.Seed+uint64(max(report.Schedules, 1))-1)
	report.Print(s.out)
	_, _ = fmt.Fprintf(s.out, "%d schedules in %.1f s, %d violations\n", report.Schedules, report.Took.Seconds(), len(report.Failures))
	if len(report.Failures) > 0 {
		return invalidError{fmt.Sprintf("invariants were broken; replay one with: rondo sim --schedules 1 --seed %d", report.Failures[0].Seed)}
	}
	return nil
}
