package httpapi

import (
	"net/http"

	"github.com/rondo-engine/rondo"
)

func eventRoutes() []Route {
	return []Route{
		{ID: "publish-event", Method: post, Path: "/events", Tag: "events", Summary: "Publish one event envelope; answers after it is durable", Scopes: []string{rondo.ScopeEvents}, Body: BodyRequired, Success: http.StatusAccepted},
	}
}
