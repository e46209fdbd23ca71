package memory

import "github.com/rondo-engine/rondo"

// activeKey names the place that an active definition takes and no other can
// have: one per product for cases, one per name for conversations, one per name
// and semver for runs. Templates take none.
type activeKey struct {
	kind                       rondo.DefinitionKind
	org, product, name, semver string
}

func activeKeyOf(d *rondo.Definition) (activeKey, bool) {
	if d.Status != rondo.DefinitionActive || d.OrgID == "" {
		return activeKey{}, false
	}
	key := activeKey{kind: d.Kind, org: d.OrgID}
	switch d.Kind {
	case rondo.KindCase:
		key.product = d.ProductID
	case rondo.KindRun:
		key.name, key.semver = d.Name, d.Semver
	default:
		key.name = d.Name
	}
	return key, true
}

// clash is another definition in the place that d takes; nil when there is none.
func (ds *definitions) clash(d *rondo.Definition) *definitionRow {
	key, taken := activeKeyOf(d)
	if !taken {
		return nil
	}
	for _, row := range ds.ordered {
		if other, ok := activeKeyOf(&row.definition); ok && other == key && row.definition.ID != d.ID {
			return row
		}
	}
	return nil
}
