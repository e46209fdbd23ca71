package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

const policyPath = "/retention-policies"

func TestRetentionPoliciesAreReadAndSet(t *testing.T) {
	t.Parallel()
	const updated = `"updated_by":"ann","updated_at":"2026-03-01T12:00:00.123456Z"`
	tests := map[string]struct {
		method, path, body string
		want               string
		given              retention
	}{
		"read": {"GET", policyPath, "", `{"items":[
			{"org_id":null,"keep_finished_days":0,"reason":null,"updated_by":"root","updated_at":"2026-03-01T12:00:00.123456Z"},
			{"org_id":"acme","keep_finished_days":90,"reason":"the law",` + updated + `}],"next_cursor":null}`, retention{}},
		"for a time": {
			"PUT", policyPath, `{"keep_finished_days":30,"reason":"less to lose"}`, `{"org_id":"acme","keep_finished_days":30,"reason":"less to lose",` + updated + `}`,
			retention{policy: rondo.RetentionPolicy{KeepFinished: 30 * 24 * time.Hour, Reason: "less to lose"}},
		},
		"for ever":         {"PUT", policyPath, `{"keep_finished_days":0}`, `{"org_id":"acme","keep_finished_days":0,"reason":null,` + updated + `}`, retention{}},
		"for a century":    {"PUT", policyPath, `{"keep_finished_days":36500}`, `{"org_id":"acme","keep_finished_days":36500,"reason":null,` + updated + `}`, retention{policy: rondo.RetentionPolicy{KeepFinished: 36500 * 24 * time.Hour}}},
		"for another":      {"PUT", policyPath + "?org_id=beta", `{"keep_finished_days":0}`, `{"org_id":"beta","keep_finished_days":0,"reason":null,` + updated + `}`, retention{}},
		"for everyone":     {"PUT", policyPath, `{"keep_finished_days":0,"everyone":true}`, `{"org_id":null,"keep_finished_days":0,"reason":null,` + updated + `}`, retention{everyone: true}},
		"not for everyone": {"PUT", policyPath, `{"keep_finished_days":0,"everyone":false}`, `{"org_id":"acme","keep_finished_days":0,"reason":null,` + updated + `}`, retention{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do(test.method, test.path, test.body)
			if rec.Code != 200 {
				t.Fatalf("status %d, want 200: %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(asAny(t, test.want), asAny(t, rec.Body.String())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if b.engine.retention != test.given {
				t.Errorf("the engine was given %+v, want %+v", b.engine.retention, test.given)
			}
			checkDocumented(t, b.OpenAPI(), test.method, policyPath, rec)
		})
	}
}

func TestBadRetentionPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body    string
		pointer string
	}{
		"no days":            {`{"reason":"x"}`, "/keep_finished_days"},
		"null days":          {`{"keep_finished_days":null}`, "/keep_finished_days"},
		"days in words":      {`{"keep_finished_days":"30"}`, "/keep_finished_days"},
		"a part of a day":    {`{"keep_finished_days":30.5}`, "/keep_finished_days"},
		"negative days":      {`{"keep_finished_days":-1}`, "/keep_finished_days"},
		"too many days":      {`{"keep_finished_days":36501}`, "/keep_finished_days"},
		"everyone in words":  {`{"keep_finished_days":30,"everyone":"yes"}`, "/everyone"},
		"too long a reason":  {`{"keep_finished_days":30,"reason":"` + strings.Repeat("x", 4097) + `"}`, "/reason"},
		"an org in the body": {`{"keep_finished_days":30,"org_id":"beta"}`, ""},
		"days that overflow": {`{"keep_finished_days":99999999999999999999}`, "/keep_finished_days"},
		"a list of days":     {`{"keep_finished_days":[30]}`, "/keep_finished_days"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rec := b.do("PUT", policyPath, test.body)
			p := problemIn(t, rec)
			if rec.Code != 400 || len(p.Errors) != 1 || p.Errors[0].Pointer != test.pointer {
				t.Errorf("got %d with errors %+v, want 400 with one at %q", rec.Code, p.Errors, test.pointer)
			}
			if b.engine.retention != (retention{}) {
				t.Errorf("the engine was given %+v", b.engine.retention)
			}
			checkDocumented(t, b.OpenAPI(), "PUT", policyPath, rec)
		})
	}
}
