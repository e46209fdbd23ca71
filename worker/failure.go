package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// failure is the payload of a failed event.
func failure(err error) []byte {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = &Failure{Retryable: true, Message: err.Error()}
	}
	body, err := json.Marshal(f)
	if err != nil {
		return []byte(`{"retryable":false}`)
	}
	return body
}
