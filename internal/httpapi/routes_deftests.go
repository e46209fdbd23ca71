package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

func deftestRoutes() []Route {
	playing := []string{rondo.ScopeRead, rondo.ScopeWrite, rondo.ScopePublish}
	unplayable := []int{http.StatusConflict, http.StatusUnprocessableEntity}
	return []Route{
		{ID: "test-definition", Method: post, Path: "/workflow-definitions/{id}/test", Tag: "definitions", Summary: "Run tests of a definition with a clock that jumps; nothing is stored or sent", Scopes: playing, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, MaxBody: maxDefinitionBody, Errors: unplayable},
		{ID: "backtest-definition", Method: post, Path: "/workflow-definitions/{id}/backtest", Tag: "definitions", Summary: "Say which of the last finished cases would have gone another way", Scopes: []string{rondo.ScopeRead}, Noun: nounDefinition, Query: orgOnly(), Body: BodyOptional, Errors: unplayable},
	}
}
