package explain_test

import (
	"strings"
	"testing"
)

func TestAStepThatWaitsForAConversationSaysWhichAndWithWhom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"name": "talk", "start_step": "ask", "steps": {
		"ask": {"kind": "converse", "timeout_seconds": 60, "params": {"definition": "payment", "user": "{{case.metadata.user}}"}, "transitions": {"on_complete": "done", "on_abandoned": "left", "on_timeout": "left"}},
		"left": {"kind": "halt", "params": {"reason_code": "manual_halt", "note": "nobody"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`)
	w.created(`{"metadata":{"user":"ann"}}`)
	f := w.seen()
	f.Conversation = func(correlationID string) string { return "conversation of " + correlationID }
	why := f.Why()
	if len(why.Waiting) != 1 {
		t.Fatalf("it waits for %+v, want one step", why.Waiting)
	}
	want := "conversation of " + f.Instance.Machine.Live[0].CorrelationID
	if got := why.Waiting[0]; string(got.Conversation) != want || got.User != "ann" || !strings.Contains(why.Summary, want+" with ann") {
		t.Errorf("%q with %q, summary %q, want %q with ann", got.Conversation, got.User, why.Summary, want)
	}
}
