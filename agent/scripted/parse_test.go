package scripted_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/scripted"
)

func TestAScriptThatIsWrongSaysWhere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source  string
		pointer string
		message string
	}{
		"nothing":              {"", "", "s.yaml: the file is empty"},
		"a comment alone":      {"# nothing\n", "", "s.yaml: the file is empty"},
		"no YAML":              {"rules: [", "", "s.yaml: line 1"},
		"a list":               {"- 1", "", "s.yaml:1: this must be an object"},
		"two documents":        {"rules: []\n---\nrules: []\n", "", "one file holds one script"},
		"no rules":             {"name: x\n", "/rules", "s.yaml:1: a script needs at least one rule"},
		"unknown member":       {"rules:\n  - replay: []\n    fail: {}\n", "/rules/0/replay", `s.yaml:2: "replay" is not known here; use fail, name, reply, when`},
		"rule without answer":  {"rules:\n  - when: {step: a}\n", "/rules/0", "s.yaml:2: a rule needs a reply or a fail"},
		"regular expression":   {"rules:\n  - fail: {}\n    when:\n      text: '('\n", "/rules/0/when/text", "s.yaml:4: this is no regular expression"},
		"turn that is a text":  {"rules:\n  - fail: {}\n    when: {turn: [1, two]}\n", "/rules/0/when/turn/1", "s.yaml:3: this must be a whole number"},
		"placeholder unknown":  {"rules:\n  - reply:\n      - text: hi ${1}\n", "/rules/0/reply/0/text", "s.yaml:3: ${1} stands for nothing"},
		"placeholder unclosed": {"rules:\n  - reply:\n      - value: {a: 'hi ${1'}\n", "/rules/0/reply/0/value/a", "s.yaml:3: a placeholder is not closed"},
		"value that is a list": {"rules:\n  - reply:\n      - value: [1]\n", "/rules/0/reply/0/value", "s.yaml:3: this must be an object"},
		"kind of failure":      {"rules:\n  - fail: {kind: tired}\n", "/rules/0/fail/kind", "s.yaml:2: unknown kind"},
		"key twice":            {"rules:\n  - fail: {}\n    name: a\n    name: b\n", "/rules/0/name", "s.yaml:4: \"name\" is there twice"},
		"alias":                {"name: &a x\nrules:\n  - fail: {}\n    name: *a\n", "/name", "s.yaml:1: anchors and aliases"},
		"delay below zero":     {"rules:\n  - reply: [{text: a, delayMs: -1}]\n", "/rules/0/reply/0/delayMs", "s.yaml:2: this must be a whole number"},
		"stream":               {"rules:\n  - reply: [{text: a, stream: 1}]\n", "/rules/0/reply/0/stream", "s.yaml:2: this must be true or false"},
		"submitted placeholder": {
			"rules:\n  - fail: {}\n    when: {submitted: {a: '${text}'}}\n", "/rules/0/when/submitted/a", "s.yaml:3: placeholders are not allowed here",
		},
		"empty text": {"rules:\n  - reply: [{text: ''}]\n", "/rules/0/reply/0/text", "s.yaml:2: this must be a text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Parse("s.yaml", []byte(test.source))
			wrong, ok := errors.AsType[*rondo.Error](err)
			if !ok || wrong.Code != rondo.CodeInvalid {
				t.Fatalf("error = %v, want one with code invalid", err)
			}
			for _, field := range wrong.Fields {
				if field.Pointer == test.pointer && strings.Contains(field.Message, test.message) {
					return
				}
			}
			t.Errorf("fields = %+v, want %s: %s", wrong.Fields, test.pointer, test.message)
		})
	}
}

func TestEverythingThatIsWrongIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := scripted.Parse("s.yaml", []byte("rules:\n  - reply: [{txt: a}]\n  - fail: {kind: x, status: y}\n"))
	wrong, _ := errors.AsType[*rondo.Error](err)
	if wrong == nil || len(wrong.Fields) != 3 {
		t.Errorf("error = %+v, want three fields", wrong)
	}
}

func TestLoadReadsJSONToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script.json")
	source := "{\n\t\"name\": \"j\",\n\t\"rules\": [{\"reply\": [{\"text\": \"a\\/b \\ud83d\\ude00 \\\" \\\\\"}]}]\n}\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if script.Name() != "j" {
		t.Errorf("name = %q, want j", script.Name())
	}
	for chunk, err := range scripted.New(script).Send(t.Context(), agent.Session{}, rondo.Activity{Text: "hi"}) {
		if want := `a/b 😀 " \`; err != nil || chunk.Activity.Text != want {
			t.Errorf("it says %+v (%v), want %q", chunk.Activity, err, want)
		}
	}
	if _, err := scripted.Load(path + ".missing"); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("a missing file gives %v, want code invalid", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("rules:\n  - when: {text: '(a)', turn: [1]}\n    reply: [{text: '${1}', value: {a: ['${number:1}', 1.5, null]}}]\n"))
	f.Add([]byte("{\"rules\": [{\"fail\": {\"kind\": \"open\"}}]}"))
	f.Fuzz(func(t *testing.T, source []byte) {
		script, err := scripted.Parse("f", source)
		if (script == nil) == (err == nil) {
			t.Errorf("Parse returns %v and %v, want one of them", script, err)
		}
	})
}
