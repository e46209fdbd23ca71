package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

func definitionRoutes() []Route {
	return []Route{
		{ID: "create-definition", Method: post, Path: "/workflow-definitions", Tag: "definitions", Summary: "Create a draft, from a source or a template", Scopes: writeDrafts, Noun: nounTemplate, Query: orgOnly(), Body: BodyRequired, MaxBody: maxDefinitionBody, Success: http.StatusCreated},
		{ID: "list-definitions", Method: get, Path: "/workflow-definitions", Tag: "definitions", Summary: "List definitions, newest first", Scopes: readDefinitions, Query: definitionFilters()},
		{ID: "get-definition", Method: get, Path: "/workflow-definitions/{id}", Tag: "definitions", Summary: "Read one definition", Scopes: readDefinitions, Noun: nounDefinition, Query: orgOnly()},
		{ID: "validate-definition", Method: post, Path: "/workflow-definitions/{id}/validate", Tag: "definitions", Summary: "Say what would forbid publishing, and change nothing", Scopes: []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish}, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional},
		{ID: "publish-definition", Method: post, Path: "/workflow-definitions/{id}/publish", Tag: "definitions", Summary: "Make a draft the active definition", Scopes: publishing, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Errors: publishRules},
		{ID: "archive-definition", Method: post, Path: "/workflow-definitions/{id}/archive", Tag: "definitions", Summary: "Take a definition out of use; running cases go on", Scopes: publishing, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Errors: conflict},
		{ID: "list-templates", Method: get, Path: "/workflow-templates", Tag: "definitions", Summary: "List the shipped templates", Scopes: readDefinitions},
		{ID: "get-template", Method: get, Path: "/workflow-templates/{id}", Tag: "definitions", Summary: "Read one shipped template", Scopes: readDefinitions, Noun: nounTemplate},
	}
}
