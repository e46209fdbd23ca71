package httpapi

func retentionRoutes() []Route {
	return []Route{
		{ID: "list-retention-policies", Method: get, Path: "/retention-policies", Tag: "retention", Summary: "Say how long finished instances are kept: the organisation's own policy, and that of all without one", Scopes: readDefinitions, Query: orgPaged()},
		{ID: "put-retention-policy", Method: put, Path: "/retention-policies", Tag: "retention", Summary: "Say how long an organisation, or every one without a policy of its own, keeps finished instances", Scopes: administering, Query: orgOnly(), Body: BodyRequired},
	}
}
