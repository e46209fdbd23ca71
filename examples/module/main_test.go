package main

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

func TestReviewAnswersOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload string
		reason  string // of the failure; "" = none
	}{
		"with an image":  {`{"images":[{"id":"a"}],"product_id":"p"}`, ""},
		"without images": {`{"images":[],"product_id":"p"}`, "image_quality"},
		"of wrong shape": {`{"images":7}`, "invalid_input"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := review(t.Context(), &event.Envelope{Payload: json.RawMessage(test.payload)})
			failure, failed := errors.AsType[*worker.Failure](err)
			if failed != (test.reason != "") || failed && failure.ReasonCode != test.reason {
				t.Fatalf("review gave %v, want reason %q", err, test.reason)
			}
			if !failed && answer.(opinion).Confidence == 0 {
				t.Error("the answer has no confidence")
			}
		})
	}
}
