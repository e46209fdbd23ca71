package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo/event"
)

// call runs a handler and turns its panic into an error: a defect in one request
// must not take the module down.
func call(ctx context.Context, handler Handler, request *event.Envelope) (payload any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{Message: fmt.Sprintf("the module failed: %v", r)}
		}
	}()
	return handler(ctx, request)
}

// maxPayload is the largest answer that is sent: an envelope around it must stay
// below what Rondo takes in.
const maxPayload = 200 << 10

// object encodes a payload and refuses what could never be applied.
func object(payload any) ([]byte, error) {
	body, err := json.Marshal(payload)
	switch {
	case err != nil:
		return nil, &Failure{Message: "the module's answer does not encode: " + err.Error()}
	case len(body) == 0 || body[0] != '{':
		return nil, &Failure{Message: "the module's answer is not a JSON object"}
	case len(body) > maxPayload:
		return nil, &Failure{Message: fmt.Sprintf("the module's answer has %d bytes, more than %d", len(body), maxPayload)}
	}
	return body, nil
}

// readable refuses an answer that Rondo would not take in: a number beyond 2^53,
// nesting too deep. Sending it could never succeed.
func readable(answer []byte) error {
	if _, err := event.Parse(answer); err != nil {
		return &Failure{Message: "the module's answer cannot be read: " + err.Error()}
	}
	return nil
}

// maxMessage bounds what a failure says.
const maxMessage = 4 << 10

// failure is the payload of a failed event.
func failure(err error) []byte {
	said, ok := errors.AsType[*Failure](err)
	if !ok {
		said = &Failure{Retryable: true, Message: err.Error()}
	}
	f := *said
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"
	}
	body, err := json.Marshal(f)
	if err != nil {
		return []byte(`{"retryable":false}`)
	}
	return body
}
