package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

const lease = 30 * time.Second

// newJob is a running job.
func (d *db) newJob(org string) rondo.Job {
	return rondo.Job{
		ID:        d.ids.New(),
		OrgID:     org,
		Action:    rondo.ActionHalt,
		Params:    json.RawMessage(`{"reason_code":"late","note":""}`),
		Filter:    json.RawMessage(`{"status":"running"}`),
		Status:    rondo.JobRunning,
		CreatedBy: "u-7",
		CreatedAt: epoch,
	}
}

// jobItems are n instances that need not be there, ascending by id.
func (d *db) jobItems(org string, n int) []rondo.JobItem {
	items := make([]rondo.JobItem, n)
	for i := range items {
		items[i] = rondo.JobItem{InstanceID: d.ids.New(), Key: rondo.CaseKey{OrgID: org, CaseID: fmt.Sprintf("c-%d", i)}}
	}
	return items
}

// createJob stores a job of n items.
func (d *db) createJob(org string, n int) (rondo.Job, []rondo.JobItem) {
	d.t.Helper()
	job, items := d.newJob(org), d.jobItems(org, n)
	must(0, d.CreateJob(d.ctx(), job, items))(d.t)
	job.Total = n
	return job, items
}

func resultOf(job rondo.Job, item rondo.JobItem, outcome string) rondo.JobResult {
	return rondo.JobResult{
		JobID: job.ID, OrgID: job.OrgID, InstanceID: item.InstanceID, Outcome: outcome, Detail: "because " + outcome, At: epoch.Add(time.Minute),
	}
}

func (d *db) job(of rondo.Job) rondo.Job {
	d.t.Helper()
	return must(d.Job(d.ctx(), of.OrgID, of.ID))(d.t)
}

