package cli

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
)

// act does an action and shows the case after it.
func (c oneCase) act(ctx context.Context, s streams, action string, params map[string]any) error {
	server, id, err := c.instance(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(params, func(_ string, value any) bool { return value == "" || value == nil })
	answer, err := server.Act(ctx, id, action, params)
	if err != nil {
		return err
	}
	switch {
	case c.json():
		return printJSON(s.out, answer)
	case params["dry_run"] == true:
		return printDocument(s.out, answer, "yaml")
	}
	return printInstance(ctx, s, server, answer)
}

// object is a JSON object on the command line.
type object string

// Validate refuses what is no object.
func (o object) Validate() error {
	var members map[string]json.RawMessage
	if o != "" && json.Unmarshal([]byte(o), &members) != nil {
		return errors.New("must be a JSON object")
	}
	return nil
}

// value is what is sent; nil = nothing.
func (o object) value() any {
	if o == "" {
		return nil
	}
	return json.RawMessage(o)
}

type because struct {
	Reason string `required:"" help:"Why." placeholder:"TEXT"`
}

type casesHalt struct {
	oneCase
	Code string `help:"Reason code of scope halt." default:"manual_halt"`
	Note string `help:"What others should know; some codes need it." placeholder:"TEXT"`
}

// Run halts a case.
func (c casesHalt) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "halt", map[string]any{"reason_code": c.Code, "note": c.Note})
}

type casesResume struct {
	oneCase
	because
}

// Run resumes a case.
func (c casesResume) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "resume", map[string]any{"reason": c.Reason})
}

type casesCancel struct {
	oneCase
	because
}

// Run cancels a case.
func (c casesCancel) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "cancel", map[string]any{"reason": c.Reason})
}

type casesRetry struct {
	oneCase
	because
	Step  string `help:"The step. Default: where the case halted." placeholder:"STEP"`
	Input object `help:"Members that replace those of the request." placeholder:"JSON"`
}

// Run tries a step again.
func (c casesRetry) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "retry-step", map[string]any{"reason": c.Reason, "step_id": c.Step, "input_override": c.Input.value()})
}

type casesSkip struct {
	oneCase
	because
	Step    string `required:"" help:"The step to go past." placeholder:"STEP"`
	Outcome string `required:"" help:"The transition to follow, such as on_complete." placeholder:"OUTCOME"`
	Result  object `help:"Output of the step." placeholder:"JSON"`
}

// Run goes past a step.
func (c casesSkip) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "skip-step", map[string]any{"reason": c.Reason, "step_id": c.Step, "outcome": c.Outcome, "output": c.Result.value()})
}

type casesComplete struct {
	oneCase
	Step    string `required:"" help:"The manual step." placeholder:"STEP"`
	Outcome string `required:"" help:"One of its outcomes." placeholder:"OUTCOME"`
	Result  object `help:"What its form asks for." placeholder:"JSON"`
	Note    string `help:"What others should know." placeholder:"TEXT"`
}

// Run completes a manual step.
func (c casesComplete) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "complete-step", map[string]any{"step_id": c.Step, "outcome": c.Outcome, "output": c.Result.value(), "note": c.Note})
}

type casesSetMode struct {
	oneCase
	because
	Mode string `arg:"" enum:"active,client_driven" help:"active or client_driven."`
}

// Run changes the mode.
func (c casesSetMode) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "set-mode", map[string]any{"reason": c.Reason, "mode": c.Mode})
}

type casesReplace struct {
	oneCase
	because
	Mode string `help:"active or client_driven. Default: as it was." placeholder:"MODE"`
}

// Run replaces a case.
func (c casesReplace) Run(ctx context.Context, s streams) error {
	return c.act(ctx, s, "supersede", map[string]any{"reason": c.Reason, "mode": c.Mode})
}

type casesMigrate struct {
	oneCase
	To     string            `help:"Id of the definition. Default: the active one of the case's product." placeholder:"ID"`
	Step   map[string]string `name:"map" help:"Where a live step goes, as OLD=NEW; repeat it." placeholder:"OLD=NEW"`
	Reason string            `help:"Why." placeholder:"TEXT"`
	DryRun bool              `help:"Say what would happen and change nothing."`
}

// Run migrates a case.
func (c casesMigrate) Run(ctx context.Context, s streams) error {
	params := map[string]any{"to_definition_id": c.To, "reason": c.Reason}
	if len(c.Step) > 0 {
		params["step_map"] = c.Step
	}
	if c.DryRun {
		params["dry_run"] = true
	}
	return c.act(ctx, s, "migrate", params)
}
