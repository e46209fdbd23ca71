package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
)

func TestLibraryOfAFileAndOfTheProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "skills.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("skills: {a.b@1: {type: template, config: {template: x}}}\nprompts: {hello: {'1': Hi}}\nconfigs: {size: {'2': {wide: true}}}\n")
	own := map[string]skill.Skill{"own.skill@1": skill.Func(nil), "a.b@1": skill.Func(nil)}
	library, err := newRunLibrary(file, SkillOptions{own: own})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.b@1": "template", "own.skill@1": "go", "gone@1": ""} {
		if spec, ok := library.Skill(name); spec.Type != want || ok != (want != "") {
			t.Errorf("%s is %q (%t), want %q", name, spec.Type, ok, want)
		}
	}
	if value, ok := library.Prompt("hello", "1"); !ok || string(value) != `"Hi"` {
		t.Errorf("the prompt is %s (%t)", value, ok)
	}
	if value, ok := library.Config("size", "2"); !ok || string(value) != `{"wide":true}` {
		t.Errorf("the config is %s (%t)", value, ok)
	}
	if _, ok := library.Config("size", "1"); ok {
		t.Error("a version that is not there is found")
	}
	for text, want := range map[string]string{
		"skill: {}": `no member "skill"`, "skills: {a@1: {type: magic}}": `"magic"`, "skills: 3": "skills", "- 1": "not an object", "skills: {a@1: {type: go}}": `"go"`,
	} {
		write(text)
		if _, err := newRunLibrary(file, SkillOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	if _, err := newRunLibrary(filepath.Join(t.TempDir(), "gone"), SkillOptions{}); err == nil {
		t.Error("a file that is not there is no error")
	}
}

func TestTheLibraryKnowsTheOperatorsModel(t *testing.T) {
	t.Parallel()
	keyWith := func(model string) plan.Keyed {
		library, err := newRunLibrary("", SkillOptions{Model: OpenAIOptions{Model: model}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := plan.Compile([]byte(`{"name":"flow","version":"1.0.0","steps":[{"id":"ask","skill":"ask@1"}],"skills":{"ask@1":{"type":"llm"}}}`), library)
		if err != nil {
			t.Fatal(err)
		}
		return w.Key(0, "t", rondo.ID{}, json.RawMessage(`{}`))
	}
	small, big := keyWith("small"), keyWith("big")
	if changed := plan.Diff(small.Manifest, big.Manifest); small.Key == big.Key || len(changed) != 1 || changed[0].Name != "model" {
		t.Errorf("another model changes %+v, key %s → %s", changed, small.Key, big.Key)
	}
}
