package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Limits on what people call things.
const (
	maxWord        = 64
	maxLabel       = 200
	maxDescription = 4 << 10
)

// ReasonCodes lists the codes that the organisation can see: its own rows, and
// the system rows that none of them shadows, by scope and code.
func (e *Engine) ReasonCodes(ctx context.Context, p rondo.Principal, filter rondo.ReasonCodeFilter) ([]rondo.ReasonCode, error) {
	codes, err := e.store.ReasonCodes(ctx, p.Tenant)
	if err != nil {
		return nil, rondo.Op("read reason codes", err)
	}
	return slices.DeleteFunc(codes, func(c rondo.ReasonCode) bool {
		return filter.Scope != "" && c.Scope != filter.Scope || filter.Active != nil && c.Active != *filter.Active
	}), nil
}

// CreateReasonCode adds a row of the organisation, which shadows the system row
// of the same scope and code. With system it adds a row for every organisation,
// which only an admin may.
func (e *Engine) CreateReasonCode(ctx context.Context, p rondo.Principal, code rondo.ReasonCode, system bool) (rondo.ReasonCode, error) {
	if system && !p.Admin() {
		return rondo.ReasonCode{}, onlyAdmin("reason codes of the system", "leave system out to make a code of your own organisation")
	}
	if err := e.CheckReasonCode(ctx, p, code, system); err != nil {
		return rondo.ReasonCode{}, err
	}
	code.ID, code.OrgID = e.ids.New(), ownerOf(p, system)
	taken := func() (rondo.ReasonCode, bool, error) {
		rows, err := e.store.ReasonCodes(ctx, code.OrgID)
		if err != nil {
			return rondo.ReasonCode{}, false, rondo.Op("read reason codes", err)
		}
		at := slices.IndexFunc(rows, func(c rondo.ReasonCode) bool {
			return c.OrgID == code.OrgID && c.Scope == code.Scope && c.Code == code.Code
		})
		if at < 0 {
			return rondo.ReasonCode{}, false, nil
		}
		return rows[at], true, nil
	}
	if _, there, err := taken(); there || err != nil {
		return rondo.ReasonCode{}, reasonTaken(code, err)
	}
	if err := e.store.PutReasonCode(ctx, code); err != nil {
		return rondo.ReasonCode{}, rondo.Op("store reason code", err)
	}
	stored, there, err := taken()
	if err != nil || !there || stored.ID != code.ID { // somebody made it at the same time
		return rondo.ReasonCode{}, reasonTaken(code, err)
	}
	return stored, nil
}

// CheckReasonCode says everything that is wrong with a code that CreateReasonCode
// would be given, and stores nothing.
func (e *Engine) CheckReasonCode(ctx context.Context, p rondo.Principal, code rondo.ReasonCode, system bool) error {
	code.OrgID = ownerOf(p, system)
	return e.checkReasonCode(ctx, p.Tenant, nil, code)
}

func ownerOf(p rondo.Principal, system bool) string {
	if system {
		return ""
	}
	return p.Tenant
}

func reasonTaken(code rondo.ReasonCode, err error) error {
	if err != nil {
		return err
	}
	return &rondo.Error{
		Code: rondo.CodeConflict, Message: fmt.Sprintf("there is a reason code %s of scope %s already", code.Code, code.Scope),
		Hint: "change the one that is there",
	}
}

// ChangeReasonCode changes a row of the organisation, or of the system when an
// admin asks.
func (e *Engine) ChangeReasonCode(ctx context.Context, p rondo.Principal, id rondo.ID, patch rondo.ReasonCodePatch) (rondo.ReasonCode, error) {
	code, err := e.store.ReasonCode(ctx, p.Tenant, id)
	if err != nil {
		return rondo.ReasonCode{}, err
	}
	if code.OrgID == "" && !p.Admin() {
		return rondo.ReasonCode{}, onlyAdmin("reason codes of the system", "add a code of your own with the same scope and code: it takes the place of this one in your organisation")
	}
	assign(&code.Label, patch.Label)
	assign(&code.Description, patch.Description)
	assign(&code.RequiresNote, patch.RequiresNote)
	assign(&code.ApplicableStepKinds, patch.ApplicableStepKinds)
	assign(&code.Active, patch.Active)
	if err := e.checkReasonCode(ctx, p.Tenant, nil, code); err != nil {
		return rondo.ReasonCode{}, err
	}
	if err := e.store.PutReasonCode(ctx, code); err != nil {
		return rondo.ReasonCode{}, rondo.Op("store reason code", err)
	}
	return code, nil
}

func assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func onlyAdmin(what, hint string) *rondo.Error {
	return &rondo.Error{Code: rondo.CodeForbidden, Message: "only an admin may change " + what, Hint: hint}
}

// checkReasonCode says everything that is wrong with a row. coming are kinds that
// the organisation is about to get.
func (e *Engine) checkReasonCode(ctx context.Context, org string, coming []rondo.StepKind, code rondo.ReasonCode) error {
	var wrong []rondo.FieldError
	add := func(word, pointer, message string) {
		wrong = append(wrong, rondo.FieldError{Code: word, Pointer: pointer, Message: message})
	}
	switch code.Scope {
	case definition.ScopeHalt, definition.ScopeStepFailure, definition.ScopeHumanDecline:
	default:
		add("unknown_value", "/scope", "use halt, step_failure or human_decline")
	}
	if !word(code.Code) {
		add("not_a_word", "/code", wordRule)
	}
	if strings.TrimSpace(code.Label) == "" || len(code.Label) > maxLabel {
		add("out_of_range", "/label", fmt.Sprintf("a label has 1 to %d bytes", maxLabel))
	}
	if len(code.Description) > maxDescription {
		add("too_long", "/description", fmt.Sprintf("a description has at most %d bytes", maxDescription))
	}
	if len(code.ApplicableStepKinds) > 0 {
		kinds, err := e.StepKinds(ctx, rondo.Principal{Tenant: org})
		if err != nil {
			return err
		}
		kinds = append(kinds, coming...)
		for i, name := range code.ApplicableStepKinds {
			usable := func(k rondo.StepKind) bool { return k.Name == name && (code.OrgID != "" || k.OrgID == "") }
			if !slices.ContainsFunc(kinds, usable) {
				add("kind_unknown", fmt.Sprintf("/applicable_step_kinds/%d", i), "there is no such step kind; GET /step-kinds lists them")
			}
		}
	}
	return invalidFields("the reason code is not valid", wrong)
}

func invalidFields(message string, wrong []rondo.FieldError) error {
	if len(wrong) == 0 {
		return nil
	}
	return &rondo.Error{Code: rondo.CodeInvalid, Message: message, Hint: "correct each field listed", Fields: wrong}
}

const wordRule = "use 1 to 64 small letters, digits and underscores, a letter first"

// word reports whether s matches ^[a-z][a-z0-9_]*$ and is short.
func word(s string) bool {
	for i, c := range []byte(s) {
		small := c >= 'a' && c <= 'z'
		if !small && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= maxWord
}

// checkHaltReason says whether a person may halt the instance for the reason
// they give: it must be an active code of scope halt, fit the kind of a step that
// is in flight, and come with a note when it asks for one.
func (e *Engine) checkHaltReason(ctx context.Context, instance *rondo.Instance, action rondo.Action) error {
	codes, err := e.store.ReasonCodes(ctx, instance.OrgID)
	if err != nil {
		return rondo.Op("read reason codes", err)
	}
	at := slices.IndexFunc(codes, func(c rondo.ReasonCode) bool {
		return c.Scope == definition.ScopeHalt && c.Code == action.ReasonCode && c.Active
	})
	if at < 0 {
		return invalidField("/reason_code", "unknown_reason_code", "reason_code is not an active code of scope halt; use for example manual_halt")
	}
	code := codes[at]
	if len(code.ApplicableStepKinds) > 0 && !slices.ContainsFunc(instance.Machine.Live, func(a rondo.Attempt) bool {
		return slices.Contains(code.ApplicableStepKinds, a.Kind)
	}) {
		return invalidField("/reason_code", "reason_code_not_applicable",
			fmt.Sprintf("reason code %s is for steps of kind %s, and none is in flight; use another code", code.Code, strings.Join(code.ApplicableStepKinds, ", ")))
	}
	if code.RequiresNote && strings.TrimSpace(action.Note) == "" {
		return invalidField("/note", "note_required", fmt.Sprintf("reason code %s needs a note: say in note why the case is halted", code.Code))
	}
	return nil
}
