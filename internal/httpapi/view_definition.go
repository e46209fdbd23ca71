package httpapi

import (
	"time"

	"github.com/rondo-engine/rondo"
)

// definition is a workflow_definition on the wire.
type definition struct {
	ID              string       `json:"id" format:"uuid"`
	OrgID           *string      `json:"org_id" doc:"Null for shipped templates"`
	ProductID       *string      `json:"product_id" doc:"Null for every product of the organisation"`
	Kind            string       `json:"kind" enum:"case,conversation,run"`
	Name            string       `json:"name"`
	Version         int          `json:"version"`
	IsTemplate      bool         `json:"is_template"`
	Status          string       `json:"status" enum:"draft,active,archived"`
	DefaultMode     string       `json:"default_mode"`
	Definition      anyJSON      `json:"definition"`
	WorkflowTimeout int64        `json:"workflow_timeout_seconds"`
	CreatedBy       string       `json:"created_by"`
	CreatedAt       instant      `json:"created_at"`
	UpdatedAt       instant      `json:"updated_at"`
	PublishedAt     maybeInstant `json:"published_at"`
}

func viewDefinition(d rondo.Definition) definition {
	return definition{
		ID: d.ID.String(), OrgID: maybe(d.OrgID), ProductID: maybe(d.ProductID), Kind: string(d.Kind), Name: d.Name,
		Version: d.Version, IsTemplate: d.IsTemplate, Status: string(d.Status), DefaultMode: string(d.DefaultMode),
		Definition: anyJSON(d.Body), WorkflowTimeout: int64(d.WorkflowTimeout / time.Second), CreatedBy: d.CreatedBy,
		CreatedAt: instant(d.CreatedAt), UpdatedAt: instant(d.UpdatedAt), PublishedAt: maybeInstant(d.PublishedAt),
	}
}

// validation is the answer of a dry run.
type validation struct {
	Valid    bool               `json:"valid"`
	Errors   []rondo.FieldError `json:"errors" nullable:"false" doc:"What forbids publishing, all of it"`
	Warnings []rondo.FieldError `json:"warnings" nullable:"false" doc:"What is probably not meant"`
}

func viewValidation(r rondo.ValidationReport) validation {
	return validation{Valid: r.Valid, Errors: listed(r.Errors), Warnings: listed(r.Warnings)}
}

func listed(fields []rondo.FieldError) []rondo.FieldError {
	if fields == nil {
		return []rondo.FieldError{}
	}
	return fields
}
