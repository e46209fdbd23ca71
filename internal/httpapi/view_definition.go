package httpapi

import (
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// definition is a workflow_definition on the wire.
type definition struct {
	ID              string            `json:"id" format:"uuid"`
	OrgID           *string           `json:"org_id" doc:"Null for templates"`
	ProductID       *string           `json:"product_id" doc:"Null for every product of the organisation"`
	Kind            string            `json:"kind" enum:"case,conversation,run"`
	Name            string            `json:"name"`
	Version         definitionVersion `json:"version" doc:"A number; for runs the semantic version that their author wrote"`
	IsTemplate      bool              `json:"is_template"`
	Status          string            `json:"status" enum:"draft,active,archived"`
	DefaultMode     string            `json:"default_mode"`
	Definition      anyJSON           `json:"definition"`
	WorkflowTimeout int64             `json:"workflow_timeout_seconds"`
	CreatedBy       string            `json:"created_by"`
	CreatedAt       instant           `json:"created_at"`
	UpdatedAt       instant           `json:"updated_at"`
	PublishedAt     maybeInstant      `json:"published_at"`
}

func viewDefinition(d rondo.Definition) definition {
	return definition{
		ID: d.ID.String(), OrgID: maybe(d.OrgID), ProductID: maybe(d.ProductID), Kind: string(d.Kind), Name: d.Name,
		Version: versionOf(d), IsTemplate: d.IsTemplate, Status: string(d.Status), DefaultMode: string(d.DefaultMode),
		Definition: anyJSON(d.Body), WorkflowTimeout: int64(d.WorkflowTimeout / time.Second), CreatedBy: d.CreatedBy,
		CreatedAt: instant(d.CreatedAt), UpdatedAt: instant(d.UpdatedAt), PublishedAt: maybeInstant(d.PublishedAt),
	}
}

// definitionVersion is a number, or a semantic version.
type definitionVersion struct {
	number int
	semver string // "" = a number
}

func versionOf(d rondo.Definition) definitionVersion {
	return definitionVersion{number: d.Version, semver: d.Semver}
}

// MarshalJSON writes a number or a text.
func (v definitionVersion) MarshalJSON() ([]byte, error) {
	if v.semver == "" {
		return strconv.AppendInt(nil, int64(v.number), 10), nil
	}
	return strconv.AppendQuote(nil, v.semver), nil
}

// Schema allows a number or a text.
func (definitionVersion) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeString}}}
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

// listed is a list that is empty rather than null.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// revision is a workflow_definition_revision on the wire.
type revision struct {
	ID           string  `json:"id" format:"uuid"`
	DefinitionID string  `json:"workflow_definition_id" format:"uuid"`
	ChangedBy    string  `json:"changed_by"`
	Diff         anyJSON `json:"diff" doc:"{before, after, patch}: the definition is shown when it changed; patch is a JSON Patch"`
	Reason       *string `json:"reason"`
	CreatedAt    instant `json:"created_at"`
}

func viewRevision(r rondo.DefinitionRevision) revision {
	return revision{
		ID: r.ID.String(), DefinitionID: r.DefinitionID.String(), ChangedBy: r.ChangedBy, Diff: anyJSON(r.Diff),
		Reason: maybe(r.Reason), CreatedAt: instant(r.CreatedAt),
	}
}

// difference is what turns one definition into another, on the wire.
type difference struct {
	From    compared                 `json:"from"`
	To      compared                 `json:"to"`
	Changes []rondo.DefinitionChange `json:"changes" nullable:"false" doc:"What changed, in words; empty when both say the same"`
	Patch   anyJSON                  `json:"patch" doc:"JSON Patch (RFC 6902) from one definition to the other"`
}

type compared struct {
	ID      string            `json:"id" format:"uuid"`
	Name    string            `json:"name"`
	Version definitionVersion `json:"version"`
	Status  string            `json:"status"`
}

func viewDifference(d rondo.DefinitionDiff) difference {
	side := func(d rondo.Definition) compared {
		return compared{ID: d.ID.String(), Name: d.Name, Version: versionOf(d), Status: string(d.Status)}
	}
	return difference{From: side(d.From), To: side(d.To), Changes: listed(d.Changes), Patch: anyJSON(d.Patch)}
}
