package skills_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/exec"
	"github.com/rondo-engine/rondo/skill/http"
	"github.com/rondo-engine/rondo/skill/llm"
	"github.com/rondo-engine/rondo/skill/skills"
	"github.com/rondo-engine/rondo/skill/skilltest"
	"github.com/rondo-engine/rondo/skill/template"
)

const document = "../../docs/skills.md"

// example is a skill that the documentation shows, with what it says comes out.
type example struct {
	skill       skill.Spec
	input, data string // "" = only the skill is shown
}

func examples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var found []example
	for i, part := range strings.Split(string(text), "\n```") {
		mark, body, _ := strings.Cut(part, "\n")
		if i%2 == 0 {
			continue // between blocks
		}
		switch mark {
		case "yaml skill":
			var told struct {
				Type   string         `yaml:"type"`
				Config map[string]any `yaml:"config"`
			}
			if err := yaml.Unmarshal([]byte(body+"\n"), &told); err != nil {
				t.Fatalf("%v in\n%s", err, body)
			}
			config, err := json.Marshal(told.Config)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, example{skill: skill.Spec{Type: told.Type, Config: config}})
		case "json input":
			found[len(found)-1].input = body
		case "json data":
			found[len(found)-1].data = body
		}
	}
	return found
}

func TestTheDocumentedSkillsAreValidAndDoWhatIsShown(t *testing.T) {
	t.Parallel()
	set := skills.New(skills.Options{AllowExec: true, TempDir: t.TempDir()})
	ran := 0
	for _, shown := range examples(t) {
		made, err := set.Skill("shown@1", shown.skill)
		if err != nil {
			t.Errorf("%s: %v", shown.skill.Type, err)
			continue
		}
		if shown.input == "" {
			continue
		}
		ran++
		result, err := made.Do(t.Context(), skill.Call{StepID: "step", Attempt: 1, Input: json.RawMessage(shown.input), Blobs: skilltest.NewBlobs()})
		if err != nil || !result.OK {
			t.Errorf("%s: %+v, %v", shown.skill.Type, result, err)
			continue
		}
		var got, want bytes.Buffer
		if json.Compact(&got, result.Data) != nil || json.Compact(&want, []byte(shown.data)) != nil || got.String() != want.String() {
			t.Errorf("%s gives %s, shown is %s", shown.skill.Type, got.String(), want.String())
		}
	}
	if ran < 2 {
		t.Errorf("only %d examples ran", ran)
	}
}

func TestEveryMemberOfAConfigurationIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for kind, config := range map[string]any{"exec": exec.Config{}, "http": http.Config{}, "llm": llm.Config{}, "template": template.Config{}} {
		_, after, found := strings.Cut(string(text), "\n## "+kind+"\n")
		section, _, _ := strings.Cut(after, "\n## ")
		if !found {
			t.Errorf("there is no section on %s", kind)
			continue
		}
		fields := reflect.TypeOf(config)
		for field := range fields.Fields() {
			name := field.Tag.Get("json")
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("the section on %s does not name %s", kind, name)
			}
		}
	}
}
