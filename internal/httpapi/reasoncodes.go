package httpapi

import (
	"context"

	"github.com/rondo-engine/rondo"
)

// reasonCode is a reason_code on the wire.
type reasonCode struct {
	ID                  string   `json:"id" format:"uuid"`
	OrgID               *string  `json:"org_id" doc:"Null for codes of the system"`
	Scope               string   `json:"scope" enum:"halt,step_failure,human_decline"`
	Code                string   `json:"code"`
	Label               string   `json:"label"`
	Description         *string  `json:"description"`
	RequiresNote        bool     `json:"requires_note"`
	ApplicableStepKinds []string `json:"applicable_step_kinds" nullable:"true" doc:"Null: steps of every kind"`
	Active              bool     `json:"active" doc:"False: it cannot be used"`
}

func viewReasonCode(c rondo.ReasonCode) reasonCode {
	out := reasonCode{
		ID: c.ID.String(), OrgID: maybe(c.OrgID), Scope: c.Scope, Code: c.Code, Label: c.Label, Description: maybe(c.Description),
		RequiresNote: c.RequiresNote, Active: c.Active,
	}
	if len(c.ApplicableStepKinds) > 0 {
		out.ApplicableStepKinds = c.ApplicableStepKinds
	}
	return out
}

// newReasonCode documents the body of POST /reason-codes.
type newReasonCode struct {
	Scope               string   `json:"scope" enum:"halt,step_failure,human_decline"`
	Code                string   `json:"code" pattern:"^[a-z][a-z0-9_]*$" maxLength:"64"`
	Label               string   `json:"label" minLength:"1" maxLength:"200"`
	Description         string   `json:"description,omitempty" maxLength:"4096"`
	RequiresNote        bool     `json:"requires_note,omitempty" doc:"Default false"`
	ApplicableStepKinds []string `json:"applicable_step_kinds,omitempty" doc:"Default: steps of every kind"`
	Active              bool     `json:"active,omitempty" default:"true"`
	System              bool     `json:"system,omitempty" doc:"Make it a code of every organisation; only an admin may. Default false"`
}

// reasonCodeChange documents the body of PATCH /reason-codes/{id}.
type reasonCodeChange struct {
	Label               string   `json:"label,omitempty" minLength:"1" maxLength:"200"`
	Description         *string  `json:"description,omitempty" maxLength:"4096" nullable:"true"`
	RequiresNote        bool     `json:"requires_note,omitempty"`
	ApplicableStepKinds []string `json:"applicable_step_kinds,omitempty" nullable:"true" doc:"Null: steps of every kind"`
	Active              bool     `json:"active,omitempty"`
}

type (
	reasonCodeOut  struct{ Body reasonCode }
	reasonCodesOut struct{ Body page[reasonCode] }
)

func (a *API) registerReasonCodes(r *registrar) {
	handle(r, "list-reason-codes", nil, a.listReasonCodes)
	handle(r, "create-reason-code", newReasonCode{}, a.createReasonCode)
	handle(r, "change-reason-code", reasonCodeChange{}, a.changeReasonCode)
	handle(r, "delete-reason-code", nil, func(ctx context.Context, c *call) (*reasonCodeOut, error) {
		unusable := false
		return oneReasonCode(a.cfg.Definitions.ChangeReasonCode(ctx, c.principal, c.id, rondo.ReasonCodePatch{Active: &unusable}))
	})
}

func oneReasonCode(code rondo.ReasonCode, err error) (*reasonCodeOut, error) {
	if err != nil {
		return nil, err
	}
	return &reasonCodeOut{Body: viewReasonCode(code)}, nil
}

func (a *API) listReasonCodes(ctx context.Context, c *call) (*reasonCodesOut, error) {
	filter := rondo.ReasonCodeFilter{Scope: c.query.Get("scope")}
	if c.query.Has("active") {
		active := c.query.Get("active") == "true"
		filter.Active = &active
	}
	codes, err := a.cfg.Definitions.ReasonCodes(ctx, c.principal, filter)
	if err != nil {
		return nil, err
	}
	body, err := pageOf(c.query, listCodes, viewed(codes, viewReasonCode), func(r reasonCode) string { return r.ID })
	return &reasonCodesOut{Body: body}, err
}

// viewed shows each item of a list.
func viewed[R, T any](rows []R, view func(R) T) []T {
	out := make([]T, 0, len(rows))
	for _, row := range rows {
		out = append(out, view(row))
	}
	return out
}

func (a *API) createReasonCode(ctx context.Context, c *call) (*reasonCodeOut, error) {
	code := rondo.ReasonCode{Active: true}
	system := false
	if err := decode(c.body, append(reasonCodeMembers(&code), truth("system", &system))...); err != nil {
		return nil, a.allWrong(ctx, c, code, system, err)
	}
	return oneReasonCode(a.cfg.Definitions.CreateReasonCode(ctx, c.principal, code, system))
}

// allWrong adds to what is wrong with the form of a reason code what is wrong with
// the rest of it, so that everything is told at once.
func (a *API) allWrong(ctx context.Context, c *call, code rondo.ReasonCode, system bool, form error) error {
	wrong := fieldsOf(form, "")
	if len(wrong) == 0 {
		return form
	}
	told := map[string]bool{}
	for _, field := range wrong {
		told[field.Pointer] = true
	}
	for _, field := range fieldsOf(a.cfg.Definitions.CheckReasonCode(ctx, c.principal, code, system), "") {
		if !told[field.Pointer] {
			wrong = append(wrong, field)
		}
	}
	return badBody(wrong...)
}

// reasonCodeMembers is a whole reason code in a body.
func reasonCodeMembers(into *rondo.ReasonCode) []member {
	return []member{
		{name: "scope", required: true, text: &into.Scope},
		{name: "code", required: true, text: &into.Code},
		{name: "label", required: true, text: &into.Label},
		{name: "description", text: &into.Description},
		truth("requires_note", &into.RequiresNote),
		texts("applicable_step_kinds", &into.ApplicableStepKinds),
		truth("active", &into.Active),
	}
}

func (a *API) changeReasonCode(ctx context.Context, c *call) (*reasonCodeOut, error) {
	var label, description string
	var requiresNote, active bool
	var kinds []string
	var change rondo.ReasonCodePatch
	err := decode(c.body,
		given(member{name: "label", text: &label}, func() { change.Label = &label }),
		orNull(given(member{name: "description", text: &description}, func() { change.Description = &description })),
		given(truth("requires_note", &requiresNote), func() { change.RequiresNote = &requiresNote }),
		orNull(given(texts("applicable_step_kinds", &kinds), func() { change.ApplicableStepKinds = &kinds })),
		given(truth("active", &active), func() { change.Active = &active }),
	)
	if err != nil {
		return nil, err
	}
	return oneReasonCode(a.cfg.Definitions.ChangeReasonCode(ctx, c.principal, c.id, change))
}
