package modules

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

// maxRequest bounds the body of a REST call to a module.
const maxRequest = 64 << 10

// routes are the REST calls by which a client drives the modules itself: the
// endpoints that client-driven mode names, and the request each stands for.
func routes() map[string]string {
	return map[string]string{
		"POST /consent/checks":               "consent.check.requested",
		"POST /cases/{case_id}/image-checks": "case.images_check.requested",
		"PUT /cases/{case_id}/status":        "case.set_status.requested",
		"POST /ai-reviews":                   "ai_review.requested",
		"POST /human-reviews":                "human_review.requested",
	}
}

// REST serves the modules over HTTP for client-driven cases. The body is
// {case_id, product_id, correlation_id?, payload}; case_id in the path wins. The
// module does its work, publishes the completed or failed event for the case,
// and answers 200 with that event's type and payload. org names the
// organisation of a request.
func REST(b bus.Publisher, cfg Config, org func(*http.Request) string, now func() time.Time) http.Handler {
	mux := http.NewServeMux()
	ids := rondo.NewIDs(now)
	handlers := cfg.handlers()
	for pattern, requested := range routes() {
		mux.Handle(pattern, call{bus: b, requested: requested, handler: handlers[requested], org: org, now: now, ids: ids})
	}
	return mux
}

// call is one REST call of a module.
type call struct {
	bus       bus.Publisher
	requested string
	handler   worker.Handler
	org       func(*http.Request) string
	now       func() time.Time
	ids       *rondo.IDs
}

type callBody struct {
	CaseID        string          `json:"case_id"`
	ProductID     string          `json:"product_id"`
	CorrelationID string          `json:"correlation_id"`
	Payload       json.RawMessage `json:"payload"`
}

func (c call) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		problem(w, http.StatusRequestEntityTooLarge, "the body is larger than 64 KiB")
		return
	}
	var in callBody
	if err := json.Unmarshal(body, &in); err != nil {
		problem(w, http.StatusBadRequest, "the body is not a JSON object of {case_id, product_id, correlation_id?, payload}")
		return
	}
	if id := r.PathValue("case_id"); id != "" {
		in.CaseID = id
	}
	request := c.request(r, in)
	if _, err := event.Parse(request.Encode()); err != nil {
		problem(w, http.StatusBadRequest, err.Error())
		return
	}
	payload, failure := c.handler(r.Context(), request)
	answer := worker.Reply(request, payload, failure, c.now())
	if err := c.bus.Publish(r.Context(), []bus.Message{answer}); err != nil {
		problem(w, http.StatusServiceUnavailable, "the outcome could not be published; try again")
		return
	}
	reply, err := event.Parse(answer.Envelope)
	if err != nil {
		problem(w, http.StatusInternalServerError, "the outcome is not readable")
		return
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{"event_type": reply.Type, "payload": reply.Payload})
}

func (c call) request(r *http.Request, in callBody) *event.Envelope {
	if len(in.Payload) == 0 {
		in.Payload = json.RawMessage("{}")
	}
	id := c.ids.New()
	if in.CorrelationID == "" {
		in.CorrelationID = id.String()
	}
	return &event.Envelope{
		EventID: id, Type: c.requested, SchemaVersion: event.SchemaVersion, OccurredAt: c.now().UTC().Truncate(time.Microsecond),
		CorrelationID: in.CorrelationID, CaseID: in.CaseID, OrgID: c.org(r), ProductID: in.ProductID, Payload: in.Payload,
	}
}

func problem(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, "application/problem+json", map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		body, status = []byte(`{}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
