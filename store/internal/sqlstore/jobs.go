package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// The counts of a job are those of its results until it is finished; only then
// are they kept in its row.
const jobColumns = "id, org_id, action, params, selection, status, total, applied, refused, failed, created_by, created_at, finished_at"

func jobRow(j *rondo.Job) []any {
	return []any{
		ID(j.ID), j.OrgID, string(j.Action), document(j.Params), document(j.Filter), string(j.Status),
		int64(j.Total), int64(0), int64(0), int64(0), j.CreatedBy, Micros(j.CreatedAt), Micros(j.FinishedAt),
	}
}

func readJob(values []any) (rondo.Job, error) {
	r := reader{values: values}
	j := rondo.Job{
		ID: r.id(), OrgID: r.text(), Action: rondo.ActionName(r.text()), Params: r.bytes(), Filter: r.bytes(),
		Status: rondo.JobStatus(r.text()), Total: int(r.int()), Applied: int(r.int()), Refused: int(r.int()), Failed: int(r.int()),
		CreatedBy: r.text(), CreatedAt: r.time(), FinishedAt: r.time(),
	}
	return j, wrapRead("job", r.err)
}

func readJobItem(values []any) (rondo.JobItem, error) {
	r := reader{values: values}
	item := rondo.JobItem{InstanceID: r.id(), Key: rondo.CaseKey{OrgID: r.text(), CaseID: r.text()}}
	return item, wrapRead("item of a job", r.err)
}

func jobResultRow(result *rondo.JobResult) []any {
	return []any{ID(result.JobID), ID(result.InstanceID), result.OrgID, result.Outcome, result.Detail, Micros(result.At)}
}

func readJobResult(values []any) (rondo.JobResult, error) {
	r := reader{values: values}
	result := rondo.JobResult{JobID: r.id(), InstanceID: r.id(), OrgID: r.text(), Outcome: r.text(), Detail: r.text(), At: r.time()}
	return result, wrapRead("result of a job", r.err)
}

// jobResultRows ascend by key, as every list of a plan.
func jobResultRows(results []rondo.JobResult) [][]any {
	order := slices.Clone(results)
	slices.SortFunc(order, func(a, b rondo.JobResult) int {
		return cmp.Or(bytes.Compare(a.JobID[:], b.JobID[:]), bytes.Compare(a.InstanceID[:], b.InstanceID[:]))
	})
	return rowsOf(order, jobResultRow)
}

// itemsAtOnce is how many items one statement inserts: few enough for the
// parameters that every database takes.
const itemsAtOnce = 500

