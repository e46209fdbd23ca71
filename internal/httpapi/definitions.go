package httpapi

import (
	"bytes"
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/store"
)

// newDefinition documents the body of POST /workflow-definitions.
type newDefinition struct {
	Kind       string           `json:"kind,omitempty" enum:"case,conversation,run" default:"case"`
	ProductID  string           `json:"product_id,omitempty" minLength:"1" maxLength:"128" doc:"Absent: every product of the organisation"`
	Definition definitionSource `json:"definition,omitzero" doc:"An object, or a string that holds JSON (comments and trailing commas are fine) or YAML"`
	TemplateID string           `json:"template_id,omitempty" format:"uuid" doc:"Instead of definition: copy this template"`
	IsTemplate bool             `json:"is_template,omitempty" doc:"Make a template, for every organisation; only an admin may. Default false"`
	Reason     string           `json:"reason,omitempty" maxLength:"4096"`
}

type definitionSource struct{}

// Schema allows an object or a string.
func (definitionSource) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: true}, {Type: huma.TypeString}}}
}

// definitionPatch documents the body of PATCH /workflow-definitions/{id}.
type definitionPatch struct {
	Definition definitionSource `json:"definition,omitzero" doc:"Replaces the definition whole"`
	ProductID  *string          `json:"product_id,omitempty" minLength:"1" maxLength:"128" nullable:"true" doc:"Null: every product of the organisation"`
	Reason     string           `json:"reason,omitempty" maxLength:"4096"`
}

// cloneBody documents the body of clone.
type cloneBody struct {
	ProductID *string `json:"product_id,omitempty" minLength:"1" maxLength:"128" nullable:"true" doc:"Absent: that of the copied one; null: every product"`
	Name      string  `json:"name,omitempty" minLength:"1" maxLength:"200" doc:"Absent: that of the copied one"`
	Reason    string  `json:"reason,omitempty" maxLength:"4096"`
}

// reasonBody documents a body that may give a reason.
type reasonBody struct {
	Reason string `json:"reason,omitempty" maxLength:"4096"`
}

// emptyBody documents a body without members.
type emptyBody struct{}

type definitionOut struct {
	Status   int
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     definition
}

type definitionsOut struct {
	Body page[definition]
}

type (
	validationOut struct{ Body validation }
	revisionsOut  struct{ Body page[revision] }
	differenceOut struct{ Body difference }
)

func (a *API) registerDefinitions(r *registrar) {
	handle(r, "create-definition", newDefinition{}, a.createDefinition)
	handle(r, "list-definitions", nil, a.listDefinitions)
	handle(r, "get-definition", nil, func(ctx context.Context, c *call) (*definitionOut, error) {
		return oneDefinition(a.cfg.Definitions.Definition(ctx, c.principal, c.id))
	})
	handle(r, "validate-definition", emptyBody{}, a.validateDefinition)
	handle(r, "publish-definition", reasonBody{}, a.changeDefinition(a.cfg.Definitions.PublishDefinition))
	handle(r, "archive-definition", reasonBody{}, a.changeDefinition(a.cfg.Definitions.ArchiveDefinition))
	handle(r, "change-definition", definitionPatch{}, a.editDefinition)
	r.documentIfMatch("change-definition")
	handle(r, "clone-definition", cloneBody{}, a.cloneDefinition)
	handle(r, "list-revisions", nil, a.listRevisions)
	handle(r, "diff-definitions", nil, a.diffDefinitions)
	a.registerGraph(r)
	a.registerBundles(r)
	a.registerReasonCodes(r)
	a.registerStepKinds(r)
	handle(r, "list-templates", nil, a.listTemplates)
	handle(r, "get-template", nil, func(ctx context.Context, c *call) (*definitionOut, error) {
		return oneDefinition(a.cfg.Definitions.Template(ctx, c.principal, c.id))
	})
}

func oneDefinition(d rondo.Definition, err error) (*definitionOut, error) {
	if err != nil {
		return nil, err
	}
	return &definitionOut{Status: 200, ETag: etag(d.Revision), Body: viewDefinition(d)}, nil
}

func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

func (a *API) createDefinition(ctx context.Context, c *call) (*definitionOut, error) {
	wanted, err := readNewDefinition(c.body)
	if err != nil {
		return nil, err
	}
	return newlyMade(a.cfg.Definitions.CreateDefinition(ctx, c.principal, wanted))
}

