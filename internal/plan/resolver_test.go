package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
)

// operated is a server whose operator adds to skills.
type operated struct {
	server
	model   string
	outside map[string]string
}

func (o operated) Resolve(spec SkillSpec) (SkillSpec, map[string]string) {
	if spec.Type == "llm" {
		spec.Config = json.RawMessage(`{"model":"` + o.model + `"}`)
	}
	return spec, o.outside
}

func TestKeysFollowWhatTheOperatorAdds(t *testing.T) {
	t.Parallel()
	digit := func(d string) string { return strings.Repeat(d, 64) }
	file := `{"name":"flow","version":"1.0.0","steps":[{"id":"ask","skill":"ask@1"},{"id":"call","skill":"call@1"}],
		"skills":{"ask@1":{"type":"llm"},"call@1":{"type":"exec","config":{"command":"x","env":["NAME"]}}}}`
	keyed := func(step int, env Environment) Keyed {
		return mustCompileIn(t, file, env).Key(step, "t", rondo.ID{}, json.RawMessage(`{}`))
	}
	for _, tc := range []struct {
		step         int
		before, then Environment
		component    string
		reason       string
		preview      string
	}{
		{0, operated{model: "old"}, operated{model: "new"}, "model", "config_changed(model)", `"new"`},
		{0, server{}, operated{model: "new"}, "model", "config_changed(model)", `"new"`},
		{1, operated{outside: map[string]string{"env.NAME": digit("a")}}, operated{outside: map[string]string{"env.NAME": digit("b")}}, "config.env.NAME", "config_changed(env.NAME)", ""},
		{1, operated{}, operated{outside: map[string]string{"env.NAME": digit("b")}}, "config.env.NAME", "config_changed(env.NAME)", ""},
	} {
		before, then := keyed(tc.step, tc.before), keyed(tc.step, tc.then)
		if before.Key == then.Key || then.Key == "" {
			t.Errorf("%s: the key stays %s", tc.component, then.Key)
		}
		if again := keyed(tc.step, tc.then); again.Key != then.Key {
			t.Errorf("%s: the same gives another key", tc.component)
		}
		changed := Diff(before.Manifest, then.Manifest)
		if len(changed) != 1 || changed[0].Name != tc.component || changed[0].After.Preview != tc.preview {
			t.Errorf("%s: the difference is %+v", tc.component, changed)
		}
		if why := WhyRun(then.Manifest, &before.Manifest); why.String() != tc.reason {
			t.Errorf("%s: the reason is %s, want %s", tc.component, why, tc.reason)
		}
	}
	w := mustCompileIn(t, file, operated{model: "new"})
	if spec, _ := w.SkillOf(0); len(spec.Config) != 0 {
		t.Errorf("the step runs with %s, want what is declared", spec.Config)
	}
}

func TestSecretsBehindTheirNamesAreNotShown(t *testing.T) {
	t.Parallel()
	for value, shown := range map[string]bool{`["LANG=de"]`: true, `["API_TOKEN=hunter2"]`: false, `["--password","hunter2"]`: false, `{"a":["KEY=hunter2"]}`: false} {
		if got := Preview("config.args", json.RawMessage(value)); (got == value) != shown || !shown && strings.Contains(got, "hunter2") {
			t.Errorf("%s is shown as %s", value, got)
		}
	}
}
