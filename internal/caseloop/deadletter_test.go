package caseloop_test

import (
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/bus"
)

// A dead letter says whose it is and all that is wrong with it, as far as that
// can be read.
func TestDeadLettersAreToldInFull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, org, reason string }{
		"nothing":       {"", "", `the entry has no field "envelope", or it is empty`},
		"not JSON":      {"hello", "", "the event envelope cannot be read: must be a JSON object"},
		"an array":      {"[]", "", "the event envelope cannot be read: must be a JSON object"},
		"cut off":       {`{"org_id":"acme","payload":{"a":`, "acme", "the event envelope cannot be read: "},
		"too few":       {`{"org_id":"acme"}`, "acme", "the event envelope is not valid: /event_id is missing: every envelope has it; /event_type is missing: every envelope has it; "},
		"no org":        {`{"case_id":"c"}`, "", "/org_id is missing"},
		"not a text":    {`{"org_id":7}`, "", "/org_id "},
		"two orgs":      {`{"org_id":"acme","org_id":"other"}`, "", "the event envelope cannot be read: "},
		"not an id":     {`{"org_id":"a\u0000b"}`, "", "/org_id "},
		"NUL names":     {`{"org_id":"acme","a\u0000":1e400}`, "acme", "the event envelope cannot be read: "},
		"too large":     {`{"org_id":"acme","payload":"` + strings.Repeat("x", 300<<10) + `"}`, "acme", "the event is larger than 256 KiB"},
		"far too large": {`{"org_id":"acme","payload":"` + strings.Repeat("x", 2<<20) + `"}`, "", "the event is larger than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newIntake()
			if err := k.Deliver(t.Context(), []bus.Delivery{{Stream: "case.created", EntryID: "1", Envelope: []byte(c.body)}}); err != nil {
				t.Fatal(err)
			}
			if len(k.letters) != 1 || len(k.queued) != 0 {
				t.Fatalf("%d letters and %d inputs, want 1 and none", len(k.letters), len(k.queued))
			}
			got := k.letters[0]
			if got.OrgID != c.org {
				t.Errorf("org %q, want %q", got.OrgID, c.org)
			}
			if !strings.Contains(got.Reason, c.reason) || strings.Contains(got.Reason, "\x00") {
				t.Errorf("reason %q, want %q in it", got.Reason, c.reason)
			}
		})
	}
}
