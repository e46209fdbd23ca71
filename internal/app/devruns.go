package app

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/examples"
	"github.com/rondo-engine/rondo/internal/demo"
)

// registerExamples makes the example workflows active where none of their name is.
// Those that run commands are left out unless commands are allowed.
func registerExamples(ctx context.Context, e *engine.Engine, allowExec bool) error {
	all := map[string][]byte{examples.CampaignName: examples.Campaign}
	if allowExec {
		all[examples.SiteName] = examples.Site
	}
	for name, source := range all {
		_, err := e.RunDefinitions().Named(ctx, demo.Org, name, "")
		if rondo.CodeOf(err) != rondo.CodeWorkflowNotFound {
			if err != nil {
				return rondo.Op("find the example "+name, err)
			}
			continue
		}
		if _, err := e.RegisterLocal(ctx, demo.Org, source); err != nil {
			return rondo.Op("register the example "+name, err)
		}
	}
	return nil
}
