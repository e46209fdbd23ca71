package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

const nounJob = "job"

// followJobs are those who may see what was done to many: readers, and whoever may
// do it.
func followJobs() []string {
	return []string{rondo.ScopeRead, rondo.ScopeReadInstances, rondo.ScopeIntervene}
}

func jobRoutes() []Route {
	return []Route{
		{ID: "act-on-many", Method: post, Path: "/workflow-instances/bulk", Tag: "jobs", Summary: "Do one action to every instance that a filter names, in the background, or say which that would be", Scopes: intervening, Query: orgOnly(), Body: BodyRequired, Success: http.StatusAccepted, Errors: conflict},
		{ID: "list-jobs", Method: get, Path: "/jobs", Tag: "jobs", Summary: "List jobs, newest first", Scopes: followJobs(), Query: append(orgOnly(), paging()...)},
		{ID: "get-job", Method: get, Path: "/jobs/{id}", Tag: "jobs", Summary: "Read one job with its counts", Scopes: followJobs(), Noun: nounJob, Query: orgOnly()},
		{ID: "list-job-results", Method: get, Path: "/jobs/{id}/results", Tag: "jobs", Summary: "List what a job did to each instance", Scopes: followJobs(), Noun: nounJob, Query: append(orgOnly(), paging()...)},
	}
}
