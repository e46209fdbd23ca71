package httpapi

import (
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The types of a drawing.
const (
	svgType     = "image/svg+xml"
	mermaidType = "text/plain; charset=utf-8"
)

func (a *API) registerGraph(r *registrar) {
	r.plain("draw-definition", svgType, a.drawDefinition)
	if row, ok := r.row("draw-definition"); ok {
		r.described(row).Responses["200"].Content["text/plain"] = &huma.MediaType{}
	}
}

// drawDefinition answers with a picture, or with text that others can draw.
func (a *API) drawDefinition(w http.ResponseWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	format := x.call.query.Get("format")
	if format == "" {
		format = preferredDrawing(r.Header.Get("Accept"))
	}
	drawing, err := a.cfg.Definitions.DrawDefinition(r.Context(), x.call.principal, x.call.id, format)
	if err != nil {
		a.refuse(w, x, err)
		return
	}
	w.Header().Set("Vary", "Accept")
	if format == "mermaid" {
		w.Header().Set("Content-Type", mermaidType)
	} else {
		w.Header().Set("Content-Type", svgType)
		// A picture that is opened by itself brings its own style, and nothing else.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	}
	_, _ = io.WriteString(w, drawing) // the client may be gone: there is nobody to tell
}

// preferredDrawing is Mermaid for those who take text and no picture.
func preferredDrawing(accept string) string {
	if strings.Contains(accept, "text/plain") && !strings.Contains(accept, "svg") {
		return "mermaid"
	}
	return "svg"
}
