package cli

import (
	"context"
	"strings"
	"time"

	"github.com/rondo-engine/rondo/client"
)

// caseFilter are the filters of lists of cases.
type caseFilter struct {
	Case        string `help:"Of this case id only." placeholder:"ID"`
	Status      string `help:"running, halted, completed or cancelled only." placeholder:"STATUS"`
	Product     string `help:"Of this product only." placeholder:"ID"`
	Definition  string `help:"Of this definition only." placeholder:"ID"`
	Mode        string `help:"active or client_driven only." placeholder:"MODE"`
	Code        string `help:"Halted for this reason code only." placeholder:"CODE"`
	Step        string `help:"With this step in flight only." placeholder:"STEP"`
	Tag         string `help:"With this tag only." placeholder:"TAG"`
	Where       string `help:"Tests of searchable values, such as 'ai_review.confidence<0.7'." placeholder:"TESTS"`
	OlderThan   string `help:"Started longer ago than this, such as 90m, 48h, 3d." placeholder:"AGE"`
	YoungerThan string `help:"Started not longer ago than this." placeholder:"AGE"`
	StartedFrom string `help:"Started at this time or later (RFC 3339)." placeholder:"TIME"`
	StartedTo   string `help:"Started before this time (RFC 3339)." placeholder:"TIME"`
}

// pairs are the filters by the names that the API has for them.
func (f caseFilter) pairs() []string {
	return []string{
		"case_id", f.Case, "status", f.Status, "product_id", f.Product, "definition_id", f.Definition, "mode", f.Mode,
		"reason_code", f.Code, "step_id", f.Step, "tag", f.Tag, "where", f.Where, "older_than", f.OlderThan,
		"younger_than", f.YoungerThan, "started_from", f.StartedFrom, "started_to", f.StartedTo,
	}
}

type casesList struct {
	remote
	caseFilter
	Reason string `hidden:"" help:"The same as --code."`
	paged
}

// Run lists one page of cases.
func (c casesList) Run(ctx context.Context, s streams) error {
	if c.Code == "" {
		c.Code = c.Reason
	}
	return fetchList(ctx, s, c.remote, client.Call{Path: client.InstancesPath, Query: c.query(c.pairs()...)}, instanceHeading, instanceRow)
}

var instanceHeading = []string{"CASE", "PRODUCT", "STATUS", "AT", "SINCE", "REASON", "STARTED", "INSTANCE"}

func instanceRow(i client.Instance) []string {
	var at []string
	var since *time.Time
	for _, step := range i.CurrentSteps {
		at = append(at, step.StepID)
		if step.StartedAt != nil && (since == nil || step.StartedAt.Before(*since)) {
			since = step.StartedAt // of what has waited longest
		}
	}
	if len(at) == 0 && i.HaltStepID != nil {
		at = []string{*i.HaltStepID}
	}
	return []string{
		i.CaseID, orDash(i.ProductID), string(i.Status), orDash(strings.Join(at, ", ")), ago(since), orDash(text(i.HaltReason)),
		moment(i.StartedAt), i.ID,
	}
}
