package sqlstore

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// loose_events names the ledger rows that people look for (parked, unmatched,
// rejected) and those that never reached an instance: a side table, so that
// ordinary events, which are found by their instance, pay for no index of it.

const (
	looseColumns = "org_id, event_id, id, case_id, outcome, type"
	unloose      = "DELETE FROM loose_events WHERE org_id = ? AND event_id = ?"
	loosen       = "INSERT INTO loose_events (" + looseColumns + ") SELECT " + looseColumns + " FROM events WHERE org_id = ? AND event_id = ?"
)

func isLoose(outcome rondo.Outcome, instance rondo.ID) bool {
	return instance.IsZero() || store.Loose(outcome)
}

func looseRows(events []rondo.EventRecord) [][]any {
	var rows [][]any
	for i := range events {
		if e := &events[i]; isLoose(e.Outcome, e.InstanceID) {
			rows = append(rows, []any{e.OrgID, ID(e.EventID), ID(e.ID), e.CaseID, string(e.Outcome), e.Type})
		}
	}
	return rows
}

// loosen keeps loose_events right for events that are judged again.
func (p *Plan) loosen() {
	for i := range p.Rejudged {
		r := &p.Rejudged[i]
		key := []any{r.Key.OrgID, ID(r.Key.EventID)}
		p.After = append(p.After, Statement{unloose, key})
		if isLoose(rondo.Outcome(r.Outcome), r.InstanceID) {
			p.After = append(p.After, Statement{loosen, key})
		}
	}
}

// EventList implements store.Ledger. The events of a case are those of its
// instances and its loose ones.
func (c *Cold) EventList(ctx context.Context, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error) {
	if err := filter.Check(); err != nil {
		return nil, err
	}
	if filter.CaseID == "" {
		return c.looseEvents(ctx, filter, page)
	}
	where := &conditions{args: []any{filter.OrgID, filter.CaseID, filter.OrgID, filter.CaseID}}
	where.add("e.case_id = ?", filter.CaseID)
	where.is("e.outcome", string(filter.Outcome))
	where.is("e.type", filter.Type)
	if !page.After.IsZero() {
		where.add("e.id < ?", ID(page.After))
	}
	query := "SELECT " + c.tables.Events.Names("e.") + " FROM (" +
		"SELECT i.org_id, o.event_id FROM instances i JOIN events o ON o.instance_id = i.id WHERE i.org_id = ? AND i.case_id = ? " +
		"UNION SELECT l.org_id, l.event_id FROM loose_events l WHERE l.org_id = ? AND l.case_id = ?) k " +
		"JOIN events e ON e.org_id = k.org_id AND e.event_id = k.event_id" + where.where() + " ORDER BY e.id DESC" + where.limit(page)
	found, err := list(ctx, c.reader(), ReadEvent, query, where.args...)
	return found, c.wrap("list events", err)
}

func (c *Cold) looseEvents(ctx context.Context, filter store.EventFilter, page store.Page) ([]rondo.EventRecord, error) {
	where := &conditions{}
	where.add("org_id = ?", filter.OrgID)
	where.add("outcome = ?", string(filter.Outcome))
	where.is("type", filter.Type)
	tail := where.newest(page)
	found, err := list(ctx, c.reader(), ReadEvent, "SELECT "+c.tables.Events.Names("e.")+
		" FROM (SELECT org_id, event_id FROM loose_events"+tail+") l JOIN events e ON e.org_id = l.org_id AND e.event_id = l.event_id ORDER BY e.id DESC",
		where.args...)
	return found, c.wrap("list events", err)
}

// StepsOf implements store.Ledger.
func (c *Cold) StepsOf(ctx context.Context, org string, instances []rondo.ID) (map[rondo.ID][]rondo.Step, error) {
	found := make(map[rondo.ID][]rondo.Step, len(instances))
	err := eachChunk(instances, func(ids []any) error {
		steps, err := list(ctx, c.reader(), ReadStep,
			"SELECT "+c.tables.Steps.Names("")+" FROM steps WHERE instance_id IN ("+Marks(len(ids))+") AND org_id = ? ORDER BY instance_id, seq", append(ids, org)...)
		for i := range steps {
			found[steps[i].InstanceID] = append(found[steps[i].InstanceID], steps[i])
		}
		return err
	})
	return found, c.wrap("list steps", err)
}
