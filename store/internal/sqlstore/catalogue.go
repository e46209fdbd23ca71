package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

const reasonColumns = "id, org_id, scope, code, label, description, requires_note, step_kinds, active"

func readReason(values []any) (rondo.ReasonCode, error) {
	r := reader{values: values}
	code := rondo.ReasonCode{
		ID: r.id(), OrgID: r.text(), Scope: r.text(), Code: r.text(), Label: r.text(), Description: r.text(), RequiresNote: r.bool(),
	}
	kinds := r.bytes()
	code.Active = r.bool()
	if r.err == nil && kinds != nil {
		r.err = json.Unmarshal(kinds, &code.ApplicableStepKinds)
	}
	return code, wrapRead("reason code", r.err)
}

// ReasonCodes implements store.Catalogue.
func (c *Cold) ReasonCodes(ctx context.Context, org string) ([]rondo.ReasonCode, error) {
	found, err := list(ctx, c.reader(), readReason,
		"SELECT "+reasonColumns+" FROM reason_codes r WHERE org_id = ? OR (org_id = '' AND NOT EXISTS "+
			"(SELECT 1 FROM reason_codes own WHERE own.org_id = ? AND own.scope = r.scope AND own.code = r.code)) "+
			"ORDER BY scope, code", org, org)
	return found, c.wrap("list reason codes", err)
}

// ReasonCode implements store.Catalogue.
func (c *Cold) ReasonCode(ctx context.Context, org string, id rondo.ID) (rondo.ReasonCode, error) {
	found, err := list(ctx, c.reader(), readReason,
		"SELECT "+reasonColumns+" FROM reason_codes WHERE id = ? AND (org_id = ? OR org_id = '')", ID(id), org)
	if err != nil {
		return rondo.ReasonCode{}, c.wrap("read reason code", err)
	}
	if len(found) == 0 {
		return rondo.ReasonCode{}, rondo.NotFound("reason code")
	}
	return found[0], nil
}

// PutReasonCode implements store.Catalogue. A row that is replaced keeps its id.
func (c *Cold) PutReasonCode(ctx context.Context, code rondo.ReasonCode) error {
	var kinds any
	if code.ApplicableStepKinds != nil {
		list, err := json.Marshal(code.ApplicableStepKinds)
		if err != nil {
			return rondo.Op(c.dialect.Name+": put reason code", err)
		}
		kinds = list
	}
	return c.write(ctx, "put reason code", func(s session) error {
		id := code.ID
		replaced, err := list(ctx, s, readReason,
			"SELECT "+reasonColumns+" FROM reason_codes WHERE org_id = ? AND scope = ? AND code = ?"+c.dialect.Lock,
			code.OrgID, code.Scope, code.Code)
		if err != nil {
			return err
		}
		if len(replaced) > 0 {
			id = replaced[0].ID
			if _, err := s.exec(ctx, "DELETE FROM reason_codes WHERE org_id = ? AND scope = ? AND code = ?",
				code.OrgID, code.Scope, code.Code); err != nil {
				return err
			}
		}
		return s.insert(ctx, "reason_codes", reasonColumns, ID(id), code.OrgID, code.Scope, code.Code, code.Label,
			code.Description, flag(code.RequiresNote), kinds, flag(code.Active))
	})
}

const kindColumns = "org_id, name, version, contract, status, created_by, created_at"

func readKind(values []any) (rondo.StepKind, error) {
	r := reader{values: values}
	kind := rondo.StepKind{
		OrgID: r.text(), Name: r.text(), Version: int(r.int()), Contract: r.bytes(), Status: r.text(),
		CreatedBy: r.text(), CreatedAt: r.time(),
	}
	return kind, wrapRead("step kind", r.err)
}

// newestKind holds for the newest active version of a kind.
const newestKind = "version = (SELECT MAX(version) FROM step_kinds newest " +
	"WHERE newest.org_id = k.org_id AND newest.name = k.name AND newest.status = 'active')"

// StepKinds implements store.Catalogue.
func (c *Cold) StepKinds(ctx context.Context, org string) ([]rondo.StepKind, error) {
	found, err := list(ctx, c.reader(), readKind,
		"SELECT "+kindColumns+" FROM step_kinds k WHERE org_id = ? AND "+newestKind+" ORDER BY name", org)
	return found, c.wrap("list step kinds", err)
}

// EveryStepKind implements store.Catalogue.
func (c *Cold) EveryStepKind(ctx context.Context) ([]rondo.StepKind, error) {
	found, err := list(ctx, c.reader(), readKind,
		"SELECT "+kindColumns+" FROM step_kinds k WHERE "+newestKind+" ORDER BY org_id, name")
	return found, c.wrap("list every step kind", err)
}

// StepKindVersions implements store.Catalogue.
func (c *Cold) StepKindVersions(ctx context.Context, org, name string) ([]rondo.StepKind, error) {
	found, err := list(ctx, c.reader(), readKind,
		"SELECT "+kindColumns+" FROM step_kinds WHERE org_id = ? AND name = ? ORDER BY version DESC", org, name)
	return found, c.wrap("list versions of a step kind", err)
}

// ArchiveStepKind implements store.Catalogue.
func (c *Cold) ArchiveStepKind(ctx context.Context, org, name string) error {
	return c.write(ctx, "archive step kind", func(s session) error {
		if err := c.lockDefinitions(ctx, s); err != nil {
			return err
		}
		found, err := list(ctx, s, readKind, "SELECT "+kindColumns+" FROM step_kinds WHERE org_id = ? AND name = ?", org, name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rondo.NotFound("step kind")
		}
		_, err = s.exec(ctx, "UPDATE step_kinds SET status = 'archived' WHERE org_id = ? AND name = ?", org, name)
		return err
	})
}

// PutStepKind implements store.Catalogue.
func (c *Cold) PutStepKind(ctx context.Context, kind rondo.StepKind) (rondo.StepKind, error) {
	kind.CreatedAt = Stored(kind.CreatedAt)
	err := c.write(ctx, "put step kind", func(s session) error {
		if err := c.lockDefinitions(ctx, s); err != nil {
			return err
		}
		err := s.each(ctx, func(values []any) error {
			r := reader{values: values}
			kind.Version = int(r.int()) + 1
			return r.err
		}, "SELECT MAX(version) FROM step_kinds WHERE org_id = ? AND name = ?", kind.OrgID, kind.Name)
		if err != nil {
			return err
		}
		return s.insert(ctx, "step_kinds", kindColumns, kind.OrgID, kind.Name, int64(kind.Version), document(kind.Contract), kind.Status,
			kind.CreatedBy, Micros(kind.CreatedAt))
	})
	if err != nil {
		return rondo.StepKind{}, err
	}
	return kind, nil
}
