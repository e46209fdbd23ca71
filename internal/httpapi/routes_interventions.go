package httpapi

func interventionRoutes() []Route {
	return []Route{
		{ID: "halt-instance", Method: post, Path: "/workflow-instances/{id}/halt", Tag: "interventions", Summary: "Halt a running case", Scopes: intervening, Noun: nounInstance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},
		{ID: "resume-instance", Method: post, Path: "/workflow-instances/{id}/resume", Tag: "interventions", Summary: "Resume a halted case", Scopes: intervening, Noun: nounInstance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},
		{ID: "cancel-instance", Method: post, Path: "/workflow-instances/{id}/cancel", Tag: "interventions", Summary: "Cancel a case for good", Scopes: intervening, Noun: nounInstance, Query: orgOnly(), Body: BodyRequired, Errors: conflict},
	}
}
