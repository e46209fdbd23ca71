package httpapi

import (
	"bytes"
	"context"
	"strconv"

	"github.com/rondo-engine/rondo"
)

// stepKind is a step_kind on the wire.
type stepKind struct {
	OrgID     *string      `json:"org_id" doc:"Null for built-in kinds"`
	Name      string       `json:"name"`
	Version   int          `json:"version"`
	Contract  anyJSON      `json:"contract"`
	Status    string       `json:"status" enum:"active,archived"`
	CreatedBy *string      `json:"created_by" doc:"Null for built-in kinds"`
	CreatedAt maybeInstant `json:"created_at" doc:"Null for built-in kinds"`
}

func viewStepKind(k rondo.StepKind) stepKind {
	return stepKind{
		OrgID: maybe(k.OrgID), Name: k.Name, Version: k.Version, Contract: anyJSON(k.Contract), Status: k.Status,
		CreatedBy: maybe(k.CreatedBy), CreatedAt: maybeInstant(k.CreatedAt),
	}
}

// newStepKind documents the body of POST /step-kinds.
type newStepKind struct {
	Name     string         `json:"name" pattern:"^[a-z][a-z0-9_]*$" maxLength:"64"`
	Contract map[string]any `json:"contract" doc:"What the kind is: see the documentation of step kinds"`
}

type (
	stepKindOut  struct{ Body stepKind }
	stepKindsOut struct{ Body page[stepKind] }
)

func (a *API) registerStepKinds(r *registrar) {
	handle(r, "list-step-kinds", nil, func(ctx context.Context, c *call) (*stepKindsOut, error) {
		kinds, err := a.cfg.Definitions.StepKinds(ctx, c.principal)
		return allStepKinds(c, listKinds, kinds, err)
	})
	handle(r, "publish-step-kind", newStepKind{}, a.publishStepKind)
	handle(r, "get-step-kind", nil, func(ctx context.Context, c *call) (*stepKindsOut, error) {
		kinds, err := a.cfg.Definitions.StepKindVersions(ctx, c.principal, c.name)
		return allStepKinds(c, listVersions, kinds, err)
	})
	handle(r, "archive-step-kind", nil, func(ctx context.Context, c *call) (*stepKindOut, error) {
		return oneStepKind(a.cfg.Definitions.ArchiveStepKind(ctx, c.principal, c.name))
	})
}

func oneStepKind(kind rondo.StepKind, err error) (*stepKindOut, error) {
	if err != nil {
		return nil, err
	}
	return &stepKindOut{Body: viewStepKind(kind)}, nil
}

func allStepKinds(c *call, list byte, kinds []rondo.StepKind, err error) (*stepKindsOut, error) {
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, list, viewed(kinds, viewStepKind), func(k stepKind) string { return k.Name + " " + strconv.Itoa(k.Version) })
	return &stepKindsOut{Body: body}, err
}

func (a *API) publishStepKind(ctx context.Context, c *call) (*stepKindOut, error) {
	var name string
	var contract []byte
	err := decode(c.body,
		member{name: "name", required: true, text: &name},
		member{name: "contract", required: true, raw: func(value []byte) *rondo.FieldError {
			return takeObject("contract", value, &contract)
		}},
	)
	if err != nil {
		return nil, err
	}
	return oneStepKind(a.cfg.Definitions.PutStepKind(ctx, c.principal, name, contract))
}

// takeObject keeps an object as it is.
func takeObject(name string, value []byte, into *[]byte) *rondo.FieldError {
	if value[0] != '{' {
		return &rondo.FieldError{Code: "wrong_type", Pointer: "/" + name, Message: name + " must be an object"}
	}
	*into = bytes.Clone(value)
	return nil
}
