package sqlstore

import (
	"context"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// conditions collects the parts of a WHERE clause.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

// is adds column = value unless the value is the zero that filters nothing.
func (c *conditions) is(column, value string) {
	if value != "" {
		c.add(column+" = ?", value)
	}
}

func (c *conditions) where() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// newest orders and limits a list that is newest first, by id.
func (c *conditions) newest(page store.Page) string { return c.newestThen("", page) }

// newestThen is newest with more to order by.
func (c *conditions) newestThen(more string, page store.Page) string {
	if !page.After.IsZero() {
		c.add("id < ?", ID(page.After))
	}
	return c.where() + " ORDER BY id DESC" + more + c.limit(page)
}

// oldest is newest in the other direction.
func (c *conditions) oldest(page store.Page) string {
	if !page.After.IsZero() {
		c.add("id > ?", ID(page.After))
	}
	return c.where() + " ORDER BY id" + c.limit(page)
}

func (c *conditions) limit(page store.Page) string {
	if page.Limit <= 0 {
		return ""
	}
	c.args = append(c.args, int64(page.Limit))
	return " LIMIT ?"
}

// Instance implements store.Ledger.
func (c *Cold) Instance(ctx context.Context, org string, id rondo.ID) (*rondo.Instance, error) {
	found, err := list(ctx, c.reader(), ReadInstance,
		"SELECT "+c.tables.Instances.Names("")+" FROM instances WHERE id = ? AND org_id = ?", ID(id), org)
	if err != nil {
		return nil, c.wrap("read instance", err)
	}
	if len(found) == 0 {
		return nil, rondo.NotFound("workflow instance")
	}
	return found[0], nil
}

// listed walks the index of lists, (status, org, id, …). A list of an org over all
// states is the newest of each state, merged: the index has no order by id alone,
// and one more index would cost every case.
func (c *Cold) listed(filter store.InstanceFilter) source {
	return func(ctx context.Context, after rondo.ID, n int) ([]rondo.ID, error) {
		page := store.Page{After: after, Limit: n}
		if filter.OrgID == "" || filter.CaseID != "" {
			where := &conditions{}
			c.narrow(where, filter)
			tail := where.newest(page)
			return list(ctx, c.reader(), readID, "SELECT id FROM instances"+tail, where.args...)
		}
		var query strings.Builder
		var args []any
		for i, status := range statuses(filter) {
			of := filter
			of.Status = status
			where := &conditions{}
			c.narrow(where, of)
			if i > 0 {
				query.WriteString(" UNION ALL ")
			}
			query.WriteString("SELECT id FROM (SELECT id FROM instances" + c.dialect.ListIndex + where.newestThen(c.dialect.ListOrder, page) + ") of_" + string(status))
			args = append(args, where.args...)
		}
		query.WriteString(" ORDER BY id DESC LIMIT ?")
		return list(ctx, c.reader(), readID, query.String(), append(args, int64(n))...)
	}
}

// statuses are the states that a filter can match.
func statuses(filter store.InstanceFilter) []rondo.Status {
	switch {
	case filter.Status != "":
		return []rondo.Status{filter.Status}
	case filter.StepID != "": // live in these only
		return []rondo.Status{rondo.StatusRunning, rondo.StatusHalted}
	default:
		return []rondo.Status{rondo.StatusRunning, rondo.StatusHalted, rondo.StatusCompleted, rondo.StatusCancelled}
	}
}

// narrow adds what a filter asks of the row of an instance.
func (c *Cold) narrow(where *conditions, filter store.InstanceFilter) {
	where.is("org_id", filter.OrgID)
	where.is("case_id", filter.CaseID)
	where.is("product_id", filter.ProductID)
	where.is("status", string(filter.Status))
	where.is("mode", string(filter.Mode))
	if !filter.DefinitionID.IsZero() {
		where.add("definition_id = ?", ID(filter.DefinitionID))
	}
	where.is("halt_reason", filter.ReasonCode)
	if filter.StepID != "" {
		if filter.Status == "" {
			where.add("status IN ('running', 'halted')")
		}
		where.add(c.dialect.contains("step_ids"), " "+filter.StepID+" ")
	}
	if !filter.StartedFrom.IsZero() {
		where.add("started_at >= ?", Micros(filter.StartedFrom))
	}
	if !filter.StartedTo.IsZero() {
		where.add("started_at < ?", Micros(filter.StartedTo))
	}
}

// Steps implements store.Ledger.
func (c *Cold) Steps(ctx context.Context, org string, instance rondo.ID) ([]rondo.Step, error) {
	found, err := list(ctx, c.reader(), ReadStep,
		"SELECT "+c.tables.Steps.Names("")+" FROM steps WHERE instance_id = ? AND org_id = ? ORDER BY seq", ID(instance), org)
	return found, c.wrap("list steps", err)
}

// Events implements store.Ledger.
func (c *Cold) Events(ctx context.Context, org string, instance rondo.ID, page store.Page) ([]rondo.EventRecord, error) {
	where := &conditions{}
	where.add("instance_id = ?", ID(instance))
	where.add("org_id = ?", org)
	tail := where.oldest(page)
	found, err := list(ctx, c.reader(), ReadEvent, "SELECT "+c.tables.Events.Names("")+" FROM events"+tail, where.args...)
	return found, c.wrap("list events", err)
}

// Event implements store.Ledger.
func (c *Cold) Event(ctx context.Context, org string, eventID rondo.ID) (*rondo.EventRecord, error) {
	found, err := list(ctx, c.reader(), ReadEvent,
		"SELECT "+c.tables.Events.Names("")+" FROM events WHERE org_id = ? AND event_id = ?", org, ID(eventID))
	if err != nil {
		return nil, c.wrap("read event", err)
	}
	if len(found) == 0 {
		return nil, rondo.NotFound("event")
	}
	return &found[0], nil
}

// Interventions implements store.Ledger.
func (c *Cold) Interventions(ctx context.Context, org string, instance rondo.ID) ([]rondo.Intervention, error) {
	found, err := list(ctx, c.reader(), readIntervention,
		"SELECT "+c.tables.Interventions.Names("")+" FROM interventions WHERE instance_id = ? AND org_id = ? ORDER BY id", ID(instance), org)
	return found, c.wrap("list interventions", err)
}
