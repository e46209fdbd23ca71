package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

// anyScope lets in every caller who may do something: who may complete a manual
// step is decided by the step.
func anyScope() []string {
	return []string{
		rondo.ScopeIntervene, rondo.ScopeRead, rondo.ScopeReadInstances, rondo.ScopeWrite, rondo.ScopePublish, rondo.ScopeEvents,
	}
}

func interventionRoutes() []Route {
	row := func(id, action, summary string) Route {
		return Route{
			ID: id, Method: post, Path: "/workflow-instances/{id}/" + action, Tag: "interventions", Summary: summary,
			Scopes: intervening, Noun: nounInstance, Query: orgOnly(), Body: BodyRequired, Errors: []int{http.StatusConflict},
		}
	}
	complete := row("complete-step", "complete-step", "Complete a manual step, as an assignee or with the scope orchestrator:intervene")
	complete.Scopes = anyScope()
	return []Route{
		row("halt-instance", "halt", "Halt a running case"),
		row("resume-instance", "resume", "Resume a halted case"),
		row("cancel-instance", "cancel", "Cancel a case for good"),
		row("retry-step", "retry-step", "Try the step that halted the case again, or start a waiting retry now"),
		row("set-mode", "set-mode", "Change who calls the modules"),
		row("supersede-instance", "supersede", "Cancel a case and start it anew on the active definition"),
		row("skip-step", "skip-step", "Go past a step with an outcome of your choice"),
		complete,
		row("migrate-instance", "migrate", "Go on with another version of the definition, or say what that would do"),
	}
}
