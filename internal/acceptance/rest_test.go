package acceptance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
)

// callers is the authentication of the tests: the token says who calls, as
// "org user scope scope …".
type callers struct{}

func (callers) Authenticate(r *http.Request) (rondo.Principal, error) {
	words := strings.Fields(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if len(words) < 2 {
		return rondo.Principal{}, &rondo.Error{Code: rondo.CodeUnauthorized, Message: "no token"}
	}
	return rondo.Principal{Tenant: words[0], User: words[1], Scopes: words[2:]}, nil
}

// everyScope is what one organisation's own administrator may do.
func everyScope() []string {
	return []string{
		rondo.ScopeRead, rondo.ScopeReadInstances, rondo.ScopeWrite, rondo.ScopePublish, rondo.ScopeIntervene, rondo.ScopeEvents,
	}
}

// client calls the REST edge of one replica for one organisation.
type client struct {
	api    http.Handler
	org    string
	user   string   // "" = ann
	scopes []string // nil = every scope of an organisation
}

// as is the same client for another caller.
func (c client) as(user string, scopes ...string) client {
	c.user, c.scopes = user, scopes
	return c
}

// token says who calls, in the form that callers reads.
func (c client) token() string {
	user, scopes := c.user, c.scopes
	if user == "" {
		user = "ann"
	}
	if scopes == nil {
		scopes = everyScope()
	}
	return "Bearer " + strings.Join(slices.Concat([]string{c.org, user}, scopes), " ")
}

// reply is what the edge answered.
type reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// into decodes the body; a body of another shape leaves zero values.
func (r reply) into(target any) { _ = json.Unmarshal(r.Body, target) }

// problem is the body of an error.
func (r reply) problem() problemBody {
	var p problemBody
	r.into(&p)
	return p
}

func (c client) call(method, path string, body any) reply { return c.callWith(nil, method, path, body) }

// callWith is call with more headers, as name, value, name, value …
func (c client) callWith(headers []string, method, path string, body any) reply {
	var encoded []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		encoded = b
	default:
		encoded, _ = json.Marshal(b) // maps of plain values
	}
	req := httptest.NewRequest(method, path, bytes.NewReader(encoded))
	if encoded != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", c.token())
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	rec := httptest.NewRecorder()
	c.api.ServeHTTP(rec, req)
	return reply{Status: rec.Code, Header: rec.Header(), Body: rec.Body.Bytes()}
}

func (c client) get(path string) reply            { return c.call(http.MethodGet, path, nil) }
func (c client) post(path string, body any) reply { return c.call(http.MethodPost, path, body) }
func (c client) publish(envelope []byte) reply    { return c.post("/events", envelope) }
func (c client) act(id, action string, b any) reply {
	return c.post("/workflow-instances/"+id+"/"+action, b)
}

// The bodies of the edge, as far as the scenarios look at them.
type (
	problemBody struct {
		Status int                `json:"status"`
		Code   string             `json:"code"`
		Detail string             `json:"detail"`
		Errors []rondo.FieldError `json:"errors"`
	}
	receiptBody struct {
		EventID string        `json:"event_id"`
		Outcome rondo.Outcome `json:"outcome"`
	}
	definitionBody struct {
		ID         string          `json:"id"`
		Name       string          `json:"name"`
		Version    int             `json:"version"`
		Status     string          `json:"status"`
		Definition json.RawMessage `json:"definition"`
	}
	instanceBody struct {
		ID               string                     `json:"id"`
		CaseID           string                     `json:"case_id"`
		DefinitionID     string                     `json:"definition_id"`
		Mode             rondo.Mode                 `json:"mode"`
		Status           rondo.Status               `json:"status"`
		HaltReason       string                     `json:"halt_reason"`
		HaltNote         string                     `json:"halt_note"`
		HaltStepID       string                     `json:"halt_step_id"`
		CancelledBy      string                     `json:"cancelled_by"`
		CancelledReason  string                     `json:"cancelled_reason"`
		DeadlineExceeded bool                       `json:"deadline_exceeded"`
		DeadlineAt       time.Time                  `json:"deadline_at"`
		SupersedesID     string                     `json:"supersedes_id"`
		SupersededByID   string                     `json:"superseded_by_id"`
		Context          map[string]json.RawMessage `json:"context"`
		Version          int64                      `json:"version"`
		CurrentSteps     []struct {
			StepID  string           `json:"step_id"`
			Status  rondo.StepStatus `json:"status"`
			Attempt int              `json:"attempt"`
		} `json:"current_steps"`
	}
	stepBody struct {
		StepID        string           `json:"step_id"`
		Status        rondo.StepStatus `json:"status"`
		Attempt       int              `json:"attempt"`
		CorrelationID string           `json:"correlation_id"`
		Error         struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	eventBody struct {
		EventID    string        `json:"event_id"`
		EventType  string        `json:"event_type"`
		Outcome    rondo.Outcome `json:"outcome"`
		Duplicates int           `json:"duplicates"`
		Verdict    string        `json:"verdict"`
		Error      string        `json:"error"`
	}
	interventionBody struct {
		Action      string    `json:"action"`
		PerformedBy string    `json:"performed_by"`
		Reason      string    `json:"reason"`
		Before      stateBody `json:"before_state"`
		After       stateBody `json:"after_state"`
	}
	stateBody struct {
		Status rondo.Status `json:"status"`
		Mode   rondo.Mode   `json:"mode"`
	}
	jobBody struct {
		Status  string `json:"status"`
		Total   int    `json:"total"`
		Pending int    `json:"pending"`
		Applied int    `json:"applied"`
		Refused int    `json:"refused"`
		Failed  int    `json:"failed"`
	}
	listBody[T any] struct {
		Items []T `json:"items"`
	}
)
