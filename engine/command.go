package engine

import (
	"context"
	"fmt"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
)

// commandOf is what a person asks for in the words of the case machine. The
// target of a migration is missing: see migrationTarget.
func commandOf(action rondo.Action, by string) flow.Command {
	return flow.Command{
		Action: string(action.Name), By: by, Reason: action.Reason, ReasonCode: action.ReasonCode, Note: action.Note,
		StepID: action.StepID, Input: action.InputOverride, Outcome: action.Outcome, Output: action.Output,
		Mode: action.Mode, StepMap: action.StepMap,
	}
}

// migrationTarget finds the definition that instances of a product migrate to:
// the one named by to, else the one that a new case of the product would start.
func (e *Engine) migrationTarget(ctx context.Context, org, product string, to rondo.ID) (*flow.Start, error) {
	var hash string
	if to.IsZero() {
		key := store.StartKey{OrgID: org, ProductID: product}
		var active store.ActiveDefinition
		_, err := e.store.Update(ctx, store.Load{Starts: []store.StartKey{key}}, func(loaded *store.Loaded) (*store.Write, error) {
			active = loaded.Active[key]
			return nil, nil
		})
		if err != nil {
			return nil, rondo.Op("find the active definition", err)
		}
		if active.DefinitionID.IsZero() {
			refusal := rondo.WrongState(fmt.Sprintf("product %s has no active definition to migrate to", product))
			refusal.Hint = "publish one, or name a published definition in to_definition_id"
			return nil, refusal
		}
		to, hash = active.DefinitionID, active.SnapshotHash
	} else {
		d, err := e.store.Definition(ctx, org, to)
		if err != nil {
			return nil, err
		}
		if err := migratable(d, product); err != nil {
			return nil, err
		}
		hash = d.SnapshotHash
	}
	snapshot, err := e.snapshots.Get(ctx, hash)
	if err != nil {
		return nil, rondo.Op("read the target of the migration", err)
	}
	return &flow.Start{DefinitionID: to, Snapshot: snapshot}, nil
}

// migratable says whether instances of a product can run a definition.
func migratable(d rondo.Definition, product string) error {
	switch {
	case d.OrgID == "" || d.Kind != rondo.KindCase:
		return invalidField("/to_definition_id", "not_a_case_definition", "name a case definition of your organisation in to_definition_id")
	case d.Status != rondo.DefinitionActive:
		refusal := rondo.WrongState(fmt.Sprintf("the definition to migrate to is %s", d.Status))
		refusal.Hint = "publish it first, or name an active definition"
		return refusal
	case d.ProductID != "" && d.ProductID != product:
		refusal := rondo.WrongState("the definition to migrate to is for another product than the instance")
		refusal.Hint = "name a definition of the instance's product, or one for every product"
		return refusal
	}
	return nil
}
