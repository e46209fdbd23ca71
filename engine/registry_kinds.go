package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// StepKinds lists the kinds that the organisation can use, by name: the built-in
// ones and the newest version of each of its own.
func (e *Engine) StepKinds(ctx context.Context, p rondo.Principal) ([]rondo.StepKind, error) {
	own, err := e.store.StepKinds(ctx, p.Tenant)
	if err != nil {
		return nil, rondo.Op("read step kinds", err)
	}
	kinds := slices.Concat(definition.BuiltinKinds(), own)
	slices.SortStableFunc(kinds, func(a, b rondo.StepKind) int { return cmp.Compare(a.Name, b.Name) })
	return kinds, nil
}

// StepKindVersions returns every version of a kind, newest first, archived ones
// too. A built-in kind has one.
func (e *Engine) StepKindVersions(ctx context.Context, p rondo.Principal, name string) ([]rondo.StepKind, error) {
	if builtin, ok := builtinKind(name); ok {
		return []rondo.StepKind{builtin}, nil
	}
	versions, err := e.store.StepKindVersions(ctx, p.Tenant, name)
	if err != nil {
		return nil, rondo.Op("read step kind", err)
	}
	if len(versions) == 0 {
		return nil, rondo.NotFound("step kind")
	}
	return versions, nil
}

// PutStepKind publishes the next version of an organisation's own step kind.
// Definitions that are published already keep the version they were frozen with.
func (e *Engine) PutStepKind(ctx context.Context, p rondo.Principal, name string, contract []byte) (rondo.StepKind, error) {
	if err := checkStepKind(name, contract); err != nil {
		return rondo.StepKind{}, err
	}
	kind := rondo.StepKind{
		OrgID: p.Tenant, Name: name, Contract: contract, Status: "active", CreatedBy: p.User, CreatedAt: e.stamp(),
	}
	stored, err := e.store.PutStepKind(ctx, kind)
	if err != nil {
		return stored, rondo.Op("store step kind", err)
	}
	signal(e.learned)
	return stored, e.refreshTypes(ctx)
}

// checkStepKind says everything that is wrong with a kind. Pointers into the
// contract begin with /contract.
func checkStepKind(name string, contract []byte) error {
	var wrong []rondo.FieldError
	if _, builtin := builtinKind(name); builtin {
		wrong = append(wrong, rondo.FieldError{Code: "name_taken", Pointer: "/name", Message: "a built-in kind has this name; choose another"})
	} else if !word(name) {
		wrong = append(wrong, rondo.FieldError{Code: "not_a_word", Pointer: "/name", Message: wordRule})
	}
	if _, err := definition.ParseContract(contract); err != nil {
		for _, field := range fieldsOf(err) {
			field.Pointer = "/contract" + field.Pointer
			wrong = append(wrong, field)
		}
	}
	return invalidFields("the step kind is not valid", wrong)
}

// ArchiveStepKind takes a kind of the organisation out of use and returns its
// newest version. Definitions that are published already keep it.
func (e *Engine) ArchiveStepKind(ctx context.Context, p rondo.Principal, name string) (rondo.StepKind, error) {
	if _, builtin := builtinKind(name); builtin {
		return rondo.StepKind{}, &rondo.Error{
			Code: rondo.CodeForbidden, Message: "built-in kinds cannot be archived", Hint: "leave the kind out of your definitions",
		}
	}
	if err := e.store.ArchiveStepKind(ctx, p.Tenant, name); err != nil {
		return rondo.StepKind{}, err
	}
	versions, err := e.StepKindVersions(ctx, p, name)
	if err != nil {
		return rondo.StepKind{}, err
	}
	return versions[0], nil
}

func builtinKind(name string) (rondo.StepKind, bool) {
	kinds := definition.BuiltinKinds()
	at := slices.IndexFunc(kinds, func(k rondo.StepKind) bool { return k.Name == name })
	if at < 0 {
		return rondo.StepKind{}, false
	}
	return kinds[at], true
}
