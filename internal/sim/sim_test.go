package sim_test

import (
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/internal/sim"
)

func TestNoScheduleBreaksAnInvariant(t *testing.T) {
	schedules := 5000
	if testing.Short() {
		schedules = 500
	}
	report, err := sim.Run(t.Context(), sim.Options{Schedules: schedules, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	report.Print(&printed)
	t.Log("\n" + printed.String())
	if len(report.Failures) > 0 {
		t.Errorf("%d schedules broke an invariant", len(report.Failures))
	}
	floor := func(name string, reached int, percent float64) {
		if share := 100 * float64(reached) / float64(report.Schedules); share < percent {
			t.Errorf("%s in %.1f %% of the schedules, want at least %.0f %%: the simulation has become too quiet", name, share, percent)
		}
	}
	r := report.Reached
	floor("completed", r.Completed, 30)
	floor("retried", r.Retried, 20)
	floor("halted", r.Halted, 5)
	floor("deadline", r.Deadline, 5)
	floor("timeout race", r.TimeoutRace, 5)
	floor("late outcome", r.Late, 5)
	floor("parked", r.Parked, 3)
	floor("crashed between commit and ack", r.CrashedCommitAck, 20)
	floor("ambiguous commit", r.Ambiguous, 20)
	floor("swept", r.Swept, 5)
	floor("two replicas on one case", r.TwoReplicas, 20)
	floor("branches joined", r.Joined, 5)
	floor("halted while branches were in flight", r.HaltedInFork, 5)
	floor("delay over", r.Delayed, 5)
	floor("awaited event", r.Heard, 3)
	floor("completed by hand", r.ByHand, 3)
	floor("retried by hand", r.RetriedByHand, 5)
	floor("skipped by hand", r.SkippedByHand, 5)
	floor("mode changed", r.ModeSet, 5)
	floor("moved by a client", r.ClientDriven, 5)
	floor("superseded", r.Superseded, 5)
	floor("migrated", r.Migrated, 5)
	floor("timers lost", r.TimerLost, 5)
	floor("timers armed again", r.Healed, 5)
}

func TestPlantedMistakesAreCaught(t *testing.T) {
	for _, mistake := range sim.Mistakes() {
		t.Run(string(mistake), func(t *testing.T) {
			t.Parallel()
			report, err := sim.Run(t.Context(), sim.Options{Schedules: 5000, Seed: 1, Mistake: mistake})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Failures) == 0 {
				t.Fatalf("%d schedules with the mistake, and nothing was noticed", report.Schedules)
			}
			t.Logf("caught by seed %d: %s", report.Failures[0].Seed, report.Failures[0].Violations[0])
		})
	}
}
