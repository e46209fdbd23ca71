package httpapi

import "net/http"

const (
	nounReasonCode = "reason code"
	nounStepKind   = "step kind"
)

func catalogueRoutes() []Route {
	filters := append(append(orgOnly(),
		Param{Name: "scope", Doc: "Of this scope only", Enum: []string{"halt", "step_failure", "human_decline"}},
		Param{Name: "active", Doc: "true: usable ones only; false: the others", Enum: []string{"true", "false"}},
	), paging()...)
	return []Route{
		{ID: "list-reason-codes", Method: get, Path: "/reason-codes", Tag: "catalogue", Summary: "List the reason codes of the organisation, its own in place of the system's", Scopes: readDefinitions, Query: filters},
		{ID: "create-reason-code", Method: post, Path: "/reason-codes", Tag: "catalogue", Summary: "Add a reason code; it shadows the system's of the same scope and code", Scopes: writeDrafts, Query: orgOnly(), Body: BodyRequired, Success: http.StatusCreated, Errors: conflict},
		{ID: "change-reason-code", Method: patch, Path: "/reason-codes/{id}", Tag: "catalogue", Summary: "Change a reason code", Scopes: writeDrafts, Noun: nounReasonCode, Query: orgOnly(), Body: BodyRequired},
		{ID: "delete-reason-code", Method: del, Path: "/reason-codes/{id}", Tag: "catalogue", Summary: "Make a reason code unusable; the row stays", Scopes: writeDrafts, Noun: nounReasonCode, Query: orgOnly()},
		{ID: "list-step-kinds", Method: get, Path: "/step-kinds", Tag: "catalogue", Summary: "List the built-in step kinds and the organisation's own", Scopes: readDefinitions, Query: orgPaged()},
		{ID: "publish-step-kind", Method: post, Path: "/step-kinds", Tag: "catalogue", Summary: "Publish the next version of a step kind", Scopes: writeDrafts, Query: orgOnly(), Body: BodyRequired, Success: http.StatusCreated},
		{ID: "get-step-kind", Method: get, Path: "/step-kinds/{name}", Tag: "catalogue", Summary: "List the versions of a step kind, newest first", Scopes: readDefinitions, Noun: nounStepKind, Query: orgPaged()},
		{ID: "archive-step-kind", Method: del, Path: "/step-kinds/{name}", Tag: "catalogue", Summary: "Take a step kind out of use; published definitions keep it", Scopes: writeDrafts, Noun: nounStepKind, Query: orgOnly()},
	}
}
