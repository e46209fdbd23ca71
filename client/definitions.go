package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/rondo-engine/rondo"
)

// Definition is a workflow definition as the API shows it.
type Definition struct {
	ID          string                 `json:"id"`
	OrgID       *string                `json:"org_id"`
	ProductID   *string                `json:"product_id"`
	Kind        rondo.DefinitionKind   `json:"kind"`
	Name        string                 `json:"name"`
	Version     json.RawMessage        `json:"version"` // a number; of runs a text
	IsTemplate  bool                   `json:"is_template"`
	Status      rondo.DefinitionStatus `json:"status"`
	Mode        rondo.Mode             `json:"default_mode"`
	Body        json.RawMessage        `json:"definition"`
	Timeout     float64                `json:"workflow_timeout_seconds"`
	CreatedBy   string                 `json:"created_by"`
	CreatedAt   time.Time              `json:"created_at"`
	UpdatedAt   time.Time              `json:"updated_at"`
	PublishedAt *time.Time             `json:"published_at"`

	// ETag is what ChangeDraft needs; it is known of definitions that were read
	// one by one.
	ETag string `json:"-"`
}

// Product is the product's id; "" = every product.
func (d Definition) Product() string {
	if d.ProductID == nil {
		return ""
	}
	return *d.ProductID
}

// NewDefinition asks for a draft. Exactly one of Definition and TemplateID is
// given.
type NewDefinition struct {
	Kind       rondo.DefinitionKind `json:"kind,omitempty"`
	ProductID  string               `json:"product_id,omitempty"`
	Definition any                  `json:"definition,omitempty"` // an object, or a string of JSON or YAML
	TemplateID string               `json:"template_id,omitempty"`
	Reason     string               `json:"reason,omitempty"`
}

// Validation says whether a definition could be published.
type Validation struct {
	Valid    bool               `json:"valid"`
	Errors   []rondo.FieldError `json:"errors"`
	Warnings []rondo.FieldError `json:"warnings"`
}

// Diff is what turns one definition into another.
type Diff struct {
	Changes []rondo.DefinitionChange `json:"changes"`
	Patch   json.RawMessage          `json:"patch"`
}

// Imported is what an import found and made.
type Imported struct {
	Definition  Definition `json:"definition"`
	Created     bool       `json:"created"`
	StepKinds   []string   `json:"created_step_kinds"`
	ReasonCodes []string   `json:"created_reason_codes"`
}

const definitionsPath = "/workflow-definitions"

// DefinitionPath is the path of a definition, or of a part of it such as "graph".
func DefinitionPath(id, part string) string { return pathOf(definitionsPath, id, part) }

// Definitions lists definitions, newest first, all pages. The query is that of
// the route: product_id, status, kind, name.
func (c *Client) Definitions(ctx context.Context, query url.Values) ([]Definition, error) {
	return collect(Each[Definition](ctx, c, definitionsPath, query))
}

// Templates lists the templates.
func (c *Client) Templates(ctx context.Context) ([]Definition, error) {
	return collect(each[Definition](ctx, c, Call{Path: "/workflow-templates", Global: true}))
}

// Definition reads one.
func (c *Client) Definition(ctx context.Context, id string) (Definition, error) {
	return c.definition(ctx, Call{Path: DefinitionPath(id, "")})
}

// CreateDefinition makes a draft.
func (c *Client) CreateDefinition(ctx context.Context, d NewDefinition) (Definition, error) {
	return c.definition(ctx, Call{Method: http.MethodPost, Path: definitionsPath, Body: d})
}

// ChangeDraft replaces the definition of a draft that still has the ETag.
func (c *Client) ChangeDraft(ctx context.Context, id, etag string, body any, reason string) (Definition, error) {
	return c.definition(ctx, Call{
		Method: http.MethodPatch, Path: DefinitionPath(id, ""), Header: http.Header{"If-Match": {etag}},
		Body: map[string]any{"definition": body, "reason": reason},
	})
}

// CloneDefinition makes a draft out of a definition or template. A nil product
// stays as it is, "" is every product; name "" stays.
func (c *Client) CloneDefinition(ctx context.Context, id string, product *string, name, reason string) (Definition, error) {
	body := map[string]any{}
	if product != nil {
		body["product_id"] = product
		if *product == "" {
			body["product_id"] = nil
		}
	}
	if name != "" {
		body["name"] = name
	}
	if reason != "" {
		body["reason"] = reason
	}
	return c.definition(ctx, Call{Method: http.MethodPost, Path: DefinitionPath(id, "clone"), Body: body})
}

// PublishDefinition makes a draft active.
func (c *Client) PublishDefinition(ctx context.Context, id, reason string) (Definition, error) {
	return c.definition(ctx, Call{Method: http.MethodPost, Path: DefinitionPath(id, "publish"), Body: because(reason)})
}

// ArchiveDefinition takes a definition out of use, or discards a draft.
func (c *Client) ArchiveDefinition(ctx context.Context, id, reason string) (Definition, error) {
	return c.definition(ctx, Call{Method: http.MethodPost, Path: DefinitionPath(id, "archive"), Body: because(reason)})
}

// ValidateDefinition says what would forbid publishing.
func (c *Client) ValidateDefinition(ctx context.Context, id string) (Validation, error) {
	var out Validation
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: DefinitionPath(id, "validate")}, &out)
	return out, err
}

// DiffDefinitions says what turns one definition into another.
func (c *Client) DiffDefinitions(ctx context.Context, from, to string) (Diff, error) {
	var out Diff
	_, err := c.Do(ctx, Call{Path: DefinitionPath(to, "diff"), Query: url.Values{"against": {from}}}, &out)
	return out, err
}

// ExportDefinition returns the file that ImportDefinition takes.
func (c *Client) ExportDefinition(ctx context.Context, id string) (json.RawMessage, error) {
	var out json.RawMessage
	_, err := c.Do(ctx, Call{Path: DefinitionPath(id, "export")}, &out)
	return out, err
}

// ImportDefinition creates what is missing of an export, and a draft.
func (c *Client) ImportDefinition(ctx context.Context, file json.RawMessage) (Imported, error) {
	var out Imported
	_, err := c.Do(ctx, Call{Method: http.MethodPost, Path: definitionsPath + "/import", Body: file}, &out)
	return out, err
}

func (c *Client) definition(ctx context.Context, call Call) (Definition, error) {
	var out Definition
	answer, err := c.Do(ctx, call, &out)
	if err == nil {
		out.ETag = answer.Header.Get("ETag")
	}
	return out, err
}

// because is a body that gives a reason, if there is one.
func because(reason string) map[string]string {
	if reason == "" {
		return map[string]string{}
	}
	return map[string]string{"reason": reason}
}
