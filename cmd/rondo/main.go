// Command rondo is the orchestrator: server, development environment and tools
// in one binary.
package main

import (
	"os"
	"runtime/debug"

	"github.com/rondo-engine/rondo/internal/cli"
)

// gcPercent trades a little memory for time: a batch leaves much garbage and
// little that lives, so collecting less often costs tens of megabytes and saves
// about a tenth of the CPU. GOGC overrides it.
const gcPercent = 300

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
