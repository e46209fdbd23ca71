package cli

import (
	"context"

	"github.com/rondo-engine/rondo/internal/app"
)

type agentStubCommand struct {
	Listen string `help:"Address to listen on. Default: 127.0.0.1:3007." default:"127.0.0.1:3007" placeholder:"ADDR"`
}

// Run serves until interrupted.
func (c agentStubCommand) Run(ctx context.Context, s streams) error {
	return app.AgentStub(ctx, c.Listen, s.out)
}
