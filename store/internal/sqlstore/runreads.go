package sqlstore

import (
	"context"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Run implements store.Runs.
func (c *Cold) Run(ctx context.Context, tenant string, id rondo.ID) (*rondo.Run, error) {
	const op = "read run"
	found, err := list(ctx, c.reader(), readRun, "SELECT "+c.tables.Runs.Names("")+" FROM runs WHERE id = ? AND tenant_id = ?", ID(id), tenant)
	if err == nil && len(found) == 0 {
		err = c.noRun(op)
	}
	if err != nil {
		return nil, c.wrap(op, err)
	}
	return &found[0].Run, nil
}

// RunList implements store.Runs.
func (c *Cold) RunList(ctx context.Context, f store.RunFilter, page store.Page) ([]rondo.Run, error) {
	where, args := "tenant_id = ?", []any{f.TenantID}
	add := func(condition string, value any) {
		where += " AND " + condition
		args = append(args, value)
	}
	if f.Workflow != "" {
		add("workflow = ?", f.Workflow)
	}
	if f.Status != "" {
		add("status = ?", string(f.Status))
	}
	if f.Trigger != "" {
		add("trigger_type = ?", string(f.Trigger))
	}
	if !f.Base.IsZero() {
		add("base_id = ?", ID(f.Base))
	}
	if !page.After.IsZero() {
		add("id < ?", ID(page.After))
	}
	found, err := list(ctx, c.reader(), func(values []any) (rondo.Run, error) {
		run, err := readRun(values)
		return run.Run, err
	}, "SELECT "+c.tables.Runs.Names("")+" FROM runs WHERE "+where+" ORDER BY id DESC LIMIT ?", append(args, rowLimit(page.Limit))...)
	return found, c.wrap("list runs", err)
}

// RunSteps implements store.Runs.
func (c *Cold) RunSteps(ctx context.Context, run rondo.ID, after int64, withData bool) ([]rondo.RunStep, error) {
	columns := c.tables.RunSteps.Names("")
	if !withData {
		columns = strings.Replace(columns, "manifest, data, debug", "NULL, NULL, NULL", 1)
	}
	found, err := list(ctx, c.reader(), readRunStep,
		"SELECT "+columns+" FROM run_steps WHERE run_id = ? AND seq > ? ORDER BY seq, step_id, attempt", ID(run), after)
	return found, c.wrap("read the steps of a run", err)
}

// RunStepData implements store.Runs.
func (c *Cold) RunStepData(ctx context.Context, run rondo.ID, step string) ([]rondo.RunStep, error) {
	found, err := list(ctx, c.reader(), readRunStep,
		"SELECT "+c.tables.RunSteps.Names("")+" FROM run_steps WHERE run_id = ? AND step_id = ? ORDER BY seq, attempt", ID(run), step)
	return found, c.wrap("read a step of a run", err)
}

// CountRunSteps implements store.Runs.
func (c *Cold) CountRunSteps(ctx context.Context, runs []rondo.ID) (map[rondo.ID]map[rondo.RunStepStatus]int, error) {
	counts := map[rondo.ID]map[rondo.RunStepStatus]int{}
	for chunk := range slices.Chunk(runs, maxParameters) {
		in := padded(chunk)
		err := c.reader().each(ctx, func(values []any) error {
			r := reader{values: values}
			run, status, n := r.id(), rondo.RunStepStatus(r.text()), int(r.int())
			if counts[run] == nil {
				counts[run] = map[rondo.RunStepStatus]int{}
			}
			counts[run][status] = n
			return r.err
		}, "SELECT s.run_id, s.status, COUNT(*) FROM run_steps s WHERE s.run_id IN ("+Marks(len(in))+") AND NOT EXISTS "+
			"(SELECT 1 FROM run_steps n WHERE n.run_id = s.run_id AND n.step_id = s.step_id AND n.attempt > s.attempt) GROUP BY s.run_id, s.status", in...)
		if err != nil {
			return nil, c.wrap("count the steps of runs", err)
		}
	}
	return counts, nil
}

// Artifact implements store.Runs.
func (c *Cold) Artifact(ctx context.Context, tenant string, id rondo.ID) (rondo.Artifact, error) {
	found, err := c.Artifacts(ctx, tenant, []rondo.ID{id})
	if err == nil && len(found) == 0 {
		err = rondo.Op(c.dialect.Name+": read artifact", rondo.NotFound("artifact"))
	}
	if err != nil {
		return rondo.Artifact{}, err
	}
	return found[0], nil
}

// Artifacts implements store.Runs.
func (c *Cold) Artifacts(ctx context.Context, tenant string, ids []rondo.ID) ([]rondo.Artifact, error) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, compareIDs)
	var found []rondo.Artifact
	for chunk := range slices.Chunk(slices.Compact(ids), maxParameters) {
		in := padded(chunk)
		some, err := list(ctx, c.reader(), readArtifact, "SELECT tenant_id, record FROM artifacts WHERE tenant_id = ? AND id IN ("+Marks(len(in))+") ORDER BY id",
			append([]any{tenant}, in...)...)
		if err != nil {
			return nil, c.wrap("read artifacts", err)
		}
		found = append(found, some...)
	}
	return found, nil
}

// RunArtifacts implements store.Runs.
func (c *Cold) RunArtifacts(ctx context.Context, tenant string, run rondo.ID, step string) ([]rondo.Artifact, error) {
	where, args := "", []any{ID(run), tenant}
	if step != "" {
		where = " AND s.step_id = ?"
		args = append(args, step)
	}
	var ids []rondo.ID
	err := c.reader().each(ctx, func(values []any) error {
		r := reader{values: values}
		ids = append(ids, r.ids()...)
		return r.err
	}, "SELECT s.artifacts FROM runs r JOIN run_steps s ON s.run_id = r.id WHERE r.id = ? AND r.tenant_id = ? AND s.artifacts IS NOT NULL"+where, args...)
	if err != nil {
		return nil, c.wrap("read the artifacts of a run", err)
	}
	return c.Artifacts(ctx, tenant, ids)
}
