package httpapi

import (
	"cmp"
	"net/http"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// The AsyncAPI document is public, like the OpenAPI document: it says how events
// look, not which there are.
func (a *API) registerAsyncAPI(r *registrar) {
	r.plain("get-asyncapi", "application/json", func(w http.ResponseWriter, req *http.Request) {
		x := exchangeOf(req.Context())
		role := event.Role(cmp.Or(x.call.query.Get("role"), string(event.RoleOrchestrator)))
		document, err := event.AsyncAPI(a.cfg.Version, role)
		if err != nil {
			a.refuse(w, x, rondo.Op("write the AsyncAPI document", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
}
