// Command rondo is the orchestrator: server, development environment and tools
// in one binary.
package main

import (
	"os"

	"github.com/rondo-engine/rondo/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
