package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// StepKind is a version of a step kind as the API shows it.
type StepKind struct {
	OrgID     *string         `json:"org_id"` // nil = built in
	Name      string          `json:"name"`
	Version   int             `json:"version"`
	Contract  json.RawMessage `json:"contract"`
	Status    string          `json:"status"`
	CreatedBy *string         `json:"created_by"`
	CreatedAt *time.Time      `json:"created_at"`
}

// ReasonCode is a reason code as the API shows it.
type ReasonCode struct {
	ID                  string   `json:"id,omitempty"`
	OrgID               *string  `json:"org_id,omitempty"` // nil = of the system
	Scope               string   `json:"scope"`
	Code                string   `json:"code"`
	Label               string   `json:"label"`
	Description         *string  `json:"description"`
	RequiresNote        bool     `json:"requires_note"`
	ApplicableStepKinds []string `json:"applicable_step_kinds"` // nil = every kind
	Active              bool     `json:"active"`
}

// StepKinds lists the built-in kinds and the newest of each of the organisation's
// own.
func (c *Client) StepKinds(ctx context.Context) ([]StepKind, error) {
	return collect(Each[StepKind](ctx, c, "/step-kinds", nil))
}

// StepKindVersions lists the versions of a kind, newest first.
func (c *Client) StepKindVersions(ctx context.Context, name string) ([]StepKind, error) {
	return collect(Each[StepKind](ctx, c, "/step-kinds/"+url.PathEscape(name), nil))
}

// PutStepKind publishes the next version of a kind.
func (c *Client) PutStepKind(ctx context.Context, name string, contract json.RawMessage) (StepKind, error) {
	var out StepKind
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: "/step-kinds", Body: map[string]any{"name": name, "contract": contract}}, &out)
	return out, err
}

// ArchiveStepKind takes a kind out of use.
func (c *Client) ArchiveStepKind(ctx context.Context, name string) (StepKind, error) {
	var out StepKind
	_, err := c.Do(ctx, Call{Method: http.MethodDelete, Path: "/step-kinds/" + url.PathEscape(name)}, &out)
	return out, err
}

// ReasonCodes lists the codes of the organisation, its own in place of the
// system's. The query is that of the route: scope, active.
func (c *Client) ReasonCodes(ctx context.Context, query url.Values) ([]ReasonCode, error) {
	return collect(Each[ReasonCode](ctx, c, "/reason-codes", query))
}

// CreateReasonCode adds a code of the organisation. ID and OrgID are not sent.
func (c *Client) CreateReasonCode(ctx context.Context, code ReasonCode) (ReasonCode, error) {
	code.ID, code.OrgID = "", nil
	var out ReasonCode
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: "/reason-codes", Body: code}, &out)
	return out, err
}

// ChangeReasonCode makes everything but scope and code of a row as given.
func (c *Client) ChangeReasonCode(ctx context.Context, id string, code ReasonCode) (ReasonCode, error) {
	var out ReasonCode
	_, err := c.Do(ctx, Call{Method: http.MethodPatch, Path: "/reason-codes/" + url.PathEscape(id), Body: map[string]any{
		"label": code.Label, "description": code.Description, "requires_note": code.RequiresNote,
		"applicable_step_kinds": code.ApplicableStepKinds, "active": code.Active,
	}}, &out)
	return out, err
}
