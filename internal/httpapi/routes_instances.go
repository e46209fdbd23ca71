package httpapi

func instanceRoutes() []Route {
	return []Route{
		{ID: "list-instances", Method: get, Path: "/workflow-instances", Tag: "instances", Summary: "List instances, newest first", Scopes: readInstances, Query: instanceFilters()},
		{ID: "get-instance", Method: get, Path: "/workflow-instances/{id}", Tag: "instances", Summary: "Read one instance", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "list-steps", Method: get, Path: "/workflow-instances/{id}/steps", Tag: "instances", Summary: "List the attempts: finished ones in order, then open ones", Scopes: readInstances, Noun: nounInstance, Query: orgOnly()},
		{ID: "list-events", Method: get, Path: "/workflow-instances/{id}/events", Tag: "instances", Summary: "List the inbound events, oldest first", Scopes: readInstances, Noun: nounInstance, Query: append(orgOnly(), paging()...)},
	}
}
