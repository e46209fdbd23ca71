package sqlstore

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// attributes has one row per value of a path. A value is stored as bytes: it may
// have any, NUL too, and compares bytewise.

const removeAttribute = "DELETE FROM attributes WHERE instance_id = ? AND path = ? AND org_id = ?"

// attributes replaces what paths hold. An instance that is new holds nothing.
func (p *Plan) attributes(t *Tables, w *store.Write) {
	if len(w.Attributes) == 0 {
		return
	}
	fresh := make(map[rondo.ID]bool, len(w.Instances))
	for _, i := range w.Instances {
		fresh[i.Instance.ID] = i.Previous == 0
	}
	var rows [][]any
	for i := range w.Attributes {
		a := &w.Attributes[i]
		if !fresh[a.InstanceID] {
			p.Before = append(p.Before, Statement{removeAttribute, []any{ID(a.InstanceID), a.Path, a.OrgID}})
		}
		for _, v := range store.Searchable(a.Values) {
			rows = append(rows, []any{ID(a.InstanceID), a.Path, []byte(v.Text), number(v), a.OrgID})
		}
	}
	p.insert(&t.Attributes, rows)
}

func number(v rondo.AttributeValue) any {
	if !v.IsNumber {
		return nil
	}
	return v.Number
}

// Attributes implements store.Ledger.
func (c *Cold) Attributes(ctx context.Context, org string, instance rondo.ID) ([]rondo.Attribute, error) {
	var found []rondo.Attribute
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		path, v := r.text(), rondo.AttributeValue{Text: r.text()}
		v.Number, v.IsNumber = r.float()
		if last := len(found) - 1; last < 0 || found[last].Path != path {
			found = append(found, rondo.Attribute{OrgID: org, InstanceID: instance, Path: path})
		}
		last := &found[len(found)-1]
		last.Values = append(last.Values, v)
		return wrapRead("attribute", r.err)
	}, "SELECT path, value, number FROM attributes WHERE instance_id = ? AND org_id = ? ORDER BY path, value", ID(instance), org)
	return found, c.wrap("list attributes", err)
}
