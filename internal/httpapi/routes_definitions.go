package httpapi

import (
	"net/http"
	"slices"

	"github.com/rondo-engine/rondo"
)

func definitionRoutes() []Route {
	judging := []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish}
	against := Param{Name: "against", Doc: "Required: the definition to compare with", Format: "uuid"}
	format := Param{Name: "format", Doc: "Default: what Accept prefers, else svg", Enum: []string{"svg", "mermaid"}}
	edited := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired}
	return slices.Concat([]Route{
		{ID: "create-definition", Method: post, Path: "/workflow-definitions", Tag: "definitions", Summary: "Create a draft, from a source or a template", Scopes: writeDrafts, Noun: nounTemplate, Query: orgOnly(), Body: BodyRequired, MaxBody: maxDefinitionBody, Success: http.StatusCreated},
		{ID: "list-definitions", Method: get, Path: "/workflow-definitions", Tag: "definitions", Summary: "List definitions, newest first", Scopes: readDefinitions, Query: definitionFilters()},
		{ID: "import-definition", Method: post, Path: "/workflow-definitions/import", Tag: "definitions", Summary: "Create what is missing of an export, and a draft", Scopes: writeDrafts, Query: orgOnly(), Body: BodyRequired, MaxBody: maxDefinitionBody, Success: http.StatusCreated, Errors: conflict},
		{ID: "get-definition", Method: get, Path: "/workflow-definitions/{id}", Tag: "definitions", Summary: "Read one definition", Scopes: readDefinitions, Noun: nounDefinition, Query: orgOnly()},
		{ID: "change-definition", Method: patch, Path: "/workflow-definitions/{id}", Tag: "definitions", Summary: "Change a draft; If-Match is its ETag", Scopes: writeDrafts, Noun: nounDefinition, Query: orgOnly(), Body: BodyRequired, MaxBody: maxDefinitionBody, Errors: edited},
		{ID: "validate-definition", Method: post, Path: "/workflow-definitions/{id}/validate", Tag: "definitions", Summary: "Say what would forbid publishing, and change nothing", Scopes: judging, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional},
		{ID: "publish-definition", Method: post, Path: "/workflow-definitions/{id}/publish", Tag: "definitions", Summary: "Make a draft the active definition", Scopes: publishing, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Errors: publishRules},
		{ID: "archive-definition", Method: post, Path: "/workflow-definitions/{id}/archive", Tag: "definitions", Summary: "Take a definition out of use; running cases go on", Scopes: publishing, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Errors: conflict},
		{ID: "clone-definition", Method: post, Path: "/workflow-definitions/{id}/clone", Tag: "definitions", Summary: "Copy a definition or template into a draft", Scopes: writeDrafts, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Success: http.StatusCreated},
		{ID: "list-revisions", Method: get, Path: "/workflow-definitions/{id}/revisions", Tag: "definitions", Summary: "List the changes of a definition, oldest first", Scopes: readDefinitions, Noun: nounDefinition, Query: orgPaged()},
		{ID: "diff-definitions", Method: get, Path: "/workflow-definitions/{id}/diff", Tag: "definitions", Summary: "Say what turns another definition into this one", Scopes: readDefinitions, Noun: nounDefinition, Query: append(orgOnly(), against)},
		{ID: "draw-definition", Method: get, Path: "/workflow-definitions/{id}/graph", Tag: "definitions", Summary: "Draw a definition as SVG or Mermaid text", Scopes: readDefinitions, Noun: nounDefinition, Query: append(orgOnly(), format)},
		{ID: "export-definition", Method: get, Path: "/workflow-definitions/{id}/export", Tag: "definitions", Summary: "A definition with the step kinds and reason codes that it needs", Scopes: readDefinitions, Noun: nounDefinition, Query: orgOnly()},
		{ID: "list-templates", Method: get, Path: "/workflow-templates", Tag: "definitions", Summary: "List the templates", Scopes: readDefinitions, Query: paging()},
		{ID: "get-template", Method: get, Path: "/workflow-templates/{id}", Tag: "definitions", Summary: "Read one template", Scopes: readDefinitions, Noun: nounTemplate},
	}, catalogueRoutes())
}
