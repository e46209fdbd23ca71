package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/app"
)

type runCommand struct {
	File  string   `arg:"" help:"Definition of kind run: YAML or JSON."`
	Input []string `sep:"none" help:"Member of the input: name=value, name=@FILE, or @FILE for a whole object. Repeatable." placeholder:"NAME=VALUE"`

	Base        string   `help:"Redo part of an earlier run: its id, or last, the newest completed one of this workflow." placeholder:"last|ID"`
	Change      string   `help:"Type of change, of those that the file names." placeholder:"TYPE"`
	ChangeInput []string `sep:"none" help:"What changes in the input, as --input." placeholder:"NAME=VALUE"`
	ChangedStep []string `help:"Step to look at again, beside those of the change. Repeatable." placeholder:"STEP"`
	Force       bool     `help:"Run the steps that the change begins with, whatever the cache has."`
	Strict      bool     `help:"Look at every step again whose input is not what it was."`
	runModes

	Plan     bool   `help:"Say what would run and why, and run nothing. The next run of the same is held to it."`
	Explain  bool   `help:"Say of every step why, and what changed."`
	OutputOf string `help:"Print what this step gave, JSON, instead of the report." placeholder:"STEP"`
	Out      string `help:"Copy the artifacts into this folder." type:"path" placeholder:"DIR"`

	database
	Redis string `help:"Redis URL (redis:// or rediss://) for the hot tier of the cache. Default: in process." env:"REDIS_URL" placeholder:"URL"`
	runSettings
	Server string `help:"Run on this server instead of this machine; the file is published there first, unless it is only planned." placeholder:"URL"`
	Token  string `help:"Bearer token of the server." env:"RONDO_TOKEN" placeholder:"TOKEN"`
	Org    string `help:"Organisation on the server; admins only." env:"RONDO_ORG" placeholder:"ORG"`
	Output string `short:"o" enum:"table,json,yaml" default:"table" help:"How to print: table, json or yaml."`
}

// runModes are the choices of a run that its steps obey.
type runModes struct {
	Mode     string            `enum:"use,refresh,bypass,only,verify" default:"use" help:"How the cache is used: use, refresh (compute again), bypass (neither read nor write), only (a miss fails) or verify (compute again and compare)."`
	StepMode map[string]string `mapsep:"none" help:"The same for one step. Repeatable." placeholder:"STEP=MODE"`
	FailFast bool              `help:"When a step fails, cancel what does not depend on it too."`
}

// options are the choices as a run takes them.
func (m runModes) options() (mode rondo.CacheMode, steps map[string]rondo.CacheMode, policy rondo.FailurePolicy) {
	for step, word := range m.StepMode {
		if steps == nil {
			steps = map[string]rondo.CacheMode{}
		}
		steps[step] = rondo.CacheMode(word)
	}
	if m.FailFast {
		policy = rondo.FailureFast
	}
	return rondo.CacheMode(m.Mode), steps, policy
}

// Validate refuses what no run can be asked for.
func (c runCommand) Validate() error {
	return errors.Join(c.runSettings.Validate(), firstWrong(
		rule{
			c.Base != "" || c.Change == "" && len(c.ChangeInput)+len(c.ChangedStep) == 0 && !c.Force && !c.Strict,
			"--change, --change-input, --changed-step, --force and --strict need --base: what the change is to",
		},
		rule{
			c.Base == "" || c.Change != "" || len(c.Input)+len(c.ChangeInput) == 0,
			"an input with --base needs --change, the type of change; without --base a run reuses what did not change, too",
		},
		rule{!c.Plan || c.Out == "", "--out needs a run; --plan makes none"},
		rule{!c.Plan || c.OutputOf == "", "--output-of needs a run; --plan makes none"},
	))
}

// Run runs a file and returns when the run has ended.
func (c runCommand) Run(ctx context.Context, s streams) error {
	source, err := readRunSource(c.File)
	if err != nil {
		return err
	}
	place, err := c.open(ctx, s, source)
	if err != nil {
		return err
	}
	defer place.close()
	file, err := place.register(ctx)
	if err != nil {
		return err
	}
	ask, err := c.ask(ctx, place.server, file, source.schema())
	if err != nil {
		return err
	}
	for _, warning := range source.unread(ask.payload()) {
		_, _ = fmt.Fprintln(s.err, "rondo:", warning)
	}
	memory := c.planMemory(ask)
	if c.Plan {
		return c.plan(ctx, s, place.server, ask, source, memory)
	}
	return c.execute(ctx, s, place.server, ask, source, memory)
}

