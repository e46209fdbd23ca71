package httpapi

import "net/http"

func instanceRoutes() []Route {
	return []Route{
		{ID: "list-instances", Method: get, Path: "/workflow-instances", Tag: "instances", Summary: "List and search instances, newest first", Scopes: readInstances, Query: instanceFilters()},
		{ID: "get-instance", Method: get, Path: "/workflow-instances/{id}", Tag: "instances", Summary: "Read one instance", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "list-steps", Method: get, Path: "/workflow-instances/{id}/steps", Tag: "instances", Summary: "List the attempts: finished ones in order, then open ones", Scopes: readInstances, Noun: nounInstance, Query: orgPaged()},
		{ID: "list-events", Method: get, Path: "/workflow-instances/{id}/events", Tag: "instances", Summary: "List the inbound events, oldest first", Scopes: readInstances, Noun: nounInstance, Query: append(orgOnly(), paging()...)},
		{ID: "list-interventions", Method: get, Path: "/workflow-instances/{id}/interventions", Tag: "instances", Summary: "List what people did, oldest first", Scopes: readInstances, Noun: nounInstance, Query: orgPaged()},
		{ID: "get-next-step", Method: get, Path: "/workflow-instances/{id}/next-step", Tag: "explaining", Summary: "Tell a client what to do next", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "get-why", Method: get, Path: "/workflow-instances/{id}/why", Tag: "explaining", Summary: "Say what the case waits for, what happens next and when, and who can help", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "get-timeline", Method: get, Path: "/workflow-instances/{id}/timeline", Tag: "explaining", Summary: "Tell what happened, oldest first, and what is open now", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "stream-instance", Method: get, Path: "/workflow-instances/{id}/stream", Tag: "explaining", Summary: "Follow one instance as it moves (server-sent events)", Scopes: readInstances, Noun: nounInstance, Query: orgOnly(), Errors: []int{http.StatusTooManyRequests}},
		{ID: "stream-instances", Method: get, Path: "/workflow-instances/stream", Tag: "explaining", Summary: "Follow the instances of the organisation (server-sent events)", Scopes: readInstances, Query: streamFilters(), Errors: []int{http.StatusTooManyRequests}},
	}
}
