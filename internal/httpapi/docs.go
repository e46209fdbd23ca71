package httpapi

import (
	"embed"
	"net/http"

	"github.com/rondo-engine/rondo"
)

// The documentation page reads /openapi.json in the browser. It is served from
// the binary and loads nothing from elsewhere, so that it works offline and
// under a policy without inline code.
//
//go:embed docs/index.html docs/docs.js docs/docs.css docs/examples.json
var docsFiles embed.FS

const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (a *API) registerDocs(r *registrar) {
	r.plain("get-openapi", "application/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.openapi)
	})
	r.plain("get-docs", "text/html", func(w http.ResponseWriter, req *http.Request) {
		a.serveDocs(w, req, "index.html")
	})
	r.plain("get-docs-asset", "text/plain", func(w http.ResponseWriter, req *http.Request) {
		a.serveDocs(w, req, req.PathValue("asset"))
	})
}

func (a *API) serveDocs(w http.ResponseWriter, r *http.Request, name string) {
	var contentType string
	switch name {
	case "index.html":
		contentType = "text/html; charset=utf-8"
	case "docs.js":
		contentType = "text/javascript; charset=utf-8"
	case "docs.css":
		contentType = "text/css; charset=utf-8"
	default:
		a.refuse(w, exchangeOf(r.Context()), rondo.NotFound("page"))
		return
	}
	raw, err := docsFiles.ReadFile("docs/" + name)
	if err != nil {
		a.refuse(w, exchangeOf(r.Context()), rondo.Op("read an embedded page", err))
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Security-Policy", docsPolicy)
	_, _ = w.Write(raw)
}
