package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/store"
)

// How the replicas share jobs, and how much of a job is under way at once: few
// enough that the work of cases is never behind more than a batch of it.
const (
	jobLease    = 30 * time.Second // until another replica takes over what this one left
	jobTick     = 2 * time.Second  // between looks for jobs that other replicas made or left
	jobBackoff  = time.Second      // after the store could not be reached
	jobPull     = 4096             // items read at once
	jobInFlight = 64               // items submitted and not answered
	jobTries    = 3                // of an item whose commit fails, before that is its result
	jobSettled  = 256              // results that are stored at once for items that nothing is done to
)

// Job returns one job of the principal's organisation with its counts as they are
// now.
func (e *Engine) Job(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Job, error) {
	return e.store.Job(ctx, p.Tenant, id)
}

// JobList lists the jobs of the principal's organisation, newest first.
func (e *Engine) JobList(ctx context.Context, p rondo.Principal, page store.Page) ([]rondo.Job, error) {
	return e.store.JobList(ctx, p.Tenant, page)
}

// JobResults lists what a job did, by instance id.
func (e *Engine) JobResults(ctx context.Context, p rondo.Principal, id rondo.ID, page store.Page) ([]rondo.JobResult, error) {
	if _, err := e.store.Job(ctx, p.Tenant, id); err != nil {
		return nil, err
	}
	return e.store.JobResults(ctx, p.Tenant, id, page)
}

// runJobs takes jobs that nobody works on, one after the other. Any number of
// replicas may do so: even when two work on the same job, the result of an item
// commits with what was done to its instance, and only once.
func (e *Engine) runJobs(ctx context.Context) {
	for ctx.Err() == nil {
		job, ok, err := e.store.ClaimJob(ctx, e.now(), jobLease)
		switch {
		case err != nil && ctx.Err() == nil:
			e.log.Warn("looking for jobs", "error", err)
			pause(ctx, jobBackoff, nil)
		case ok:
			e.runJob(ctx, job)
		default:
			pause(ctx, jobTick, e.jobsSoon)
		}
	}
}

// runJob works on a claimed job until nothing is pending or ctx ends.
func (e *Engine) runJob(ctx context.Context, job rondo.Job) {
	run := &jobRun{engine: e, job: job, renewed: e.now(), tries: map[rondo.ID]int{}}
	err := run.all(ctx)
	if ctx.Err() != nil {
		run.release(ctx)
		return
	}
	if err != nil {
		e.log.Error("a job cannot go on; it is taken up again when its claim ends", "job", job.ID, "error", err)
	}
}

// jobRun is one replica's work on a job.
type jobRun struct {
	engine  *Engine
	job     rondo.Job
	action  bulkAction
	renewed time.Time
	tries   map[rondo.ID]int // items that were answered with an error
	settled []rondo.JobResult
}

func (r *jobRun) all(ctx context.Context) error {
	action, err := r.engine.prepareBulk(ctx, r.job)
	if err != nil {
		return err
	}
	r.action = action
	for ctx.Err() == nil {
		items, err := r.engine.store.JobPending(ctx, r.job.ID, jobPull)
		switch {
		case err != nil:
			pause(ctx, jobBackoff, nil)
		case len(items) == 0:
			return r.finish(ctx)
		default:
			r.forget(items)
			if !r.work(ctx, items) {
				pause(ctx, jobBackoff, nil)
			}
		}
		if err := r.renew(ctx); err != nil && ctx.Err() == nil {
			r.engine.log.Warn("renewing the claim of a job", "job", r.job.ID, "error", err)
		}
	}
	return nil
}

func (r *jobRun) finish(ctx context.Context) error {
	if err := r.engine.store.FinishJob(ctx, r.job.ID, r.engine.now()); err != nil {
		return rondo.Op("finish the job", err)
	}
	r.engine.log.Info("a job is done", "job", r.job.ID, "action", r.job.Action, "instances", r.job.Total)
	return nil
}

// forget drops what is known of items that have a result.
func (r *jobRun) forget(pending []rondo.JobItem) {
	tries := map[rondo.ID]int{}
	for _, item := range pending {
		if n := r.tries[item.InstanceID]; n > 0 {
			tries[item.InstanceID] = n
		}
	}
	r.tries = tries
}

// renew keeps the claim before it ends.
func (r *jobRun) renew(ctx context.Context) error {
	now := r.engine.now()
	if now.Sub(r.renewed) < jobLease/3 {
		return nil
	}
	r.renewed = now
	return r.engine.store.RenewJob(ctx, r.job.ID, now, jobLease)
}

// release lets another replica take the job at once.
func (r *jobRun) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := r.engine.store.RenewJob(ctx, r.job.ID, r.engine.now(), 0); err != nil {
		r.engine.log.Warn("giving a job back; it is taken up again when its claim ends", "job", r.job.ID, "error", err)
	}
}

// answer is what the loop said about an item.
type answer struct {
	item rondo.JobItem
	err  error
}