// newlyMade answers with a definition that was not there before.
func newlyMade(d rondo.Definition, err error) (*definitionOut, error) {
	out, err := oneDefinition(d, err)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = 201, "/workflow-definitions/"+out.Body.ID
	return out, nil
}

func readNewDefinition(raw []byte) (rondo.NewDefinition, error) {
	kind := string(rondo.KindCase)
	var product, template, reason string
	var source []byte
	var isTemplate bool
	err := decode(raw,
		member{name: "kind", text: &kind},
		member{name: "product_id", identifier: true, text: &product},
		member{name: "definition", raw: func(value []byte) *rondo.FieldError { return takeSource(value, &source) }},
		member{name: "template_id", identifier: true, text: &template},
		truth("is_template", &isTemplate),
		member{name: "reason", text: &reason},
	)
	if err != nil {
		return rondo.NewDefinition{}, err
	}
	out := rondo.NewDefinition{Kind: rondo.DefinitionKind(kind), ProductID: product, Source: source, Template: isTemplate, Reason: reason}
	var wrong []rondo.FieldError
	if field := knownKind(out.Kind); field != nil {
		wrong = append(wrong, *field)
	}
	if template != "" {
		if out.TemplateID, err = rondo.ParseID(template); err != nil {
			wrong = append(wrong, rondo.FieldError{Code: "not_a_uuid", Pointer: "/template_id", Message: "template_id must be a UUID"})
		}
	}
	if (template == "") == (source == nil) {
		wrong = append(wrong, rondo.FieldError{Code: "one_of", Pointer: "", Message: "give exactly one of definition and template_id"})
	}
	if len(wrong) > 0 {
		return rondo.NewDefinition{}, badBody(wrong...)
	}
	return out, nil
}

func knownKind(kind rondo.DefinitionKind) *rondo.FieldError {
	switch kind {
	case rondo.KindCase, rondo.KindConversation, rondo.KindRun:
		return nil
	default:
		return &rondo.FieldError{Code: "unknown_value", Pointer: "/kind", Message: "use case, conversation or run"}
	}
}

// takeSource accepts an object as it is and a string as the text it holds.
func takeSource(value []byte, into *[]byte) *rondo.FieldError {
	if text, ok := canon.Text(value); ok {
		*into = text
		return nil
	}
	if value[0] != '{' {
		return &rondo.FieldError{Code: "wrong_type", Pointer: "/definition", Message: "definition must be an object, or a string that holds JSON or YAML"}
	}
	*into = bytes.Clone(value)
	return nil
}

func (a *API) listDefinitions(ctx context.Context, c *call) (*definitionsOut, error) {
	pg, err := queryPage(c.query, listDefinitions)
	if err != nil {
		return nil, err
	}
	rows, err := a.cfg.Definitions.DefinitionList(ctx, c.principal, store.DefinitionFilter{
		OrgID:     c.principal.Tenant,
		ProductID: c.query.Get("product_id"),
		Kind:      rondo.DefinitionKind(c.query.Get("kind")),
		Status:    rondo.DefinitionStatus(c.query.Get("status")),
		Name:      c.query.Get("name"),
	}, pg)
	if err != nil {
		return nil, err
	}
	id := func(d rondo.Definition) rondo.ID { return d.ID }
	return &definitionsOut{Body: paged(rows, pg.Limit, listDefinitions, id, viewDefinition)}, nil
}

func (a *API) validateDefinition(ctx context.Context, c *call) (*validationOut, error) {
	if err := decode(c.body); err != nil {
		return nil, err
	}
	report, err := a.cfg.Definitions.ValidateDefinition(ctx, c.principal, c.id)
	if err != nil {
		return nil, err
	}
	return &validationOut{Body: viewValidation(report)}, nil
}

// changeDefinition is publish and archive: both take a reason and answer with
// the definition.
func (a *API) changeDefinition(
	change func(context.Context, rondo.Principal, rondo.ID, string) (rondo.Definition, error),
) func(context.Context, *call) (*definitionOut, error) {
	return func(ctx context.Context, c *call) (*definitionOut, error) {
		var reason string
		if err := decode(c.body, member{name: "reason", text: &reason}); err != nil {
			return nil, err
		}
		return oneDefinition(change(ctx, c.principal, c.id, reason))
	}
}

func (a *API) listTemplates(ctx context.Context, c *call) (*definitionsOut, error) {
	templates, err := a.cfg.Definitions.Templates(ctx, c.principal)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listTemplates, viewed(templates, viewDefinition), func(d definition) string { return d.ID })
	return &definitionsOut{Body: body}, err
}
