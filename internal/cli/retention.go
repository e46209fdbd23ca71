package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo/client"
)

// retentionCommand is about how long finished cases are kept.
type retentionCommand struct {
	Get retentionGet `cmd:"" help:"Show how long finished cases are kept."`
	Set retentionSet `cmd:"" help:"Say how long finished cases are kept; admins only."`
}

const retentionPath = "/retention-policies"

// policy is one as the API shows it.
type policy struct {
	OrgID   *string   `json:"org_id"`
	Days    int       `json:"keep_finished_days"`
	Reason  *string   `json:"reason"`
	By      string    `json:"updated_by"`
	Updated time.Time `json:"updated_at"`
}

var policyHeading = []string{"OF", "KEEP", "UPDATED", "BY", "REASON"}

func (p policy) row() []string {
	of, keep := text(p.OrgID), count(p.Days, "day")
	if p.OrgID == nil {
		of = "everyone else"
	}
	if p.Days == 0 {
		keep = "for ever"
	}
	return []string{of, keep, moment(p.Updated), p.By, orDash(text(p.Reason))}
}

type retentionGet struct{ remote }

// Run shows the policies.
func (c retentionGet) Run(ctx context.Context, s streams) error {
	return c.fetch(ctx, s, client.Call{Path: retentionPath}, func(answer json.RawMessage) error {
		var page client.Page[policy]
		if err := json.Unmarshal(answer, &page); err != nil {
			return err
		}
		if len(page.Items) == 0 {
			_, err := fmt.Fprintln(s.out, "no policy: finished cases are kept for ever")
			return err
		}
		return printItems(s, answer, policyHeading, policy.row)
	})
}

type retentionSet struct {
	remote
	Days     int    `arg:"" help:"Days to keep finished cases: 0 = for ever, else at least 7."`
	Everyone bool   `help:"Set it for every organisation without a policy of its own."`
	Reason   string `help:"Why; kept with the policy." placeholder:"TEXT"`
}

// Run sets a policy.
func (c retentionSet) Run(ctx context.Context, s streams) error {
	body := map[string]any{"keep_finished_days": c.Days}
	if c.Everyone {
		body["everyone"] = true
	}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	return c.fetch(ctx, s, client.Call{Method: http.MethodPut, Path: retentionPath, Body: body}, func(answer json.RawMessage) error {
		var p policy
		if err := json.Unmarshal(answer, &p); err != nil {
			return err
		}
		return table(s.out, [][]string{policyHeading, p.row()})
	})
}