// CreateJob implements store.Jobs.
func (c *Cold) CreateJob(ctx context.Context, job rondo.Job, items []rondo.JobItem) error {
	job.Total = len(items)
	ordered := slices.Clone(items)
	slices.SortFunc(ordered, func(a, b rondo.JobItem) int { return bytes.Compare(a.InstanceID[:], b.InstanceID[:]) })
	return c.write(ctx, "create job", func(s session) error {
		if err := s.insert(ctx, "jobs", jobColumns, jobRow(&job)...); err != nil {
			return err
		}
		for chunk := range slices.Chunk(ordered, itemsAtOnce) {
			args := make([]any, 0, 4*len(chunk))
			for i := range chunk {
				args = append(args, ID(job.ID), ID(chunk[i].InstanceID), chunk[i].Key.OrgID, chunk[i].Key.CaseID)
			}
			query := "INSERT INTO job_items (job_id, instance_id, org_id, case_id) VALUES " + markRows(len(chunk), 4)
			if _, err := s.exec(ctx, query, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// markRows is the parameters of n rows: (?, ?), (?, ?)
func markRows(n, columns int) string {
	row := "(" + Marks(columns) + ")"
	b := make([]byte, 0, n*(len(row)+2))
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, row...)
	}
	return string(b)
}

// Job implements store.Jobs.
func (c *Cold) Job(ctx context.Context, org string, id rondo.ID) (rondo.Job, error) {
	found, err := c.jobs(ctx, c.reader(), " WHERE id = ? AND org_id = ?", ID(id), org)
	if err != nil {
		return rondo.Job{}, c.wrap("read job", err)
	}
	if len(found) == 0 {
		return rondo.Job{}, rondo.NotFound("job")
	}
	return found[0], nil
}

// JobList implements store.Jobs.
func (c *Cold) JobList(ctx context.Context, org string, page store.Page) ([]rondo.Job, error) {
	where := &conditions{}
	where.is("org_id", org)
	tail := where.newest(page)
	found, err := c.jobs(ctx, c.reader(), tail, where.args...)
	return found, c.wrap("list jobs", err)
}

// jobs reads jobs with their counts. A job that finishes between the two reads
// still has the counts of all its results.
func (c *Cold) jobs(ctx context.Context, s session, tail string, args ...any) ([]rondo.Job, error) {
	found, err := list(ctx, s, readJob, "SELECT "+jobColumns+" FROM jobs"+tail, args...)
	if err != nil {
		return nil, err
	}
	var running []*rondo.Job
	for i := range found {
		if found[i].Status == rondo.JobRunning {
			running = append(running, &found[i])
		}
	}
	return found, countResults(ctx, s, running)
}

func countResults(ctx context.Context, s session, jobs []*rondo.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	byID, ids := make(map[rondo.ID]*rondo.Job, len(jobs)), make([]any, len(jobs))
	for i, job := range jobs {
		byID[job.ID], ids[i] = job, ID(job.ID)
	}
	return s.each(ctx, func(values []any) error {
		r := reader{values: values}
		job, outcome, n := byID[r.id()], r.text(), int(r.int())
		if r.err != nil || job == nil {
			return wrapRead("counts of a job", r.err)
		}
		switch outcome {
		case rondo.JobApplied:
			job.Applied = n
		case rondo.JobRefused:
			job.Refused = n
		case rondo.JobFailed:
			job.Failed = n
		}
		return nil
	}, "SELECT job_id, outcome, COUNT(*) FROM job_results WHERE job_id IN ("+Marks(len(ids))+") GROUP BY job_id, outcome", ids...)
}

// JobResults implements store.Jobs.
func (c *Cold) JobResults(ctx context.Context, org string, job rondo.ID, page store.Page) ([]rondo.JobResult, error) {
	where := &conditions{}
	where.add("job_id = ?", ID(job))
	where.add("org_id = ?", org)
	if !page.After.IsZero() {
		where.add("instance_id > ?", ID(page.After))
	}
	tail := where.where() + " ORDER BY instance_id" + where.limit(page)
	found, err := list(ctx, c.reader(), readJobResult, "SELECT "+c.tables.JobResults.Names("")+" FROM job_results"+tail, where.args...)
	return found, c.wrap("list results of a job", err)
}

// free ends a query for jobs that can be claimed.
const free = " WHERE status = ? AND (claimed_until IS NULL OR claimed_until <= ?) ORDER BY id LIMIT 1"

// ClaimJob implements store.Jobs. A look without a transaction comes first, as in
// ClaimDue.
func (c *Cold) ClaimJob(ctx context.Context, now time.Time, lease time.Duration) (rondo.Job, bool, error) {
	args := []any{string(rondo.JobRunning), now.UnixMicro()}
	seen, err := list(ctx, c.reader(), readJob, "SELECT "+jobColumns+" FROM jobs"+free, args...)
	if err != nil || len(seen) == 0 {
		return rondo.Job{}, false, c.wrap("look for a job", err)
	}
	var claimed []rondo.Job
	err = c.write(ctx, "claim a job", func(s session) error {
		var err error
		if claimed, err = c.jobs(ctx, s, free+c.dialect.SkipLocked, args...); err != nil || len(claimed) == 0 {
			return err
		}
		_, err = s.exec(ctx, "UPDATE jobs SET claimed_until = ? WHERE id = ?", now.Add(lease).UnixMicro(), ID(claimed[0].ID))
		return err
	})
	if err != nil || len(claimed) == 0 {
		return rondo.Job{}, false, err
	}
	return claimed[0], true, nil
}

// RenewJob implements store.Jobs.
func (c *Cold) RenewJob(ctx context.Context, id rondo.ID, now time.Time, lease time.Duration) error {
	return c.write(ctx, "renew the claim of a job", func(s session) error {
		found, err := list(ctx, s, readJob, "SELECT "+jobColumns+" FROM jobs WHERE id = ?"+c.dialect.Lock, ID(id))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rondo.NotFound("job")
		}
		_, err = s.exec(ctx, "UPDATE jobs SET claimed_until = ? WHERE id = ?", now.Add(lease).UnixMicro(), ID(id))
		return err
	})
}

// JobPending implements store.Jobs.
func (c *Cold) JobPending(ctx context.Context, id rondo.ID, limit int) ([]rondo.JobItem, error) {
	where := &conditions{}
	where.add("i.job_id = ?", ID(id))
	where.add("NOT EXISTS (SELECT 1 FROM job_results r WHERE r.job_id = i.job_id AND r.instance_id = i.instance_id)")
	tail := where.where() + " ORDER BY i.instance_id" + where.limit(store.Page{Limit: limit})
	found, err := list(ctx, c.reader(), readJobItem, "SELECT i.instance_id, i.org_id, i.case_id FROM job_items i"+tail, where.args...)
	return found, c.wrap("list pending items of a job", err)
}

// FinishJob implements store.Jobs.
func (c *Cold) FinishJob(ctx context.Context, id rondo.ID, now time.Time) error {
	return c.write(ctx, "finish a job", func(s session) error {
		found, err := c.jobs(ctx, s, " WHERE id = ? AND status = ?"+c.dialect.Lock, ID(id), string(rondo.JobRunning))
		if err != nil || len(found) == 0 {
			return err
		}
		job := &found[0]
		if job.Applied+job.Refused+job.Failed < job.Total {
			return nil
		}
		_, err = s.exec(ctx, "UPDATE jobs SET status = ?, applied = ?, refused = ?, failed = ?, finished_at = ? WHERE id = ?",
			string(rondo.JobCompleted), int64(job.Applied), int64(job.Refused), int64(job.Failed), now.UnixMicro(), ID(id))
		return err
	})
}
