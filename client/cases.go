package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
)

// Instance is a case as the API shows it, without the definition that drives it.
type Instance struct {
	ID               string                     `json:"id"`
	CaseID           string                     `json:"case_id"`
	OrgID            string                     `json:"org_id"`
	ProductID        string                     `json:"product_id"`
	DefinitionID     string                     `json:"definition_id"`
	SnapshotHash     string                     `json:"definition_snapshot_hash"`
	Mode             rondo.Mode                 `json:"mode"`
	Status           rondo.Status               `json:"status"`
	HaltReason       *string                    `json:"halt_reason"`
	HaltNote         *string                    `json:"halt_note"`
	HaltStepID       *string                    `json:"halt_step_id"`
	CancelledBy      *string                    `json:"cancelled_by"`
	CancelledReason  *string                    `json:"cancelled_reason"`
	DeadlineExceeded bool                       `json:"deadline_exceeded"`
	SupersedesID     *string                    `json:"supersedes_id"`
	SupersededByID   *string                    `json:"superseded_by_id"`
	StartedAt        time.Time                  `json:"started_at"`
	DeadlineAt       time.Time                  `json:"deadline_at"`
	CompletedAt      *time.Time                 `json:"completed_at"`
	Context          map[string]json.RawMessage `json:"context"`
	Version          int64                      `json:"version"`
	CurrentSteps     []CurrentStep              `json:"current_steps"`
}

// CurrentStep is a step in flight.
type CurrentStep struct {
	StepID    string           `json:"step_id"`
	Kind      string           `json:"kind"`
	Status    rondo.StepStatus `json:"status"`
	Attempt   int              `json:"attempt"`
	StartedAt *time.Time       `json:"started_at"`
	TimeoutAt *time.Time       `json:"timeout_at"`
}

// InstancesPath is the path of the list of instances.
const InstancesPath = "/workflow-instances"

// InstancePath is the path of an instance, or of a part of it such as "why".
func InstancePath(id, part string) string { return pathOf(InstancesPath, id, part) }

// pathOf is the path of one thing of a list, or of a part of it ("" = the thing).
func pathOf(list, id, part string) string {
	path := list + "/" + url.PathEscape(id)
	if part != "" {
		path += "/" + part
	}
	return path
}

// Instances lists one page of instances, newest first. The query is that of the
// route.
func (c *Client) Instances(ctx context.Context, query url.Values) (Page[Instance], error) {
	var page Page[Instance]
	_, err := c.Do(ctx, Call{Path: InstancesPath, Query: query}, &page)
	return page, err
}

// Instance reads one.
func (c *Client) Instance(ctx context.Context, id string) (Instance, error) {
	var out Instance
	_, err := c.Do(ctx, Call{Path: InstancePath(id, "")}, &out)
	return out, err
}

// Act does an action, named as in its path (retry-step), and returns what the
// server answers: the instance, or the plan of a dry run.
func (c *Client) Act(ctx context.Context, id, action string, params any) (json.RawMessage, error) {
	var out json.RawMessage
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: InstancePath(id, action), Body: params}, &out)
	return out, err
}