// runPlace is where a run happens. This machine has the API as a server has it,
// so that nothing here differs by place.
type runPlace struct {
	server   *client.Client
	register func(context.Context) (runFile, error)
	close    func()
}

// runFile is what a file is to whoever runs it.
type runFile struct {
	name, version string
	document      json.RawMessage // of one that was not registered; nil = it was
}

func (c runCommand) open(ctx context.Context, s streams, source runSource) (runPlace, error) {
	if c.Server != "" {
		reach := remote{Server: c.Server, Token: c.Token, Org: c.Org, Output: "table"}
		server, err := reach.client()
		if err != nil {
			return runPlace{}, err
		}
		register := func(ctx context.Context) (runFile, error) { return publishRun(ctx, s, reach, server, c.File, c.Plan) }
		return runPlace{server: server, register: register, close: func() {}}, nil
	}
	local, err := app.StartLocal(ctx, app.LocalOptions{
		Database: c.url(), Redis: c.Redis, Runs: c.runSettings.options(c.Data, app.OpenAIOptions{BaseURL: os.Getenv("OPENAI_BASE_URL"), Model: os.Getenv("OPENAI_MODEL")}),
		Log: logger(s.err, slog.LevelError, false), Version: version(),
	})
	if err != nil {
		return runPlace{}, err
	}
	register := func(ctx context.Context) (runFile, error) {
		registered, err := local.Register(ctx, source.text)
		if rondo.CodeOf(err) == rondo.CodeForbidden { // by the flags
			return runFile{}, usageError{rondo.Op(c.File, err)}
		}
		if err != nil {
			return runFile{}, inFile(c.File, err)
		}
		return runFile{name: registered.Name, version: registered.Semver}, nil
	}
	return runPlace{server: local.Client(), register: register, close: func() { local.Close(leaveLimit) }}, nil
}

// leaveLimit is how long leaving may take: by then nothing is under way.
const leaveLimit = 10 * time.Second

// publishRun brings a server in line with the file; for a dry run it only reads it.
func publishRun(ctx context.Context, s streams, reach remote, server *client.Client, file string, dry bool) (runFile, error) {
	a := &applying{applyCommand: applyCommand{remote: reach, Path: file, Reason: "rondo run"}, server: server}
	if err := a.read(s); err != nil {
		return runFile{}, err
	}
	one := a.definitions[0]
	if one.kind != rondo.KindRun {
		return runFile{}, notARun(file, string(one.kind))
	}
	if wrong := a.forbids(one, a.want.environment()); len(wrong) > 0 {
		return runFile{}, inFile(file, &rondo.Error{Fields: wrong})
	}
	if dry {
		return runFile{one.Name, one.Semver, one.Body}, nil
	}
	if err := a.applyDefinitions(ctx); err != nil {
		return runFile{}, err
	}
	return runFile{name: one.Name, version: one.Semver}, nil
}

// inFile says what is wrong with a file, each thing once.
func inFile(file string, err error) error {
	e, ok := errors.AsType[*rondo.Error](err)
	if !ok || len(e.Fields) == 0 {
		return rondo.Op(file, err)
	}
	var fields []rondo.FieldError
	for _, f := range e.Fields {
		if !slices.ContainsFunc(fields, func(known rondo.FieldError) bool { return known.Message == f.Message }) {
			fields = append(fields, f)
		}
	}
	return &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: fmt.Sprintf("%s has %s", file, count(len(fields), "error")), Fields: fields,
		Hint: "mend the file and run it again; nothing was run",
	}
}

func notARun(file, kind string) error {
	return &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: fmt.Sprintf("%s is a definition of kind %s, not of a run", file, kind),
		Hint: "a run has name, version and a list of steps, each with a skill; see docs/runs.md",
	}
}

