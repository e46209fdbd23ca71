package steps

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/worker"
)

// completed is the payload of run.step.completed.
type completed struct {
	Data      json.RawMessage  `json:"data,omitempty"`
	Artifacts []skill.Artifact `json:"artifacts,omitempty"`
	Debug     *skill.Debug     `json:"debug,omitempty"`
}

// failed is the payload of run.step.failed.
type failed struct {
	ErrorCode string `json:"error_code"`
	Error     string `json:"error"`
	Retryable bool   `json:"retryable"`
}

const (
	// maxPayload is the largest answer that is sent: an envelope around it must stay
	// below what Rondo takes in.
	maxPayload = 200 << 10
	maxMessage = 4 << 10
)

// reply makes the answer of an attempt: see worker.Config.
func reply(request *event.Envelope, payload any, err error, now time.Time) bus.Message {
	if errors.Is(err, errNoAnswer) {
		return bus.Message{}
	}
	result, _ := payload.(skill.Result)
	if err != nil {
		result = failure(err)
	}
	if result.OK {
		body, problem := encode(completed{Data: result.Data, Artifacts: result.Artifacts, Debug: result.Debug})
		if problem == "" {
			message := envelope(request, event.TypeRunStepCompleted, body, now)
			if _, err := event.Parse(message.Envelope); err == nil {
				return message
			}
			problem = "the answer has what Rondo does not take in: a number beyond 2^53, a member twice, or nesting too deep"
		}
		result = skill.Fail(rondo.CodeSkillError, problem, false)
	}
	body, _ := encode(refusal(result)) // texts of bounded length: nothing to fail
	return envelope(request, event.TypeRunStepFailed, body, now)
}

// failure is the result of an error that a skill returned.
func failure(err error) skill.Result {
	if told, ok := errors.AsType[*worker.Failure](err); ok { // of the worker itself
		return skill.Fail(rondo.CodeSkillError, told.Message, told.Retryable)
	}
	code := rondo.CodeSkillError
	if known := rondo.CodeOf(err); known == rondo.CodeSkillTimeout {
		code = known
	}
	return skill.Fail(code, err.Error(), true)
}

func refusal(result skill.Result) failed {
	told := failed{ErrorCode: result.ErrorCode, Error: result.Error, Retryable: result.Retryable == nil || *result.Retryable}
	if told.ErrorCode == "" {
		told.ErrorCode = string(rondo.CodeSkillError)
	}
	if told.Error == "" {
		told.Error = "the skill failed and does not say why"
	}
	if len(told.Error) > maxMessage {
		told.Error = told.Error[:maxMessage] + "…"
	}
	told.Error = strings.ToValidUTF8(told.Error, "�")
	return told
}

// encode writes a payload, or says why it cannot be sent.
func encode(payload any) (body []byte, problem string) {
	body, err := json.Marshal(payload)
	switch {
	case err != nil:
		return nil, "the answer does not encode as JSON"
	case len(body) > maxPayload:
		return nil, fmt.Sprintf("the answer has %d bytes, more than %d: store large results elsewhere and name their uri", len(body), maxPayload)
	}
	return body, ""
}

// envelope addresses an answer to the attempt that asked.
func envelope(request *event.Envelope, eventType string, body []byte, now time.Time) bus.Message {
	answer := &event.Envelope{
		EventID: event.DerivedID(request.EventID, eventType), Type: eventType, SchemaVersion: event.SchemaVersion,
		OccurredAt: now.UTC().Truncate(time.Microsecond), CorrelationID: request.CorrelationID,
		CausationID: request.EventID.String(), CaseID: request.CaseID, OrgID: request.OrgID, ProductID: request.ProductID,
		RunID: request.RunID, Payload: body, Traceparent: request.Traceparent,
	}
	return bus.Message{Stream: eventType, EventID: answer.EventID, Envelope: answer.Encode()}
}
