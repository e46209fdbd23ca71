package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

const (
	nounRun        = "run"
	nounRunStep    = "step of a run"
	nounArtifact   = "artifact"
	nounWorkflow   = "workflow"
	nounCacheEntry = "cache entry"
)

func runRoutes() []Route {
	reading, writing, administering := []string{rondo.ScopeRunsRead}, []string{rondo.ScopeRunsWrite}, []string{rondo.ScopeRunsAdmin}
	planning := []string{rondo.ScopeRunsRead, rondo.ScopeRunsWrite}
	notThere := []int{http.StatusNotFound}
	rows := []Route{
		{ID: "start-run", Method: post, Path: "/runs", Summary: "Start a run of a workflow; answers once it is durable, before its steps ran", Scopes: writing, Body: BodyRequired, Success: http.StatusAccepted, Errors: notThere},
		{ID: "list-runs", Method: get, Path: "/runs", Summary: "List runs, newest first", Scopes: reading, Query: runFilters()},
		{ID: "plan-run", Method: post, Path: "/runs/plan", Summary: "Say what a run or an update run would do with every step, and why; nothing is done", Scopes: planning, Body: BodyRequired, Errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}},
		{ID: "get-run", Method: get, Path: "/runs/{id}", Summary: "Read one run, with how many of its steps stand where", Scopes: reading, Noun: nounRun, Query: orgOnly()},
		{ID: "update-run", Method: post, Path: "/runs/{id}/update", Summary: "Start a run that redoes only what a change can have touched, and reuses the rest of a completed one", Scopes: writing, Noun: nounRun, Body: BodyRequired, Success: http.StatusAccepted, Errors: conflict},
		{ID: "cancel-run", Method: post, Path: "/runs/{id}/cancel", Summary: "Cancel a run that is queued or running", Scopes: writing, Noun: nounRun, Errors: conflict},
		{ID: "retry-run", Method: post, Path: "/runs/{id}/retry", Summary: "Go on with a failed run from what failed", Scopes: writing, Noun: nounRun, Success: http.StatusAccepted, Errors: conflict},
		{ID: "get-run-steps", Method: get, Path: "/runs/{id}/steps", Summary: "List the steps in the order of the file, each with its last attempt", Scopes: reading, Noun: nounRun, Query: append(orgOnly(), stepStatusParam())},
		{ID: "get-run-step", Method: get, Path: "/runs/{id}/steps/{stepId}", Summary: "Read one step with its output and every attempt", Scopes: reading, Noun: nounRunStep, Query: orgOnly()},
		{ID: "list-run-artifacts", Method: get, Path: "/runs/{id}/artifacts", Summary: "List the artifacts that the steps of a run made or reused", Scopes: reading, Noun: nounRun, Query: append(append(orgOnly(), Param{Name: "stepId", Doc: "Of this step only"}), camelPaging("Artifacts")...)},
		{ID: "get-run-artifact-content", Method: get, Path: "/runs/{id}/artifacts/{artifactId}/content", Summary: "Download an artifact of a run", Scopes: reading, Noun: nounArtifact, Query: orgOnly(), Errors: contentErrors},
		{ID: "get-artifact-content", Method: get, Path: "/artifacts/{id}/content", Summary: "Download an artifact", Scopes: reading, Noun: nounArtifact, Query: orgOnly(), Errors: contentErrors},
		{ID: "explain-run", Method: get, Path: "/runs/{id}/explain", Summary: "Say why every step ran or was reused, and what differs from before", Scopes: reading, Noun: nounRun, Query: orgOnly()},
		{ID: "analyse-run-cache", Method: get, Path: "/runs/{id}/cache-analysis", Summary: "Say what was reused, and the time and money that it saved", Scopes: reading, Noun: nounRun, Query: orgOnly()},
		{ID: "stream-run", Method: get, Path: "/runs/{id}/stream", Summary: "Follow a run until it has ended (server-sent events)", Scopes: reading, Noun: nounRun, Query: orgOnly(), Errors: []int{http.StatusTooManyRequests}},
		{ID: "list-workflows", Method: get, Path: "/workflows", Summary: "List the workflows that can be run, by name, highest version first", Scopes: reading, Query: append(orgOnly(), camelPaging("Workflows")...)},
		{ID: "get-workflow", Method: get, Path: "/workflows/{name}", Summary: "Read one workflow: its steps and which change begins where", Scopes: reading, Noun: nounWorkflow, Query: append(orgOnly(), Param{Name: "version", Doc: "This version. Default: the highest active one"})},
		{ID: "list-cache", Method: get, Path: "/cache", Summary: "List the results of steps that can be used again, newest first", Scopes: administering, Query: append(cacheFilters(), camelPaging("Entries")...)},
		{ID: "get-cache-stats", Method: get, Path: "/cache/stats", Summary: "Count the results that can be used again", Scopes: administering, Query: cacheFilters()},
		{ID: "invalidate-cache", Method: del, Path: "/cache", Summary: "Forget results, so that they are computed again when they are needed", Scopes: administering, Query: append(cacheFilters(), Param{Name: "all", Doc: "Needed when nothing else is given: forget everything", Enum: []string{"true"}})},
		{ID: "taint-cache", Method: post, Path: "/cache/{key}/taint", Summary: "Mark a result bad, list every run and artifact that used it, and rebuild exactly those if asked to", Scopes: administering, Noun: nounCacheEntry, Query: orgOnly(), Body: BodyRequired},
	}
	for i := range rows {
		rows[i].Tag, rows[i].Camel = "runs", true
		if rows[i].Method == post && rows[i].Body == BodyRequired {
			rows[i].MaxBody = maxDefinitionBody
		}
		if !rows[i].takes("org_id") {
			rows[i].Query = append(orgOnly(), rows[i].Query...)
		}
	}
	return rows
}

var contentErrors = []int{http.StatusConflict, http.StatusRequestedRangeNotSatisfiable}

func runFilters() []Param {
	return append(append(orgOnly(),
		Param{Name: "workflow", Doc: "Of the workflow with this name only", Format: "text"},
		Param{Name: "status", Doc: "In this state only", Enum: []string{string(rondo.RunQueued), string(rondo.RunRunning), string(rondo.RunCompleted), string(rondo.RunFailed), string(rondo.RunCancelled)}},
		Param{Name: "trigger", Doc: "Triggered so only", Enum: []string{string(rondo.TriggerInitial), string(rondo.TriggerUpdate)}},
		Param{Name: "base", Doc: "Updates of this run only", Format: "uuid"},
	), camelPaging("Runs")...)
}

func stepStatusParam() Param {
	return Param{Name: "status", Doc: "In this state only", Enum: []string{
		string(rondo.RunStepPending), string(rondo.RunStepRunning), string(rondo.RunStepSkipped),
		string(rondo.RunStepCompleted), string(rondo.RunStepFailed), string(rondo.RunStepCancelled),
	}}
}

func cacheFilters() []Param {
	return append(orgOnly(),
		Param{Name: "workflow", Doc: "Of the workflow with this name only", Format: "text"},
		Param{Name: "step", Doc: "Of this step only"},
		Param{Name: "key", Doc: "With exactly this key only, 64 hexadecimal digits", Format: "digest"},
		Param{Name: "olderThan", Doc: "Last used longer ago than this, such as 90m, 48h or 3d", Format: "age"},
	)
}
