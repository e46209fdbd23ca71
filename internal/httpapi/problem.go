package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/auth"
)

// Codes that only this edge uses.
const (
	codeMethodNotAllowed rondo.Code = "method_not_allowed"
	codeUnsupportedMedia rondo.Code = "unsupported_media_type"
	codeRange            rondo.Code = "range_not_satisfiable"
)

// problem is the body of every error (RFC 9457).
type problem struct {
	Type      string             `json:"type" doc:"urn:rondo:problem: and the code"`
	Title     string             `json:"title" doc:"What kind of problem it is"`
	Status    int                `json:"status"`
	Detail    string             `json:"detail" doc:"What is wrong here"`
	Code      string             `json:"code" doc:"Stable word to program against"`
	Hint      string             `json:"hint,omitempty" doc:"The way out"`
	Errors    []rondo.FieldError `json:"errors,omitempty" doc:"All that is wrong, place by place"`
	RequestID string             `json:"request_id" doc:"Quote it when asking for help"`
	Said      string             `json:"error,omitempty" doc:"Of the chat API only, for older clients: the same as detail"`
	Details   []rondo.FieldError `json:"details,omitempty" doc:"Of the chat API only, for older clients: with status 400, the same as errors"`

	header http.Header // sent along; nil = none
}

// The methods by which huma sends a problem as it is.

func (p *problem) Error() string             { return p.Detail }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) GetHeaders() http.Header   { return p.header }
func (p *problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// statusOf is the one place where codes become statuses.
func statusOf(code rondo.Code) (status int, title string) {
	switch code {
	case rondo.CodeInvalid:
		return http.StatusBadRequest, "The request is not valid"
	case rondo.CodeInvalidDef:
		return http.StatusUnprocessableEntity, "The definition breaks publish rules"
	case rondo.CodeKeyReused:
		return http.StatusUnprocessableEntity, "The idempotency key belongs to another request"
	case rondo.CodeUnauthorized, auth.CodeTokenMissing, auth.CodeTokenInvalid, auth.CodeTokenExpired, auth.CodeAudienceMismatch, auth.CodeIssuerMismatch:
		return http.StatusUnauthorized, "The caller is not known"
	case rondo.CodeForbidden, auth.CodeTenantNotAllowed:
		return http.StatusForbidden, "The caller may not do this"
	case rondo.CodeCardRefused:
		return http.StatusForbidden, "The card action is not allowed"
	case rondo.CodeNotFound, rondo.CodeConversationNotFound:
		return http.StatusNotFound, "Not found"
	case rondo.CodeWorkflowNotFound:
		return http.StatusNotFound, "No such workflow"
	case rondo.CodeBaseRunNotCompleted:
		return http.StatusBadRequest, "The base run is not completed"
	case rondo.CodeStaleBaseRun:
		return http.StatusConflict, "The base run is not the latest"
	case rondo.CodeInputSelector:
		return http.StatusUnprocessableEntity, "The input of a step cannot be made"
	case codeRange:
		return http.StatusRequestedRangeNotSatisfiable, "The range is not within the content"
	case codeMethodNotAllowed:
		return http.StatusMethodNotAllowed, "The route does not have this method"
	case rondo.CodeWrongState:
		return http.StatusConflict, "The state does not allow this"
	case rondo.CodeConflict:
		return http.StatusConflict, "It clashes with something else"
	case rondo.CodeConversationBusy, rondo.CodeLeaseLost:
		return http.StatusConflict, "Another turn of the conversation is under way"
	case rondo.CodeWorkflowCompleted:
		return http.StatusConflict, "The conversation has ended"
	case rondo.CodeKeyInProgress:
		return http.StatusConflict, "The request with this key is being answered"
	case rondo.CodeCardSubmitted:
		return http.StatusConflict, "The card was submitted before"
	case rondo.CodePrecondition:
		return http.StatusPreconditionFailed, "It changed meanwhile"
	case rondo.CodePreconditionRequired:
		return http.StatusPreconditionRequired, "If-Match is missing"
	case rondo.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, "The request is too large"
	case codeUnsupportedMedia:
		return http.StatusUnsupportedMediaType, "The body is not in an accepted format"
	case rondo.CodeOverloaded:
		return http.StatusTooManyRequests, "Too much at once"
	case rondo.CodeUnavailable:
		return http.StatusServiceUnavailable, "Not available right now"
	case rondo.CodeAgentFailed:
		return http.StatusBadGateway, "The agent failed"
	case rondo.CodeAgentTimeout:
		return http.StatusGatewayTimeout, "The agent took too long"
	case rondo.CodeStateCorrupt:
		return http.StatusInternalServerError, "A stored record cannot be read"
	case rondo.CodeWorkflowLogic:
		return http.StatusInternalServerError, "The definition failed"
	default:
		return http.StatusInternalServerError, "Internal error"
	}
}

// problemOf translates an error into what the caller is told. noun is what the
// route's {id} names.
func problemOf(err error, noun, requestID string) *problem {
	code := rondo.CodeOf(err)
	if code == rondo.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		code = rondo.CodeUnavailable
	}
	p := &problem{Code: string(code), RequestID: requestID, header: http.Header{}}
	p.Status, p.Title = statusOf(code)
	if p.Status == http.StatusInternalServerError && code != rondo.CodeStateCorrupt && code != rondo.CodeWorkflowLogic {
		code, p.Code = rondo.CodeInternal, string(rondo.CodeInternal)
	}
	p.Type = "urn:rondo:problem:" + p.Code
	switch code {
	case rondo.CodeNotFound:
		// The same words whatever the service says, so that foreign and unknown
		// ids cannot be told apart.
		told := rondo.NotFound(noun)
		if named := said(err); noun == "" && named.Message != "" { // of a body that names something else
			told.Message = named.Message
		}
		p.Detail, p.Hint = told.Message, told.Hint
	case rondo.CodeConversationNotFound:
		p.Detail, p.Hint = "no such conversation", "start a new one; a conversation that has expired or is another's looks unknown too"
	case rondo.CodeWorkflowNotFound:
		p.Detail, p.Hint = "there is no active workflow with this name and version", "see GET /workflows for those that can be run; publish a definition of kind run to add one"
	case rondo.CodeInternal:
		p.Detail, p.Hint = "something went wrong inside the server", "report the request id to the operator; the log has the cause"
	case rondo.CodeStateCorrupt:
		p.Detail, p.Hint = "what is stored of the "+storedNoun(noun)+" cannot be read", "report the request id to the operator; nothing was changed"
	default:
		told := said(err)
		p.Detail, p.Hint, p.Errors = told.Message, told.Hint, told.Fields
		if p.Detail == "" {
			p.Detail = p.Title
		}
	}
	switch p.Status {
	case http.StatusUnauthorized:
		p.header.Set("WWW-Authenticate", challenge(code, p.Detail))
	case http.StatusForbidden:
		if code == auth.CodeTenantNotAllowed {
			p.header.Set("WWW-Authenticate", challenge(code, p.Detail))
		}
	case http.StatusConflict, http.StatusBadGateway:
		if wait, ok := retryAfter(code, err); ok {
			p.header.Set("Retry-After", wait)
		}
	case http.StatusTooManyRequests:
		p.header.Set("Retry-After", "1")
	case http.StatusServiceUnavailable:
		p.header.Set("Retry-After", "5")
	}
	return p
}

