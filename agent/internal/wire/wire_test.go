package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/agent"
)

func TestABodyIsSentAgainOnlyWhileNobodyReadIt(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://agent.test", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	sendOnce(request, []byte("hello"))
	again, err := request.GetBody()
	if err != nil {
		t.Fatalf("nobody read it, and still: %v", err)
	}
	if text, err := io.ReadAll(again); string(text) != "hello" || err != nil || request.ContentLength != 5 {
		t.Errorf("the body is %q (%v) of %d bytes, want hello of 5", text, err, request.ContentLength)
	}
	if _, err := request.GetBody(); !errors.Is(err, errSent) {
		t.Errorf("after it was read, the error is %v, want %v", err, errSent)
	}
}

// lagging is a context whose timer has not fired yet, though its time has come.
type lagging struct{ context.Context } //nolint:containedctx // it is a context itself

func (lagging) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

func TestAConnectionThatNoticesTheDeadlineFirstIsOutOfTime(t *testing.T) {
	t.Parallel()
	client := NewClient("test", nil, Bounds{})
	if err := client.broken(lagging{t.Context()}, io.ErrUnexpectedEOF); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want the deadline", err)
	}
	if err := client.broken(t.Context(), io.ErrUnexpectedEOF); agent.KindOf(err) != agent.KindUnreachable {
		t.Errorf("the error is %v, want unreachable", err)
	}
}

func TestWordsOfErrorsAreWords(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":"model_not_found","type":"x"}}`:   "model_not_found",
		`{"error":{"code":null,"type":"server_error"}}`:     "server_error",
		`{"error":"invalid_grant"}`:                         "invalid_grant",
		`{"code":"Unauthorized"}`:                           "Unauthorized",
		`{"error":{"code":"key sk-1 is wrong","type":"x"}}`: "x",
		`{"error":{"code":403}}`:                            "",
		`{"error":"AADSTS50013: assertion failed"}`:         "",
		`[]`:     "",
		`<html>`: "",
		``:       "",
	} {
		if got := ErrorWord([]byte(body)); got != want {
			t.Errorf("the word of %s is %q, want %q", body, got, want)
		}
	}
}
