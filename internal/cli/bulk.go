package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

type casesBulk struct {
	remote
	Action string `arg:"" enum:"halt,resume,cancel,retry-step,set-mode,supersede,skip-step,migrate" help:"halt, resume, cancel, retry-step, set-mode, supersede, skip-step or migrate."`
	caseFilter
	Reason string `help:"Why." placeholder:"TEXT"`
	Params object `help:"What else the action takes, by its names in the API." placeholder:"JSON"`
	DryRun bool   `help:"Say which cases it is about and change nothing."`
}

// Validate refuses a job about everything.
func (c casesBulk) Validate() error {
	return firstWrong(rule{len(query(c.pairs()...)) > 0, "give at least one filter: a job is never about everything"})
}

// Run makes a job, or says what it would be about.
func (c casesBulk) Run(ctx context.Context, s streams) error {
	params := map[string]json.RawMessage{}
	if c.Params != "" {
		if err := json.Unmarshal([]byte(c.Params), &params); err != nil {
			return err
		}
	}
	if c.Reason != "" {
		reason, err := json.Marshal(c.Reason)
		if err != nil {
			return err
		}
		params["reason"] = reason
	}
	filter := map[string]string{}
	for name, values := range query(c.pairs()...) {
		filter[name] = values[0]
	}
	call := client.Call{Method: http.MethodPost, Path: client.InstancesPath + "/bulk", Body: map[string]any{
		"filter": filter, "action": strings.ReplaceAll(c.Action, "-", "_"), "params": params, "dry_run": c.DryRun,
	}}
	return c.fetch(ctx, s, call, func(answer json.RawMessage) error {
		if c.DryRun {
			return c.preview(s, answer)
		}
		var made struct {
			JobID string `json:"job_id"`
			Count int    `json:"count"`
		}
		if err := json.Unmarshal(answer, &made); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out, "job %s: %s %s\nTo see how far it is: rondo jobs watch %s\n", made.JobID, c.Action, count(made.Count, "case"), made.JobID)
		return err
	})
}

// preview shows what a job would be about.
func (c casesBulk) preview(s streams, answer json.RawMessage) error {
	var found struct {
		Count     int               `json:"count"`
		Sample    []client.Instance `json:"sample"`
		Migration *struct {
			Verdicts map[rondo.MigrationVerdict]int `json:"verdicts"`
			Reasons  []struct {
				Reason string `json:"reason"`
				Count  int    `json:"count"`
			} `json:"reasons"`
		} `json:"migration"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.out, "would %s %s", c.Action, count(found.Count, "case"))
	if m := found.Migration; m != nil {
		_, _ = fmt.Fprintf(s.out, ": %d move, %d need a mapping, %d cannot", m.Verdicts[rondo.MigrationMoves], m.Verdicts[rondo.MigrationNeedsMapping], m.Verdicts[rondo.MigrationCannot])
	}
	_, _ = fmt.Fprintln(s.out)
	if m := found.Migration; m != nil {
		for _, r := range m.Reasons {
			_, _ = fmt.Fprintf(s.out, "  %d: %s\n", r.Count, r.Reason)
		}
	}
	if len(found.Sample) == 0 {
		return nil
	}
	if found.Count > len(found.Sample) {
		_, _ = fmt.Fprintf(s.out, "\nThe newest %d:\n", len(found.Sample))
	} else {
		_, _ = fmt.Fprintln(s.out)
	}
	rows := [][]string{instanceHeading}
	for _, i := range found.Sample {
		rows = append(rows, instanceRow(i))
	}
	return table(s.out, rows)
}
