package definition_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

func TestARunWithAWrongMemberIsJudgedAllTheSame(t *testing.T) {
	t.Parallel()
	const source = `{"name":"bad","version":"1.0.0","strange":1,"input_schema":{"type":"strin"},"changes":{"x":"all","y":["zz"]},"steps":[
		{"id":"a","skill":"t@1","depends_on":["b"],"input":{"x":{"step":"a","path":"data"}},"timeout":5},
		{"id":"b","skill":"t@1","depends_on":["a","nope"]},
		{"id":"b","skill":"u@1"}]}`
	want := map[string]string{
		"/changes/x": "wrong_type", "/changes/y/0": "target_unknown", "/input_schema": "schema_invalid", "/strange": "unknown_member",
		"/steps/0/input/x/step": "path_never_produced", "/steps/0/timeout": "wrong_type", "/steps/1/depends_on": "cycle",
		"/steps/1/depends_on/1": "target_unknown", "/steps/2/id": "step_repeated",
	}
	_, err := definition.ParseDraftOf(rondo.KindRun, []byte(source))
	refused, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error with fields", err)
	}
	for name, found := range map[string][]rondo.FieldError{
		"a draft": refused.Fields, "the rules": definition.ValidateOf(rondo.KindRun, []byte(source), definition.Environment{}).Errors,
	} {
		got, said := map[string]string{}, map[string]string{}
		for _, f := range found {
			got[f.Pointer], said[f.Pointer] = f.Code, f.Message
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if said["/changes/x"] != `a change is a list of steps, or "*"` || said["/steps/0/input/x/step"] != "a step cannot read its own output" {
			t.Errorf("%s says %q and %q", name, said["/changes/x"], said["/steps/0/input/x/step"])
		}
	}
}