var jobTests = []test{
	{name: "a job is stored with the instances it is about", run: func(d *db) {
		job, items := d.newJob("acme"), d.jobItems("acme", 3)
		shuffled := []rondo.JobItem{items[2], items[0], items[1]}
		must(0, d.CreateJob(d.ctx(), job, shuffled))(d.t)
		job.Total = 3
		same(d.t, "the job", d.job(job), job)
		same(d.t, "the pending items", must(d.JobPending(d.ctx(), job.ID, 10))(d.t), items)
		same(d.t, "the first pending items", must(d.JobPending(d.ctx(), job.ID, 2))(d.t), items[:2])
		same(d.t, "results of none", must(d.JobResults(d.ctx(), "acme", job.ID, store.Page{}))(d.t), []rondo.JobResult{})
	}},
	{name: "a job is stored whole or not at all", run: func(d *db) {
		first, _ := d.createJob("acme", 1)
		wantCode(d.t, d.CreateJob(d.ctx(), first, d.jobItems("acme", 2)), rondo.CodeConflict)
		twice := d.newJob("acme")
		items := d.jobItems("acme", 2)
		wantCode(d.t, d.CreateJob(d.ctx(), twice, append(items, items[0])), rondo.CodeConflict)
		_, err := d.Job(d.ctx(), "acme", twice.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
		same(d.t, "items of the refused job", must(d.JobPending(d.ctx(), twice.ID, 10))(d.t), []rondo.JobItem{})
		same(d.t, "the jobs", must(d.JobList(d.ctx(), "acme", store.Page{}))(d.t), []rondo.Job{d.job(first)})
	}},
	{name: "a job takes 20,000 instances", run: func(d *db) {
		const many = 20_000
		job, items := d.createJob("acme", many)
		if got := d.job(job).Total; got != many {
			d.t.Fatalf("the job is about %d instances, want %d", got, many)
		}
		same(d.t, "the pending items", must(d.JobPending(d.ctx(), job.ID, many))(d.t), items)
	}},
	{name: "counts are those of the results", run: func(d *db) {
		job, items := d.createJob("acme", 6)
		other, otherItems := d.createJob("acme", 2)
		d.commit(&store.Write{JobResults: []rondo.JobResult{
			resultOf(job, items[3], rondo.JobApplied), resultOf(job, items[0], rondo.JobApplied), resultOf(job, items[5], rondo.JobRefused),
		}})
		d.commit(&store.Write{JobResults: []rondo.JobResult{
			resultOf(job, items[1], rondo.JobFailed), resultOf(other, otherItems[0], rondo.JobApplied), resultOf(job, items[2], rondo.JobApplied),
		}})
		job.Applied, job.Refused, job.Failed = 3, 1, 1
		other.Applied = 1
		same(d.t, "the job", d.job(job), job)
		same(d.t, "the jobs", must(d.JobList(d.ctx(), "acme", store.Page{}))(d.t), []rondo.Job{other, job})
		same(d.t, "the pending items", must(d.JobPending(d.ctx(), job.ID, 10))(d.t), items[4:5])
		results := must(d.JobResults(d.ctx(), "acme", job.ID, store.Page{}))(d.t)
		want := []rondo.JobResult{
			resultOf(job, items[0], rondo.JobApplied), resultOf(job, items[1], rondo.JobFailed), resultOf(job, items[2], rondo.JobApplied),
			resultOf(job, items[3], rondo.JobApplied), resultOf(job, items[5], rondo.JobRefused),
		}
		same(d.t, "the results", results, want)
		same(d.t, "a page of results", must(d.JobResults(d.ctx(), "acme", job.ID, store.Page{After: items[1].InstanceID, Limit: 2}))(d.t), want[2:4])
	}},
	{name: "a second result of an instance refuses the whole write", run: func(d *db) {
		instance := d.start(key("c-1"))
		job := d.newJob("acme")
		item := rondo.JobItem{InstanceID: instance.ID, Key: instance.Key()}
		must(0, d.CreateJob(d.ctx(), job, []rondo.JobItem{item}))(d.t)
		acted := change(instance, func(i *rondo.Instance) { i.HaltNote = "by the job" })
		result := resultOf(job, item, rondo.JobApplied)
		d.commit(&store.Write{Instances: []store.InstanceWrite{acted}, JobResults: []rondo.JobResult{result}})
		again := change(acted.Instance, func(i *rondo.Instance) { i.HaltNote = "twice" })
		d.refused(&store.Write{
			Instances: []store.InstanceWrite{again}, JobResults: []rondo.JobResult{resultOf(job, item, rondo.JobFailed)},
			Interventions: []rondo.Intervention{d.newIntervention(instance)}, Outbox: d.outgoing("workflow.halted", 1),
		})
		same(d.t, "the instance", d.state(key("c-1")).Instance, acted.Instance)
		same(d.t, "the interventions", must(d.Interventions(d.ctx(), "acme", instance.ID))(d.t), []rondo.Intervention{})
		same(d.t, "the results", must(d.JobResults(d.ctx(), "acme", job.ID, store.Page{}))(d.t), []rondo.JobResult{result})
		second := d.newJob("acme")
		must(0, d.CreateJob(d.ctx(), second, []rondo.JobItem{item}))(d.t)
		d.commit(&store.Write{Instances: []store.InstanceWrite{again}, JobResults: []rondo.JobResult{resultOf(second, item, rondo.JobApplied)}})
	}},
	{name: "of many that act on an instance for a job at once, one does", run: func(d *db) {
		const actors = 8
		instance := d.start(key("c-1"))
		job := d.newJob("acme")
		item := rondo.JobItem{InstanceID: instance.ID, Key: instance.Key()}
		must(0, d.CreateJob(d.ctx(), job, []rondo.JobItem{item}))(d.t)
		second := d.again()
		errs := make([]error, actors)
		together(actors, func(i int) {
			_, errs[i] = []*db{d, second}[i%2].Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{key("c-1")}},
				func(loaded *store.Loaded) (*store.Write, error) {
					return &store.Write{
						Instances:  []store.InstanceWrite{change(loaded.Cases[key("c-1")].Instance, func(*rondo.Instance) {})},
						JobResults: []rondo.JobResult{resultOf(job, item, rondo.JobApplied)},
					}, nil
				})
		})
		applied := 0
		for _, err := range errs {
			if err == nil {
				applied++
				continue
			}
			wantCode(d.t, err, rondo.CodeConflict)
		}
		if version := d.state(key("c-1")).Instance.Version; applied != 1 || version != instance.Version+1 {
			d.t.Fatalf("%d acted and the version is %d, want 1 and %d", applied, version, instance.Version+1)
		}
		if got := d.job(job).Applied; got != 1 {
			d.t.Fatalf("the job counts %d, want 1", got)
		}
	}},
	{name: "the oldest free job is claimed, until its claim ends", run: func(d *db) {
		first, _ := d.createJob("acme", 1)
		second, _ := d.createJob("other", 1)
		claim := func(at time.Time) (rondo.Job, bool) {
			job, ok, err := d.ClaimJob(d.ctx(), at, lease)
			must(0, err)(d.t)
			return job, ok
		}
		for _, want := range []rondo.Job{first, second} {
			job, ok := claim(epoch)
			if !ok {
				d.t.Fatal("no job was claimed")
			}
			same(d.t, "the claimed job", job, want)
		}
		if job, ok := claim(epoch.Add(lease - time.Microsecond)); ok {
			d.t.Fatalf("%v was claimed twice", job.ID)
		}
		must(0, d.RenewJob(d.ctx(), first.ID, epoch.Add(lease-time.Second), lease))(d.t)
		job, ok := claim(epoch.Add(lease))
		if !ok || job.ID != second.ID {
			d.t.Fatalf("claimed %v (%t), want the job whose claim ended", job.ID, ok)
		}
		if _, ok := claim(epoch.Add(lease)); ok {
			d.t.Fatal("a renewed claim was taken")
		}
		job, ok = claim(epoch.Add(2*lease - time.Second))
		if !ok || job.ID != first.ID {
			d.t.Fatalf("claimed %v (%t), want the job whose renewed claim ended", job.ID, ok)
		}
		wantCode(d.t, d.RenewJob(d.ctx(), d.ids.New(), epoch, lease), rondo.CodeNotFound)
	}},
	{name: "of many that claim at once each gets another job", run: func(d *db) {
		const jobs, claimers = 5, 10
		for range jobs {
			d.createJob("acme", 1)
		}
		second := d.again()
		claimed, errs := make([]rondo.ID, claimers), make([]error, claimers)
		together(claimers, func(i int) {
			for range jobs { // one that lost a race looks again
				job, ok, err := []*db{d, second}[i%2].ClaimJob(d.ctx(), epoch, lease)
				if errs[i] = err; ok || err != nil {
					claimed[i] = job.ID
					return
				}
			}
		})
		must(0, errors.Join(errs...))(d.t)
		claimed = slices.DeleteFunc(claimed, rondo.ID.IsZero)
		slices.SortFunc(claimed, func(a, b rondo.ID) int { return slices.Compare(a[:], b[:]) })
		if n := len(claimed); n != jobs || len(slices.Compact(claimed)) != jobs {
			d.t.Fatalf("%d claims of %d jobs: %v", n, jobs, claimed)
		}
	}},
	{name: "a job is finished when nothing is pending", run: func(d *db) {
		job, items := d.createJob("acme", 2)
		d.commit(&store.Write{JobResults: []rondo.JobResult{resultOf(job, items[0], rondo.JobApplied)}})
		must(0, d.FinishJob(d.ctx(), job.ID, epoch.Add(time.Hour)))(d.t)
		job.Applied = 1
		same(d.t, "the unfinished job", d.job(job), job)
		d.commit(&store.Write{JobResults: []rondo.JobResult{resultOf(job, items[1], rondo.JobRefused)}})
		must(0, d.FinishJob(d.ctx(), job.ID, epoch.Add(2*time.Hour)))(d.t)
		must(0, d.FinishJob(d.ctx(), job.ID, epoch.Add(3*time.Hour)))(d.t)
		job.Refused, job.Status, job.FinishedAt = 1, rondo.JobCompleted, epoch.Add(2*time.Hour)
		same(d.t, "the finished job", d.job(job), job)
		if _, ok, err := d.ClaimJob(d.ctx(), epoch.Add(24*time.Hour), lease); ok || err != nil {
			d.t.Fatalf("a finished job was claimed (%v)", err)
		}
		empty, _ := d.createJob("acme", 0)
		must(0, d.FinishJob(d.ctx(), empty.ID, epoch))(d.t)
		if got := d.job(empty).Status; got != rondo.JobCompleted {
			d.t.Fatalf("a job without items is %s", got)
		}
		must(0, d.FinishJob(d.ctx(), d.ids.New(), epoch))(d.t)
	}},
	{name: "jobs are listed newest first, of one organisation", run: func(d *db) {
		a, _ := d.createJob("acme", 1)
		b, _ := d.createJob("acme", 1)
		foreign, items := d.createJob("other", 1)
		c, _ := d.createJob("acme", 1)
		d.commit(&store.Write{JobResults: []rondo.JobResult{resultOf(foreign, items[0], rondo.JobApplied)}})
		same(d.t, "the jobs", must(d.JobList(d.ctx(), "acme", store.Page{}))(d.t), []rondo.Job{c, b, a})
		same(d.t, "a page of jobs", must(d.JobList(d.ctx(), "acme", store.Page{After: c.ID, Limit: 1}))(d.t), []rondo.Job{b})
		for _, org := range []string{"acme", "OTHER", ""} {
			_, err := d.Job(d.ctx(), org, foreign.ID)
			wantCode(d.t, err, rondo.CodeNotFound)
			same(d.t, "results for a stranger", must(d.JobResults(d.ctx(), org, foreign.ID, store.Page{}))(d.t), []rondo.JobResult{})
		}
	}},
}
