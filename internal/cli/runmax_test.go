package cli

import (
	"testing"

	"github.com/rondo-engine/rondo/internal/app"
)

func TestTheBoundsOfRunsReachTheServer(t *testing.T) {
	t.Parallel()
	settings := runSettings{RunSlots: 1, RunLease: 1e9, RunMax: 7, TenantMax: 3}
	if err := settings.Validate(); err != nil {
		t.Fatal(err)
	}
	if o := settings.options("data", app.OpenAIOptions{}); o.MaxRuns != 7 || o.TenantRuns != 3 {
		t.Errorf("%d runs, %d of an organisation", o.MaxRuns, o.TenantRuns)
	}
	settings.RunMax = 0
	if settings.Validate() == nil {
		t.Error("no runs at all are allowed")
	}
}
