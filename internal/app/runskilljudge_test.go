package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store/memory"
)

const judged = `{"name":"flow","version":"1.0.0","steps":[{"id":"a","skill":"a@1"}],"skills":{
	"a@1":{"type":"template","config":{"template":"{{","output":"xml"}},
	"b@1":{"type":"exec","config":{"comand":"x"}},
	"c@1":{"type":"exec","config":{"command":"true"}},
	"d@1":{"type":"http","config":{"url":"http://10.0.0.1:8080/x"}},
	"e@1":{"type":"remote"}}}`

func placesOf(fields []rondo.FieldError) map[string]string {
	places := map[string]string{}
	for _, f := range fields {
		places[f.Pointer] = f.Code
	}
	return places
}

func TestSkillsOfAFileAreJudgedAtOnce(t *testing.T) {
	t.Parallel()
	wrong, forbidden := JudgeSkills([]byte(judged))
	want := map[string]string{"/skills/a@1/config/template": "skill_invalid", "/skills/a@1/config/output": "skill_invalid", "/skills/b@1/config/comand": "skill_invalid"}
	if diff := cmp.Diff(want, placesOf(wrong)); diff != "" || len(forbidden) > 0 {
		t.Errorf("anywhere (-want +got):\n%s\nforbidden %+v", diff, forbidden)
	}
}

func TestPublishingRefusesSkillsThatCannotWorkHere(t *testing.T) {
	t.Parallel()
	library, err := newRunLibrary("", SkillOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.Open(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	e, err := engine.New(engine.Config{Store: store, RunEnvironment: library})
	if err != nil {
		t.Fatal(err)
	}
	p := rondo.Principal{Tenant: "acme", User: "ann"}
	draft, err := e.CreateDefinition(t.Context(), p, rondo.NewDefinition{Kind: rondo.KindRun, Source: []byte(judged)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.PublishDefinition(t.Context(), p, draft.ID, "test")
	refused, ok := errors.AsType[*rondo.Error](err)
	if !ok {
		t.Fatalf("published: %v", err)
	}
	places := placesOf(refused.Fields)
	for place, code := range map[string]string{
		"/skills/a@1/config/template": "skill_invalid", "/skills/a@1/config/output": "skill_invalid", "/skills/b@1/config/comand": "skill_invalid",
		"/skills/c@1": "skill_forbidden",
	} {
		if places[place] != code {
			t.Errorf("%s is %q, want %s; all: %v", place, places[place], code, places)
		}
	}
	for _, f := range refused.Fields {
		if f.Pointer == "/skills/c@1" && !strings.Contains(f.Message, "--allow-exec") {
			t.Errorf("%q does not say how to allow it", f.Message)
		}
	}
}