// runAsk is what is asked for: a run, or an update run of Base.
type runAsk struct {
	Workflow string
	Base     string // "" = an initial run
	Run      client.RunRequest
	Update   client.RunUpdate

	document json.RawMessage // of a plan; nil = the workflow is registered
}

func (c runCommand) ask(ctx context.Context, server *client.Client, file runFile, schema inputSchema) (runAsk, error) {
	input, err := readInputs("--input", c.Input, schema)
	if err != nil {
		return runAsk{}, usageError{err}
	}
	mode, steps, policy := c.runModes.options()
	ask := runAsk{Workflow: file.name, document: file.document}
	if c.Base == "" {
		ask.Run = client.RunRequest{WorkflowName: file.name, WorkflowVersion: file.version, TriggerPayload: input, Mode: mode, StepModes: steps, FailurePolicy: policy}
		return ask, nil
	}
	if ask.Base, err = baseOf(ctx, server, file.name, c.Base); err != nil {
		return runAsk{}, err
	}
	payload, err := readInputs("--change-input", slices.Concat(c.Input, c.ChangeInput), schema)
	if err != nil {
		return runAsk{}, usageError{err}
	}
	ask.Update = client.RunUpdate{
		ChangedSteps: c.ChangedStep, Force: c.Force, Strict: c.Strict, Definition: runs.DefinitionLatest, WorkflowVersion: file.version,
		Mode: mode, StepModes: steps, FailurePolicy: policy,
	}
	if c.Change != "" {
		ask.Update.ChangeRequest = &rondo.ChangeRequest{Type: c.Change, Payload: payload}
	}
	return ask, nil
}

// payload is what was typed of the input.
func (a runAsk) payload() json.RawMessage {
	if a.Update.ChangeRequest != nil {
		return a.Update.ChangeRequest.Payload
	}
	return a.Run.TriggerPayload
}

// asked makes the refusal of a run one of the command line, which has the file at
// hand when there is no server.
func (c runCommand) asked(err error) error {
	e, ok := errors.AsType[*rondo.Error](err)
	if ok && c.Server == "" && strings.Contains(e.Hint, "GET /workflows/") {
		told := *e
		told.Hint = "give what input_schema of " + c.File + " asks for, with --input"
		return asked(&told)
	}
	return asked(err)
}

// baseOf is the run that --base names.
func baseOf(ctx context.Context, server *client.Client, workflow, given string) (string, error) {
	if given != "last" {
		return given, nil
	}
	for run, err := range server.Runs(ctx, query("workflow", workflow, "status", string(rondo.RunCompleted), "limit", "1")) {
		return run.RunID, err
	}
	return "", &rondo.Error{
		Code: rondo.CodeNotFound, Message: fmt.Sprintf("there is no completed run of %s to change", workflow), Hint: "leave out --base and --change for a first run",
	}
}

// start asks for the run.
func (a runAsk) start(ctx context.Context, server *client.Client) (client.RunAccepted, error) {
	if a.Base != "" {
		return server.UpdateRun(ctx, a.Base, a.Update)
	}
	return server.StartRun(ctx, a.Run)
}

// foresee asks for the plan of it.
func (a runAsk) foresee(ctx context.Context, server *client.Client) (client.RunPlan, error) {
	switch {
	case a.Base != "" && a.document != nil:
		return server.PlanDefinitionUpdate(ctx, a.document, a.Base, a.Update)
	case a.document != nil:
		return server.PlanDefinition(ctx, a.document, a.Run)
	case a.Base != "":
		return server.PlanRunUpdate(ctx, a.Base, a.Update)
	}
	return server.PlanRun(ctx, a.Run)
}

// plan prints what would happen and remembers it.
func (c runCommand) plan(ctx context.Context, s streams, server *client.Client, ask runAsk, source runSource, memory planMemory) error {
	planned, err := ask.foresee(ctx, server)
	if err != nil {
		return c.asked(err)
	}
	if err := memory.keep(planned, source); err != nil {
		return err
	}
	return printAs(s, c.Output, planned, func() error { return printPlan(s, planned, c.Explain) })
}

// printAs prints for people, or as a document.
func printAs(s streams, format string, v any, show func() error) error {
	switch format {
	case "table":
		return show()
	case "json":
		return printJSON(s.out, v)
	}
	document, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return printDocument(s.out, document, format)
}
