package storetest

import (
	"slices"
	"testing"
)

// Runs checks a driver against everything that store.Runs promises. The stores
// that the harness opens must implement it.
func Runs(t *testing.T, h Harness) {
	for _, chapter := range []struct {
		name  string
		tests []runTest
	}{
		{"Owners", runOwnerTests},
		{"Commit", runCommitTests},
		{"Flights", slices.Concat(runTakeoffTests, runLandingTests)},
		{"Concurrency", runConcurrencyTests},
		{"Claims", runClaimTests},
		{"Signals", slices.Concat(runSignalTests, runRaisedTests)},
		{"Outbox", runOutboxTests},
		{"Reads", slices.Concat(runReadTests, runArtifactTests)},
		{"Cache", slices.Concat(runLookupTests, runStampTests, runCacheTests, runEvictionTests)},
		{"Users", runUserTests},
		{"Values", runValueTests},
		{"Tenants", runTenantTests},
		{"Retention", slices.Concat(runPurgeTests, runBlobTests)},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			for _, test := range chapter.tests {
				t.Run(test.name, func(t *testing.T) { test.run(openRuns(t, h, test.opts)) })
			}
		})
	}
}

// runTest is one promise about runs, and how to see whether it is kept.
type runTest struct {
	name string
	opts Options
	run  func(*runDB)
}
