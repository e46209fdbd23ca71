package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/skilltest"
	"github.com/rondo-engine/rondo/skill/template"
)

func newSkill(t *testing.T, config any) *template.Skill {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := template.New(raw, template.Options{Limits: skilltest.Limits()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestATemplateIsASkill(t *testing.T) {
	skilltest.Run(t, skilltest.Harness{
		Cannot: map[skilltest.Behaviour]string{skilltest.Hang: "its loops are bounded"},
		New: func(t *testing.T, b skilltest.Behaviour, _ func()) skill.Skill {
			t.Helper()
			long := strings.Repeat("x", 60_000)
			file := map[string]any{"template": skilltest.FileContent, "artifact": map[string]string{"name": "file.txt"}}
			configs := map[skilltest.Behaviour]map[string]any{
				skilltest.Echo:    {"template": `{"said": {{json (or .text "")}}}`, "output": "json"},
				skilltest.Garbage: {"template": `{"said": oops`, "output": "json"},
				skilltest.Huge:    {"template": `{{range 2}}` + long + `{{end}}{{/* bytes */}}`},
				skilltest.Endless: {"template": `{{range 1000000000000}}x{{end}}`},
				skilltest.Fail:    {"template": `{{.absent}}`},
				skilltest.Crash:   {"template": `{{index .text 5}}`},
				skilltest.File:    file,
				skilltest.BigFile: {"template": `{{range 10}}` + long + `{{end}}`, "artifact": map[string]string{"name": "file.txt"}},
			}
			return newSkill(t, configs[b])
		},
	})
}

func do(t *testing.T, s skill.Skill, input string) (skill.Result, *skilltest.Blobs) {
	t.Helper()
	blobs := skilltest.NewBlobs()
	result, err := s.Do(t.Context(), skill.Call{Input: json.RawMessage(input), Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	skilltest.Check(t, result, err)
	return result, blobs
}

func TestATemplateBecomesDataOrAFile(t *testing.T) {
	t.Parallel()
	const input = `{"title":"Sale","n":3}`
	page := map[string]string{"name": "{{.title}}.html", "type": "text/html"}
	for name, test := range map[string]struct {
		config    map[string]any
		ok        bool
		data      string
		artifacts int
		message   string
	}{
		"text":               {config: map[string]any{"template": "a {{.title}}\n"}, ok: true, data: `"a Sale\n"`},
		"text said so":       {config: map[string]any{"template": "{{.n}}", "output": "text"}, ok: true, data: `"3"`},
		"json":               {config: map[string]any{"template": `{"n": {{.n}}}`, "output": "json"}, ok: true, data: `{"n": 3}`},
		"json with ok":       {config: map[string]any{"template": `{"ok": false}`, "output": "json"}, ok: true, data: `{"ok": false}`},
		"two values":         {config: map[string]any{"template": `1,2`, "output": "json"}, message: "line 1, column 2"},
		"a file":             {config: map[string]any{"template": "<p>", "artifact": page}, ok: true, data: `{"name":"Sale.html","size":3,"type":"text/html"}`, artifacts: 1},
		"a file and data":    {config: map[string]any{"template": "[1]", "artifact": page, "output": "json"}, ok: true, data: `[1]`, artifacts: 1},
		"a file and garbage": {config: map[string]any{"template": "[1", "artifact": page, "output": "json"}, message: "not JSON"},
		"a nameless file":    {config: map[string]any{"template": "x", "artifact": map[string]string{"name": "{{if .absent}}x{{end}}"}}, message: "name"},
	} {
		result, blobs := do(t, newSkill(t, test.config), input)
		if result.OK != test.ok || string(result.Data) != test.data || len(result.Artifacts) != test.artifacts || !strings.Contains(result.Error, test.message) {
			t.Errorf("%s: %+v with data %s", name, result, result.Data)
			continue
		}
		if !result.OK && *result.Retryable {
			t.Errorf("%s: it may be tried again, which changes nothing", name)
		}
		for _, artifact := range result.Artifacts {
			if content, _ := blobs.Get(artifact.Hash); len(content) != 3 || artifact.Name != "Sale.html" || artifact.Type != "text/html" {
				t.Errorf("%s: %+v with %q", name, artifact, content)
			}
		}
	}
}

func TestConfigurationsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for raw, pointer := range map[string]string{
		`{}`: "/template", `{"template":"{{"}`: "/template", `{"template":"x","output":"html"}`: "/output", `{"text":"x"}`: "/text",
		`{"template":"x","artifact":{}}`: "/artifact/name", `{"template":"x","artifact":{"name":"{{"}}`: "/artifact/name", `{"template":"x","artifact":"x"}`: "/artifact",
	} {
		_, err := template.New(json.RawMessage(raw), template.Options{})
		told, ok := err.(*rondo.Error)
		if !ok || told.Code != rondo.CodeInvalidDef || told.Fields[0].Pointer != pointer {
			t.Errorf("%s: %+v, want a problem at %s", raw, err, pointer)
		}
	}
}
