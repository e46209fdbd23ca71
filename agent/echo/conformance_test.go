package echo_test

import (
	"testing"

	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/agenttest"
	"github.com/rondo-engine/rondo/agent/echo"
)

func TestItIsAnAgent(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, func(*testing.T) agent.Agent { return echo.Agent{} })
}
