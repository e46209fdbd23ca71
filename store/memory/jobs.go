package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// jobRow is a job with the instances it is about and what became of them. The
// counts of the job are those of its results: they are never kept beside them.
type jobRow struct {
	job          rondo.Job
	items        []rondo.JobItem // ascending by instance id
	results      map[rondo.ID]rondo.JobResult
	claimedUntil time.Time
}

// counted is the job with its counts as they are now.
func (row *jobRow) counted() rondo.Job {
	job := row.job
	job.Total, job.Applied, job.Refused, job.Failed = len(row.items), 0, 0, 0
	for _, result := range row.results {
		switch result.Outcome {
		case rondo.JobApplied:
			job.Applied++
		case rondo.JobRefused:
			job.Refused++
		case rondo.JobFailed:
			job.Failed++
		}
	}
	return job
}

// has reports whether the job is about an instance.
func (row *jobRow) has(instance rondo.ID) bool {
	_, found := slices.BinarySearchFunc(row.items, instance, func(item rondo.JobItem, want rondo.ID) int {
		return compareIDs(item.InstanceID, want)
	})
	return found
}

// pending are the items without a result, at most limit; 0 asks for all.
func (row *jobRow) pending(limit int) []rondo.JobItem {
	var items []rondo.JobItem
	for _, item := range row.items {
		if _, done := row.results[item.InstanceID]; done {
			continue
		}
		if items = append(items, item); len(items) == limit {
			break
		}
	}
	return items
}

// checkJobResults refuses a second result for (job, instance), and one that
// belongs to no job.
func (s *Store) checkJobResults(write *store.Write) error {
	type key struct{ job, instance rondo.ID }
	added := make(map[key]bool, len(write.JobResults))
	for i := range write.JobResults {
		result := &write.JobResults[i]
		row := s.jobOf(result.OrgID, result.JobID)
		if row == nil || !row.has(result.InstanceID) {
			return rondo.Op("memory: update", rondo.NotFound("item of a job"))
		}
		_, done := row.results[result.InstanceID]
		if done || added[key{result.JobID, result.InstanceID}] {
			return forbidden("job %s has a result for instance %s already", result.JobID, result.InstanceID)
		}
		added[key{result.JobID, result.InstanceID}] = true
	}
	return nil
}

func (s *Store) applyJobResults(results []rondo.JobResult) {
	for _, result := range results {
		result.At = stored(result.At)
		s.jobOf(result.OrgID, result.JobID).results[result.InstanceID] = result
	}
}

func (s *Store) jobOf(org string, id rondo.ID) *jobRow {
	at := slices.IndexFunc(s.jobs, func(row *jobRow) bool { return row.job.ID == id && row.job.OrgID == org })
	if at < 0 {
		return nil
	}
	return s.jobs[at]
}

func (s *Store) jobByID(id rondo.ID) *jobRow {
	at := slices.IndexFunc(s.jobs, func(row *jobRow) bool { return row.job.ID == id })
	if at < 0 {
		return nil
	}
	return s.jobs[at]
}

func jobID(row *jobRow) rondo.ID                 { return row.job.ID }
func jobResultID(row rondo.JobResult) rondo.ID   { return row.InstanceID }
func everyJobResult(result rondo.JobResult) bool { return !result.InstanceID.IsZero() }

// CreateJob implements store.Jobs.
func (s *Store) CreateJob(ctx context.Context, job rondo.Job, items []rondo.JobItem) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobByID(job.ID) != nil {
		return &rondo.Error{
			Code: rondo.CodeConflict, Op: "memory: create job",
			Message: fmt.Sprintf("job %s exists already", job.ID), Hint: "use a new id",
		}
	}
	job.CreatedAt, job.FinishedAt = stored(job.CreatedAt), stored(job.FinishedAt)
	row := &jobRow{job: job, items: slices.Clone(items), results: map[rondo.ID]rondo.JobResult{}}
	slices.SortFunc(row.items, func(a, b rondo.JobItem) int { return compareIDs(a.InstanceID, b.InstanceID) })
	for i := 1; i < len(row.items); i++ {
		if row.items[i].InstanceID == row.items[i-1].InstanceID {
			return &rondo.Error{
				Code: rondo.CodeConflict, Op: "memory: create job",
				Message: fmt.Sprintf("job %s names instance %s twice", job.ID, row.items[i].InstanceID),
				Hint:    "name every instance once",
			}
		}
	}
	s.jobs = insertByID(s.jobs, row, jobID)
	return nil
}

// Job implements store.Jobs.
func (s *Store) Job(ctx context.Context, org string, id rondo.ID) (rondo.Job, error) {
	if err := ctx.Err(); err != nil {
		return rondo.Job{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.jobOf(org, id)
	if row == nil {
		return rondo.Job{}, rondo.NotFound("job")
	}
	return row.counted(), nil
}

// JobList implements store.Jobs.
func (s *Store) JobList(ctx context.Context, org string, page store.Page) ([]rondo.Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := newestFirst(s.jobs, page, jobID, func(row *jobRow) bool { return is(row.job.OrgID, org) })
	jobs := make([]rondo.Job, len(rows))
	for i, row := range rows {
		jobs[i] = row.counted()
	}
	return jobs, nil
}

// JobResults implements store.Jobs.
func (s *Store) JobResults(ctx context.Context, org string, job rondo.ID, page store.Page) ([]rondo.JobResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.jobOf(org, job)
	if row == nil {
		return nil, nil
	}
	var results []rondo.JobResult
	for _, item := range row.items {
		if result, done := row.results[item.InstanceID]; done {
			results = append(results, result)
		}
	}
	return oldestFirst(results, page, jobResultID, everyJobResult), nil
}

// ClaimJob implements store.Jobs.
func (s *Store) ClaimJob(ctx context.Context, now time.Time, lease time.Duration) (rondo.Job, bool, error) {
	if err := ctx.Err(); err != nil {
		return rondo.Job{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.jobs {
		if row.job.Status == rondo.JobRunning && !row.claimedUntil.After(now) {
			row.claimedUntil = stored(now.Add(lease))
			return row.counted(), true, nil
		}
	}
	return rondo.Job{}, false, nil
}

// RenewJob implements store.Jobs.
func (s *Store) RenewJob(ctx context.Context, id rondo.ID, now time.Time, lease time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.jobByID(id)
	if row == nil {
		return rondo.NotFound("job")
	}
	row.claimedUntil = stored(now.Add(lease))
	return nil
}

// JobPending implements store.Jobs.
func (s *Store) JobPending(ctx context.Context, id rondo.ID, limit int) ([]rondo.JobItem, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.jobByID(id)
	if row == nil {
		return nil, nil
	}
	return row.pending(limit), nil
}

// FinishJob implements store.Jobs.
func (s *Store) FinishJob(ctx context.Context, id rondo.ID, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.jobByID(id)
	if row == nil || row.job.Status != rondo.JobRunning || len(row.results) < len(row.items) {
		return nil
	}
	row.job.Status, row.job.FinishedAt = rondo.JobCompleted, stored(now)
	return nil
}
