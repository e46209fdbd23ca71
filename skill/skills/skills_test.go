package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skills"
	"github.com/rondo-engine/rondo/skill/skilltest"
)

func TestAGoFunctionIsASkill(t *testing.T) {
	skilltest.Run(t, skilltest.Harness{
		Cannot: map[skilltest.Behaviour]string{
			skilltest.Garbage: "whoever calls it checks its data", skilltest.Huge: "whoever calls it bounds its data", skilltest.Endless: "it answers at once or not at all",
			skilltest.Crash: "whoever calls it catches its panic", skilltest.BigFile: "whoever gives the blobs bounds them",
		},
		New: func(t *testing.T, b skilltest.Behaviour, begun func()) skill.Skill {
			t.Helper()
			set := skills.New(skills.Options{Go: map[string]skill.Skill{"test@1": goSkill(b, begun)}})
			s, err := set.Skill("test@1", skill.Spec{Type: "go"})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	})
}

func goSkill(b skilltest.Behaviour, begun func()) skill.Func {
	return func(ctx context.Context, call skill.Call) (skill.Result, error) {
		if err := ctx.Err(); err != nil {
			return skill.Result{}, err
		}
		switch b {
		case skilltest.Hang:
			begun()
			<-ctx.Done()
			return skill.Result{}, ctx.Err()
		case skilltest.Fail:
			return skill.Fail(rondo.CodeSkillError, "it does not work", true), nil
		case skilltest.File:
			hash, size, err := call.Blobs.Put(ctx, strings.NewReader(skilltest.FileContent))
			return skill.Result{OK: true, Artifacts: []skill.Artifact{{Type: "text/plain", Name: "file.txt", Hash: hash, Size: size}}}, err
		}
		var asked struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(call.Input, &asked)
		data, err := json.Marshal(map[string]string{"said": asked.Text})
		return skill.Result{OK: true, Data: data}, err
	}
}

func spec(kind, config string) skill.Spec {
	return skill.Spec{Type: kind, Config: json.RawMessage(config)}
}

func TestSpecificationsAreCheckedAndSayTheWayOut(t *testing.T) {
	t.Parallel()
	set := skills.New(skills.Options{})
	allowed := skills.New(skills.Options{AllowExec: true})
	for name, test := range map[string]struct {
		set     *skills.Set
		spec    skill.Spec
		code    rondo.Code
		mention string
	}{
		"template":            {set, spec("template", `{"template":"x"}`), "", ""},
		"http":                {set, spec("http", `{"url":"https://example.org/{{.id}}"}`), "", ""},
		"llm":                 {set, spec("llm", `{"model":"m"}`), "", ""},
		"remote":              {set, spec("remote", ``), "", ""},
		"remote with nothing": {set, spec("remote", `{}`), "", ""},
		"exec, allowed":       {allowed, spec("exec", `{"command":"true"}`), "", ""},
		"exec":                {set, spec("exec", `{"command":"true"}`), rondo.CodeForbidden, "--allow-exec"},
		"exec, wrong too":     {set, spec("exec", `{"comand":"true"}`), rondo.CodeInvalidDef, "comand"},
		"an unknown member":   {set, spec("template", `{"template":"x","temperature":1}`), rondo.CodeInvalidDef, "temperature"},
		"remote with config":  {set, spec("remote", `{"queue":"x"}`), rondo.CodeInvalidDef, "queue"},
		"go":                  {set, spec("go", ``), rondo.CodeInvalidDef, "registered by the program"},
		"no type":             {set, spec("", ``), rondo.CodeInvalidDef, "types are"},
		"another type":        {set, spec("docker", `{}`), rondo.CodeInvalidDef, "docker"},
		"a broken config":     {set, spec("template", `{"template":`), rondo.CodeInvalidDef, "not valid"},
		"a member twice":      {set, spec("template", `{"template":"x","template":"y"}`), rondo.CodeInvalidDef, "template"},
	} {
		err := test.set.Check(test.spec)
		if rondo.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %q", name, err, test.code)
			continue
		}
		if err != nil {
			said := err.Error()
			for told, ok := errors.AsType[*rondo.Error](err); ok; told, ok = errors.AsType[*rondo.Error](told.Err) {
				said += " " + told.Hint
			}
			if !strings.Contains(said, test.mention) {
				t.Errorf("%s: %q, want it to mention %q", name, said, test.mention)
			}
		}
	}
}

func TestEqualSpecificationsShareASkill(t *testing.T) {
	t.Parallel()
	runs := skills.ForRuns{Set: skills.New(skills.Options{})}
	made := func(name, config string) skill.Skill {
		s, err := runs.Skill(name, plan.SkillSpec{Type: "template", Config: json.RawMessage(config)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := made("a@1", `{"template":"x","output":"text"}`)
	if same := made("b@1", `{ "output":"text", "template":"x" }`); same != one {
		t.Error("an equal specification is compiled again")
	}
	if other := made("a@1", `{"template":"y","output":"text"}`); other == one {
		t.Error("another specification is the same skill")
	}
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	set := skills.New(skills.Options{Go: map[string]skill.Skill{"b@1": skill.Func(nil), "a@1": skill.Func(nil)}})
	if _, err := set.Skill("c@1", skill.Spec{Type: "go"}); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("an unknown go skill: %v", err)
	}
	if _, err := set.Skill("c@1", skill.Spec{Type: "remote"}); err == nil {
		t.Error("a remote skill is done here")
	}
	names := set.Names()
	slices.Sort(names)
	if !slices.Equal(names, []string{"a@1", "b@1"}) {
		t.Errorf("names are %v", names)
	}
}

func TestSecretsGoToTheirHostsOnly(t *testing.T) {
	t.Parallel()
	env := map[string]string{"KEY": "k", "ANY": "a", "EMPTY": "", "OTHER": "o"}
	secret := skills.EnvSecrets(func(name string) string { return env[name] }, map[string][]string{
		"KEY": {skills.HostOf("https://API.example.org/v1"), "localhost"}, "ANY": {"*"}, "EMPTY": {"*"},
	})
	for _, test := range []struct {
		name, host string
		ok         bool
	}{
		{"KEY", "api.example.org", true},
		{"KEY", "localhost", true},
		{"KEY", "evil.example.org", false},
		{"KEY", "", false},
		{"ANY", "anywhere", true},
		{"EMPTY", "x", false},
		{"OTHER", "x", false},
		{"PATH", "x", false},
	} {
		if value, ok := secret(test.name, test.host); ok != test.ok || ok && value != env[test.name] {
			t.Errorf("%s for %q: %q, %t", test.name, test.host, value, ok)
		}
	}
}