// work acts on items, a bounded number at once, and reports whether the store
// could be reached. An item that got no result is still pending and comes again.
func (r *jobRun) work(ctx context.Context, items []rondo.JobItem) bool {
	answers := make(chan answer, jobInFlight) // never blocks whoever answers
	reachable, open := true, 0
	take := func() {
		select {
		case a := <-answers:
			open--
			reachable = r.answered(a) && reachable
		case <-ctx.Done():
		}
	}
	for _, item := range items {
		for open == jobInFlight && ctx.Err() == nil {
			take()
		}
		if ctx.Err() != nil || !reachable {
			break
		}
		if err := r.renew(ctx); err != nil {
			reachable = false
			break
		}
		submitted, err := r.submit(ctx, item, answers)
		if err != nil {
			reachable = false
			break
		}
		if submitted {
			open++
		}
	}
	for open > 0 && ctx.Err() == nil {
		take()
	}
	return r.flush(ctx) == nil && reachable
}

// answered notes a failure. A refusal is no failure, but looks the same from here:
// its item has a result and does not come again.
func (r *jobRun) answered(a answer) bool {
	switch rondo.CodeOf(a.err) {
	case "":
		return true
	case rondo.CodeUnavailable, rondo.CodeOverloaded:
		return false
	}
	r.tries[a.item.InstanceID]++
	return true
}

// submit gives an item to the loop, or settles it when there is nothing that the
// loop could act on.
func (r *jobRun) submit(ctx context.Context, item rondo.JobItem, answers chan<- answer) (submitted bool, err error) {
	if r.tries[item.InstanceID] >= jobTries {
		return false, r.settle(ctx, item, rondo.JobFailed, "the action could not be stored; the log of the server says why")
	}
	instance, err := r.engine.store.Instance(ctx, item.Key.OrgID, item.InstanceID)
	if rondo.CodeOf(err) == rondo.CodeNotFound {
		return false, r.settle(ctx, item, rondo.JobFailed, "the instance is not there any more")
	}
	if err != nil {
		return false, err
	}
	command, refusal, err := r.action.command(ctx, instance)
	if err != nil {
		return false, err
	}
	if refusal != nil {
		return false, r.settle(ctx, item, rondo.JobRefused, reasonOf(refusal))
	}
	return true, r.engine.loop.Submit(ctx, &caseloop.Input{
		Key: instance.Key(), Command: command, Job: &caseloop.JobTicket{JobID: r.job.ID, OrgID: r.job.OrgID},
		Done: func(result caseloop.Result) { answers <- answer{item, result.Err} },
	})
}

// settle notes the result of an item that nothing is done to.
func (r *jobRun) settle(ctx context.Context, item rondo.JobItem, outcome, detail string) error {
	r.settled = append(r.settled, rondo.JobResult{
		JobID: r.job.ID, OrgID: r.job.OrgID, InstanceID: item.InstanceID, Outcome: outcome, Detail: detail, At: r.engine.now(),
	})
	if len(r.settled) < jobSettled {
		return nil
	}
	return r.flush(ctx)
}

// flush stores the results that were noted. An item that got one meanwhile, from
// another replica, keeps it.
func (r *jobRun) flush(ctx context.Context) error {
	results := r.settled
	r.settled = nil
	err := r.store(ctx, results)
	if rondo.CodeOf(err) != rondo.CodeConflict {
		return err
	}
	for i := range results {
		if err := r.store(ctx, results[i:i+1]); err != nil && rondo.CodeOf(err) != rondo.CodeConflict {
			return err
		}
	}
	return nil
}

func (r *jobRun) store(ctx context.Context, results []rondo.JobResult) error {
	if len(results) == 0 {
		return nil
	}
	_, err := r.engine.store.Update(ctx, store.Load{}, func(*store.Loaded) (*store.Write, error) {
		return &store.Write{JobResults: results}, nil
	})
	return err
}

// jobParams are the parameters of an action as a job keeps them: by the names
// that the API has for them.
type jobParams struct {
	Reason        string            `json:"reason,omitempty"`
	ReasonCode    string            `json:"reason_code,omitempty"`
	Note          string            `json:"note,omitempty"`
	StepID        string            `json:"step_id,omitempty"`
	InputOverride json.RawMessage   `json:"input_override,omitempty"`
	Outcome       string            `json:"outcome,omitempty"`
	Output        json.RawMessage   `json:"output,omitempty"`
	Mode          rondo.Mode        `json:"mode,omitempty"`
	ToDefinition  string            `json:"to_definition_id,omitempty"`
	StepMap       map[string]string `json:"step_map,omitempty"`
}

func encodeParams(a rondo.Action) (json.RawMessage, error) {
	params := jobParams{
		Reason: a.Reason, ReasonCode: a.ReasonCode, Note: a.Note, StepID: a.StepID, InputOverride: a.InputOverride,
		Outcome: a.Outcome, Output: a.Output, Mode: a.Mode, StepMap: a.StepMap,
	}
	if !a.ToDefinition.IsZero() {
		params.ToDefinition = a.ToDefinition.String()
	}
	return json.Marshal(params)
}

func decodeParams(name rondo.ActionName, raw json.RawMessage) (rondo.Action, error) {
	var params jobParams
	if err := json.Unmarshal(raw, &params); err != nil {
		return rondo.Action{}, err
	}
	action := rondo.Action{
		Name: name, Reason: params.Reason, ReasonCode: params.ReasonCode, Note: params.Note, StepID: params.StepID,
		InputOverride: params.InputOverride, Outcome: params.Outcome, Output: params.Output, Mode: params.Mode, StepMap: params.StepMap,
	}
	if params.ToDefinition != "" {
		id, err := rondo.ParseID(params.ToDefinition)
		if err != nil {
			return rondo.Action{}, err
		}
		action.ToDefinition = id
	}
	return action, nil
}
