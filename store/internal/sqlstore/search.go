package sqlstore

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// A list of instances is made in two steps: ids, newest first, from an index that
// has all that most filters ask for, and then the rows of those that belong to the
// page. Documents of rows that do not match are never read. Both steps are plain
// look-ups in one index, so that no planner can turn them into something else.

// source returns ids below after (zero = from the newest) in descending order, at
// most n; fewer than n means that there are no more.
type source func(ctx context.Context, after rondo.ID, n int) ([]rondo.ID, error)

// Instances implements store.Ledger.
func (c *Cold) Instances(ctx context.Context, filter store.InstanceFilter, page store.Page) ([]*rondo.Instance, error) {
	tests, err := filter.Tests()
	if err != nil {
		return nil, err
	}
	if filter.StepID != "" && filter.Status.Terminal() {
		return nil, nil // nothing is live in an instance that has ended
	}
	found, err := c.instances(ctx, filter, tests, page)
	return found, c.wrap("list instances", err)
}

func (c *Cold) instances(ctx context.Context, filter store.InstanceFilter, tests []store.AttributeTest, page store.Page) ([]*rondo.Instance, error) {
	next, tests, err := c.source(ctx, filter, tests)
	if err != nil {
		return nil, err
	}
	n := maxParameters
	if page.Limit > 0 && len(tests) == 0 {
		n = min(page.Limit, n)
	}
	var found []*rondo.Instance
	for after := page.After; ; {
		ids, err := next(ctx, after, n)
		if err != nil || len(ids) == 0 {
			return found, err
		}
		last := len(ids) < n
		after = ids[len(ids)-1]
		for _, test := range tests {
			if ids, err = c.passing(ctx, ids, test); err != nil {
				return nil, err
			}
		}
		rows, err := c.rowsOf(ctx, ids, filter, page.Limit-len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
		if last || page.Limit > 0 && len(found) >= page.Limit {
			return found, nil
		}
	}
}

// unplanned adds conditions that no planner takes for a way to find rows: one that
// knows nothing of the data would rather go through all rows of an org than look
// up a few hundred ids.
func (c *conditions) unplanned(match *conditions) {
	if len(match.parts) > 0 {
		c.add("CASE WHEN "+strings.Join(match.parts, " AND ")+" THEN 1 ELSE 0 END = 1", match.args...)
	}
}

// rowsOf loads instances that still match, newest first.
func (c *Cold) rowsOf(ctx context.Context, ids []rondo.ID, filter store.InstanceFilter, limit int) ([]*rondo.Instance, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	where := &conditions{}
	marks := padded(ids)
	where.add("id IN ("+Marks(len(marks))+")", marks...)
	match := &conditions{}
	c.narrow(match, filter)
	where.unplanned(match)
	tail := where.newest(store.Page{Limit: limit})
	return list(ctx, c.reader(), ReadInstance, "SELECT "+c.tables.Instances.Names("")+" FROM instances"+tail, where.args...)
}

// passing keeps the ids whose values pass a test.
func (c *Cold) passing(ctx context.Context, ids []rondo.ID, test store.AttributeTest) ([]rondo.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	where := &conditions{}
	marks := padded(ids)
	where.add("instance_id IN ("+Marks(len(marks))+")", marks...)
	match := &conditions{}
	match.test(test)
	where.unplanned(match)
	passed, err := list(ctx, c.reader(), readID, "SELECT instance_id FROM attributes"+where.where(), where.args...)
	if err != nil {
		return nil, err
	}
	in := make(map[rondo.ID]bool, len(passed))
	for _, id := range passed {
		in[id] = true
	}
	return slices.DeleteFunc(ids, func(id rondo.ID) bool { return !in[id] }), nil
}

// test adds a condition on the values of a path.
func (c *conditions) test(t store.AttributeTest) {
	c.add("path = ?", t.Path)
	alike, other := "number IS NULL", "number IS NOT NULL"
	if t.Value.IsNumber {
		alike, other = other, alike
	}
	switch {
	case t.Op == "!=":
		c.add("(value <> ? OR "+other+")", []byte(t.Value.Text))
	case t.Value.IsNumber && t.Op != "=":
		c.add("number "+t.Op+" ?", t.Value.Number)
	default:
		c.add("value "+t.Op+" ?", []byte(t.Value.Text))
		c.add(alike)
	}
}

func readID(values []any) (rondo.ID, error) {
	r := reader{values: values}
	id := r.id()
	return id, wrapRead("id", r.err)
}

// padded are ids as parameters, the last one repeated up to one of a few lengths:
// databases remember the plan of a statement by its text.
func padded(ids []rondo.ID) []any {
	size := maxParameters
	for _, s := range []int{1, 10, 50, 200} {
		if len(ids) <= s {
			size = s
			break
		}
	}
	marks := make([]any, max(size, len(ids)))
	for i := range marks {
		marks[i] = ID(ids[min(i, len(ids)-1)])
	}
	return marks
}

// eachChunk calls work with ids as parameters, not too many at a time.
func eachChunk(ids []rondo.ID, work func([]any) error) error {
	for part := range slices.Chunk(ids, maxParameters) {
		if err := work(padded(part)); err != nil {
			return err
		}
	}
	return nil
}

// few is how many ids are few enough to look at all of them.
const few = 2000

// source chooses where the ids come from, and returns the tests that they have
// not passed yet. The test that fewest pass is the best source. When all pass
// many, most lists are soon full, whatever the source; then the index of lists has
// the advantage that it knows the other filters.
func (c *Cold) source(ctx context.Context, filter store.InstanceFilter, tests []store.AttributeTest) (source, []store.AttributeTest, error) {
	if len(tests) == 0 || filter.OrgID == "" || filter.CaseID != "" {
		return c.listed(filter), tests, nil
	}
	best, least := -1, []rondo.ID(nil)
	equal := -1
	for i, test := range tests {
		if test.Op == "!=" {
			continue
		}
		if test.Op == "=" {
			equal = i
		}
		ids, err := c.some(ctx, filter.OrgID, test)
		if err != nil {
			return nil, nil, err
		}
		if len(ids) <= few && (best < 0 || len(ids) < len(least)) {
			best, least = i, ids
		}
	}
	without := func(i int) []store.AttributeTest { return slices.Delete(slices.Clone(tests), i, i+1) }
	filter.Tag, filter.Where = "", nil
	switch narrowed := !reflect.DeepEqual(filter, store.InstanceFilter{OrgID: filter.OrgID}); {
	case best >= 0:
		return among(least), without(best), nil
	case equal >= 0 && !narrowed:
		return c.equal(filter.OrgID, tests[equal]), without(equal), nil
	default:
		return c.listed(filter), tests, nil
	}
}

func (c *Cold) valued(org string, test store.AttributeTest) *conditions {
	where := &conditions{}
	where.add("org_id = ?", org)
	where.test(test)
	return where
}

// equal walks the instances with one value: their index is in the order of ids.
func (c *Cold) equal(org string, test store.AttributeTest) source {
	return func(ctx context.Context, after rondo.ID, n int) ([]rondo.ID, error) {
		where := c.valued(org, test)
		if !after.IsZero() {
			where.add("instance_id < ?", ID(after))
		}
		return list(ctx, c.reader(), readID, "SELECT instance_id FROM attributes"+where.where()+" ORDER BY instance_id DESC LIMIT ?", append(where.args, int64(n))...)
	}
}

// some are the instances that pass a test, newest first, when they are few, else
// any, too many.
func (c *Cold) some(ctx context.Context, org string, test store.AttributeTest) ([]rondo.ID, error) {
	where := c.valued(org, test)
	ids, err := list(ctx, c.reader(), readID, "SELECT instance_id FROM attributes"+where.where()+" LIMIT ?", append(where.args, int64(few+1))...)
	if err != nil || len(ids) > few {
		return ids, err
	}
	slices.SortFunc(ids, func(a, b rondo.ID) int { return bytes.Compare(b[:], a[:]) })
	return slices.Compact(ids), nil
}

// among walks ids that are known.
func among(ids []rondo.ID) source {
	return func(_ context.Context, after rondo.ID, n int) ([]rondo.ID, error) {
		from := 0
		if !after.IsZero() {
			from = slices.IndexFunc(ids, func(id rondo.ID) bool { return bytes.Compare(id[:], after[:]) < 0 })
			if from < 0 {
				return nil, nil
			}
		}
		return slices.Clone(ids[from:min(from+n, len(ids))]), nil
	}
}