// storedNoun names what a record that cannot be read is of: turns name their
// conversation in the body.
func storedNoun(noun string) string {
	switch noun {
	case nounRun, nounRunStep, nounArtifact, nounCacheEntry:
		return noun
	}
	return nounConversation
}

// retryAfter is how many seconds a caller should wait before trying again; ok
// is false when that would not help or nobody knows.
func retryAfter(code rondo.Code, err error) (seconds string, ok bool) {
	wait := chat.RetryAfter(err)
	switch code {
	case rondo.CodeConversationBusy, rondo.CodeLeaseLost, rondo.CodeKeyInProgress:
	case rondo.CodeAgentFailed:
		if wait <= 0 { // the agent did not say
			return "", false
		}
	default:
		return "", false
	}
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))), true
}

// forOlderClients adds the members that clients of the chat API read which know
// nothing of problems.
func (p *problem) forOlderClients() {
	p.Said = p.Detail
	if p.Status != http.StatusBadRequest {
		return
	}
	if p.Details = p.Errors; len(p.Details) == 0 {
		p.Details = []rondo.FieldError{{Code: p.Code, Message: p.Detail}}
	}
}

// said is the outermost error of the chain that has something to say to the
// caller: wrappers only name operations, for the log.
func said(err error) rondo.Error {
	for err != nil {
		e, ok := errors.AsType[*rondo.Error](err)
		if !ok {
			break
		}
		if e.Message != "" || len(e.Fields) > 0 {
			return rondo.Error{Message: e.Message, Hint: e.Hint, Fields: e.Fields}
		}
		err = e.Err
	}
	return rondo.Error{}
}

// challenge is the WWW-Authenticate value (RFC 6750). Whoever sent no token is
// told only which scheme to use.
func challenge(code rondo.Code, description string) string {
	value := `Bearer realm="rondo"`
	switch code {
	case auth.CodeTokenMissing, rondo.CodeUnauthorized:
		return value
	case auth.CodeTenantNotAllowed:
		value += `, error="insufficient_scope"`
	default:
		value += `, error="invalid_token"`
	}
	return value + `, error_description="` + strings.ReplaceAll(description, `"`, `'`) + `"`
}

// write sends a problem outside huma.
func (p *problem) write(w http.ResponseWriter) {
	for name, values := range p.header {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the client may be gone: there is nobody to tell
}
