package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/client"
)

// workflowsCommand is about what a server can run.
type workflowsCommand struct {
	List workflowsList `cmd:"" help:"List what can be run."`
	Show workflowsShow `cmd:"" help:"Show the steps of a workflow and the changes that it knows."`
}

type workflowsList struct {
	remote
	paged
}

// Run lists workflows.
func (c workflowsList) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: client.WorkflowsPath, Query: c.query()}, func(answer json.RawMessage) error {
		return chatItems(s, answer, []string{"NAME", "VERSION", "STEPS", "CHANGES"}, func(w client.Workflow) []string {
			return []string{w.Name, w.Version, fmt.Sprint(len(w.Steps)), orDash(strings.Join(slices.Sorted(maps.Keys(w.ChangeRequestMappings)), ", "))}
		})
	})
}

type workflowsShow struct {
	remote
	Name    string `arg:"" help:"Name of the workflow."`
	Version string `help:"Version. Default: the highest active one." placeholder:"VERSION"`
}

// Run shows a workflow.
func (c workflowsShow) Run(ctx context.Context, s streams) error {
	call := client.Call{Path: client.WorkflowsPath + "/" + url.PathEscape(c.Name), Query: query("version", c.Version)}
	return c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		var w client.Workflow
		if err := json.Unmarshal(answer, &w); err != nil {
			return err
		}
		if err := details(s.out, "Workflow", w.Name, "Version", w.Version, "Definition", w.DefinitionHash); err != nil {
			return err
		}
		if schema := readInputSchema(w.InputSchema); len(schema) > 0 {
			_, _ = fmt.Fprintln(s.out)
			if err := table(s.out, schema.rows()); err != nil {
				return err
			}
		}
		rows := [][]string{{"STEP", "SKILL", "CLASS", "AFTER"}}
		for _, step := range w.Steps {
			rows = append(rows, []string{step.StepID, step.Skill, orDash(step.Class), orDash(strings.Join(step.DependsOn, ", "))})
		}
		_, _ = fmt.Fprintln(s.out)
		if err := table(s.out, rows); err != nil || len(w.ChangeRequestMappings) == 0 {
			return err
		}
		changes := [][]string{{"CHANGE", "BEGINS WITH"}}
		for _, name := range slices.Sorted(maps.Keys(w.ChangeRequestMappings)) {
			changes = append(changes, []string{name, strings.Join(w.ChangeRequestMappings[name], ", ")})
		}
		_, _ = fmt.Fprintln(s.out)
		return table(s.out, changes)
	})
}
