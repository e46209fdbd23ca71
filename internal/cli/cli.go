// Package cli is the command line of Rondo: it reads flags and environment,
// calls the packages that do the work, and prints what a person or a script
// needs. Results go to standard output, everything else to standard error.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes. Scripts may depend on them.
const (
	exitOK      = 0
	exitFailure = 1 // it did not work
	exitUsage   = 2 // the command line is wrong
	exitInvalid = 3 // a file was checked and has errors; a simulation found a violation
)

// commands is the whole command line.
type commands struct {
	Dev      devCommand      `cmd:"" help:"Run everything on this machine: engine, simulated modules, demo cases. Start here."`
	Serve    serveCommand    `cmd:"" help:"Run the orchestrator."`
	Migrate  migrateCommand  `cmd:"" help:"Bring the database schema up to date."`
	Validate validateCommand `cmd:"" help:"Check definition files against every publish rule."`
	Test     testCommand     `cmd:"" help:"Run the tests of definitions with a clock that jumps; nothing else is needed."`
	Graph    graphCommand    `cmd:"" help:"Draw a definition as Mermaid text or SVG."`

	Definitions definitionsCommand `cmd:"" help:"Definitions of a server."`
	Kinds       kindsCommand       `cmd:"" help:"Step kinds of a server."`
	Cases       casesCommand       `cmd:"" help:"Cases of a server."`
	Events      eventsCommand      `cmd:"" help:"Events of a server."`
	Jobs        jobsCommand        `cmd:"" help:"Bulk jobs of a server."`
	Retention   retentionCommand   `cmd:"" help:"How long a server keeps finished cases."`

	Run       runCommand       `cmd:"" help:"Run a workflow file on this machine, or on a server, and reuse whatever did not change."`
	Runs      runsCommand      `cmd:"" help:"Runs of a server."`
	Cache     cacheCommand     `cmd:"" help:"Results of steps that a server keeps for reuse."`
	Workflows workflowsCommand `cmd:"" help:"What a server can run."`

	Chat  chatCommand  `cmd:"" help:"Talk to the agent of a server, on a terminal or in a script."`
	Chats chatsCommand `cmd:"" help:"Conversations of a server."`

	AgentStub agentStubCommand `cmd:"" name:"agent-stub" help:"Serve stand-ins of agents that speak the formats of the real ones, for trials."`

	Bench   benchCommand   `cmd:"" help:"Measure this machine."`
	Sim     simCommand     `cmd:"" help:"Run the engine through simulated crashes, duplicates and delays, and check every invariant."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// streams is where a command prints.
type streams struct {
	out, err io.Writer
}

// Main runs one command line and returns its exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var root commands
	exited := -1
	parser, err := kong.New(&root,
		kong.Name("rondo"),
		kong.Description("A workflow orchestrator in one binary: cases that must not get lost.\n\nExit codes: 0 done, 1 failed, 2 wrong command line, 3 checked and found wrong."),
		kong.UsageOnError(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, Summary: true}),
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "rondo:", err)
		return exitFailure
	}
	if err := unsetEmpty(parser.Model); err != nil {
		_, _ = fmt.Fprintln(stderr, "rondo:", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exitOK
	}
	if err != nil {
		return reportUsage(stderr, err)
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(streams{out: stdout, err: stderr}); err != nil {
		return report(stderr, err)
	}
	return exitOK
}
