package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func TestCompileNamesEveryProblem(t *testing.T) {
	t.Parallel()
	reading := func(selector string) string {
		return one(step("a"), step("b"), `{"id":"c","skill":"simulated.work@1","depends_on":["a"],"input":{"x":`+selector+`}}`)
	}
	const at = " /steps/2/input/x"
	for _, tc := range []struct {
		name, document string
		want           []string
		says           string
	}{
		{"no steps", one(), []string{"steps_missing /steps"}, "at least one"},
		{"unknown dependency", one(step("a", "b-c"), step("b_c")), []string{"target_unknown /steps/0/depends_on/0"}, `is it "b_c"?`},
		{"repeated id", one(step("a"), step("a")), []string{"step_repeated /steps/1/id"}, "step 0 already"},
		{"repeated dependency", one(step("a"), step("b", "a", "a")), []string{"step_repeated /steps/1/depends_on"}, "twice"},
		{"waits for itself", one(step("a", "a")), []string{"cycle /steps/0/depends_on"}, "(a → a)"},
		{"circle of two", one(step("a", "b"), step("b", "a")), []string{"cycle /steps/0/depends_on"}, "(a → b → a)"},
		{"circle before others", one(step("d", "c"), step("a", "b"), step("b", "c"), step("c", "a")), []string{"cycle /steps/3/depends_on"}, "(c → a → b → c)"},
		{"two circles", one(step("a", "b"), step("b", "a"), step("c", "d"), step("d", "c")), []string{"cycle /steps/0/depends_on", "cycle /steps/2/depends_on"}, "circle"},
		{"unknown skill", one(`{"id":"a","skill":"mix@2"}`), []string{"skill_unknown /steps/0/skill"}, "mix@2"},
		{"unknown skill twice", one(`{"id":"a","skill":"mix@2"}`, `{"id":"b","skill":"mix@2"}`), []string{"skill_unknown /steps/0/skill", "skill_unknown /steps/1/skill"}, "mix@2"},
		{"step outside the dependencies", reading(`{"step":"b"}`), []string{"path_never_produced" + at + "/step"}, "add it to depends_on"},
		{"own output", reading(`{"step":"c"}`), []string{"path_never_produced" + at + "/step"}, "own output"},
		{"step that is not there", reading(`{"step":"z"}`), []string{"target_unknown" + at + "/step"}, "no step"},
		{"unknown word", reading(`{"exec":"rm"}`), []string{"selector_invalid" + at}, "exactly one of"},
		{"two words", reading(`{"const":1,"trigger":"a"}`), []string{"selector_invalid" + at}, "exactly one of"},
		{"null", reading(`null`), []string{"selector_invalid" + at}, "object"},
		{"member that does not belong", reading(`{"const":1,"path":"a"}`), []string{"unknown_member" + at + "/path"}, "remove"},
		{"bad path", reading(`{"trigger":"a..b"}`), []string{"path_invalid" + at + "/trigger"}, "without a name"},
		{"empty path", reading(`{"trigger":""}`), []string{"wrong_type" + at + "/trigger"}, "string"},
		{"merge of nothing", reading(`{"merge":[]}`), []string{"selector_invalid" + at + "/merge"}, "list"},
		{"bad part of a merge", reading(`{"merge":[{"const":{}},{"step":"b"}]}`), []string{"path_never_produced" + at + "/merge/1/step"}, "depend"},
		{"pick without keys", reading(`{"pick":{"from":{"const":{}}}}`), []string{"selector_invalid" + at + "/pick"}, "keys"},
		{"deep selector", reading(strings.Repeat(`{"merge":[`, 10) + `{"const":{}}` + strings.Repeat(`]}`, 10)), []string{"selector_invalid" + at + strings.Repeat("/merge/0", 9)}, "deep"},
		{"unknown prompt", reading(`{"registry":{"prompt":"tone","version":"1"}}`), []string{"registry_unknown" + at + "/registry"}, `no prompt "tone"`},
		{"registry of nothing", reading(`{"registry":{"version":"1"}}`), []string{"selector_invalid" + at + "/registry"}, "prompt"},
		{"member without a name", one(`{"id":"a","skill":"simulated.work@1","input":{"":1,"a/b":{"const":1,"x":2}}}`), []string{"selector_invalid /steps/0/input/", "unknown_member /steps/0/input/a~1b/x"}, "object"},
		{"input that is a list", one(`{"id":"a","skill":"simulated.work@1","input":[]}`), []string{"wrong_type /steps/0/input"}, "object"},
		{"bad schema", one(`{"id":"a","skill":"simulated.work@1","output_schema":{"type":"number of things"}}`), []string{"schema_invalid /steps/0/output_schema"}, "JSON Schema"},
		{"schema from elsewhere", one(`{"id":"a","skill":"simulated.work@1","output_schema":{"$ref":"http://example.com/x"}}`), []string{"schema_invalid /steps/0/output_schema"}, "stands alone"},
		{"times out of range", one(`{"id":"a","skill":"simulated.work@1","timeout":"soon","retry":{"backoff":"1ms","max_attempts":11},"cache":{"ttl":"0s"}}`), []string{"out_of_range /steps/0/timeout", "out_of_range /steps/0/cache/ttl", "out_of_range /steps/0/retry/max_attempts", "out_of_range /steps/0/retry/backoff"}, "write e.g."},
		{"change with an unknown seed", `{"name":"a","version":"1.0.0","steps":[` + step("a") + `],"changes":{"x.update":["a","b"]}}`, []string{"target_unknown /changes/x.update/1"}, "no step"},
		{"several at once", one(step("a", "zzz"), `{"id":"b","skill":"mix@2"}`), []string{"target_unknown /steps/0/depends_on/0", "skill_unknown /steps/1/skill"}, "zzz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w, err := Compile([]byte(tc.document), server{})
			if w != nil || rondo.CodeOf(err) != rondo.CodeInvalidDef {
				t.Fatalf("Compile = %v, %v", w, err)
			}
			if diff := cmp.Diff(tc.want, problemsOf(err)); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, err)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
		})
	}
}

func TestCompileRefusesWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for _, document := range []string{``, `[]`, `{"steps":[{"id":1}]}`, `{"a":1,"a":2}`, `{"steps":{}}`, one(`{"id":"a","skill":"simulated.work@1","timeout":5}`)} {
		if w, err := Compile([]byte(document), nil); w != nil || rondo.CodeOf(err) != rondo.CodeInvalidDef {
			t.Errorf("Compile(%s) = %v, %v", document, w, err)
		}
	}
	if _, err := Compile([]byte(one(step("a"))), nil); rondo.CodeOf(err) != rondo.CodeInvalidDef {
		t.Errorf("without an environment there is no skill, got %v", err)
	}
}

func TestACircleOf10000IsNamedInShort(t *testing.T) {
	t.Parallel()
	steps := make([]string, 10_000)
	for i := range steps {
		steps[i] = step(name(i), name((i+1)%len(steps)))
	}
	_, err := Compile([]byte(one(steps...)), server{})
	if err == nil || !strings.Contains(err.Error(), "s0 → s1 → ") || !strings.Contains(err.Error(), "(9980 more) → s0)") || len(err.Error()) > 1000 {
		t.Errorf("error %.300v", err)
	}
}

func TestManyProblemsAreCountedAndSomeListed(t *testing.T) {
	t.Parallel()
	steps := make([]string, 500)
	for i := range steps {
		steps[i] = step(name(i), "nowhere")
	}
	_, err := Compile([]byte(one(steps...)), server{})
	if got := problemsOf(err); len(got) != 100 || !strings.Contains(err.Error(), "500 problems") {
		t.Errorf("%d listed: %.200v", len(got), err)
	}
}

func TestCompileReadsWhatAStepSays(t *testing.T) {
	t.Parallel()
	w := mustCompileIn(t, `{"name":"campaign.build.v1","version":"1.2.0","steps":[
		{"id":"a","skill":"mix@2","class":"llm","cache":{"enabled":false,"scope":"run_only","ttl":"720h","ignore":["level"],"salt":"s"},
		 "retry":{"max_attempts":2,"backoff":"1s"},"timeout":"5m","input":{"p":{"registry":{"prompt":"tone"}},"c":{"registry":{"config":"limits","version":"3"}}}},
		{"id":"b","skill":"mix@2","depends_on":["a"]},
		{"id":"c","skill":"simulated.x@1","depends_on":["b"],"input":{"far":{"step":"a","path":"artifacts[0].uri"}}}],
		"skills":{"mix@2":{"type":"exec","config":{"command":"mix"}}},"prompts":{"tone":{"1":"be kind"}}}`,
		server{skills: map[string]SkillSpec{"mix@2": {Type: "http"}}, configs: map[string]string{"limits 3": `{ "b":1, "a":2 }`}})
	a, b := w.Steps[0], w.Steps[1]
	if a.Cached || !a.RunOnly || a.TTL != 720*time.Hour || a.Salt != "s" || a.MaxAttempts != 2 || a.Backoff != time.Second || a.Timeout != 5*time.Minute || a.Class != "llm" {
		t.Errorf("a = %+v", a)
	}
	if !b.Cached || b.RunOnly || b.TTL != 0 || b.MaxAttempts != 5 || b.Backoff != 3*time.Second || b.Timeout != 0 {
		t.Errorf("defaults: %+v", b)
	}
	if spec, ok := w.SkillOf(0); !ok || spec.Type != "exec" {
		t.Errorf("the file's own skill comes first, got %v, %t", spec, ok)
	}
	input, err := w.Resolve(0, Sources{})
	if err != nil || string(input) != `{"c":{"a":2,"b":1},"p":"be kind"}` {
		t.Errorf("Resolve = %s, %v", input, err)
	}
	if w.Hash == "" || w.Name != "campaign.build.v1" || w.Version != "1.2.0" {
		t.Errorf("%s %s %s", w.Name, w.Version, w.Hash)
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, `{"name":"a","version":"1.0.0","input_schema":{"type":"object","required":["brief"],"properties":{"n":{"type":"integer","minimum":1}}},
		"steps":[{"id":"a","skill":"simulated.work@1","output_schema":{"type":"object","required":["uri"]}},`+step("b")+`]}`)
	for payload, want := range map[string]string{
		`{"brief":1,"n":2}`:  "",
		`{"n":2}`:            "schema ",
		`{"brief":1,"n":0}`:  "schema /n",
		`{"brief":1,"n":""}`: "schema /n",
		`[]`:                 "-",
		``:                   "-",
		`{`:                  "invalid_json ",
	} {
		err := w.ValidateInput([]byte(payload))
		if want == "" {
			if err != nil {
				t.Errorf("ValidateInput(%s): %v", payload, err)
			}
			continue
		}
		if rondo.CodeOf(err) != rondo.CodeInvalid || want != "-" && fmt.Sprint(problemsOf(err)) != "["+want+"]" {
			t.Errorf("ValidateInput(%s) = %v %v, want %s", payload, err, problemsOf(err), want)
		}
	}
	if err := w.ValidateOutput(0, []byte(`{"uri":"x"}`)); err != nil {
		t.Error(err)
	}
	for _, data := range []string{`{}`, ``, `7`} {
		if err := w.ValidateOutput(0, []byte(data)); rondo.CodeOf(err) != rondo.CodeSkillError {
			t.Errorf("ValidateOutput(%s) = %v", data, err)
		}
	}
	if err := w.ValidateOutput(1, nil); err != nil {
		t.Errorf("without a schema everything goes: %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(chain(3)))
	f.Add([]byte(fan(2)))
	f.Add([]byte(one(step("a", "b"), step("b", "a"))))
	f.Add([]byte(`{"name":"a","version":"1","steps":[{"id":"a","skill":"simulated.x@1","input":{"x":{"merge":[{"trigger":"$"},{"pick":{"from":{"base":"a"},"keys":["b"]}}]}},"raise":{"event_type":"ext.a","case_id":{"step":"a"}}}],"changes":{"x":"*"}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		w, err := Compile(document, server{})
		if err != nil {
			if rondo.CodeOf(err) != rondo.CodeInvalidDef {
				t.Fatalf("Compile: %v", err)
			}
			return
		}
		if len(w.order) != len(w.Steps) {
			t.Fatalf("%d of %d steps are in order", len(w.order), len(w.Steps))
		}
		for i := range w.Steps {
			input, err := w.Resolve(i, Sources{Trigger: []byte(`{"a":{"b":[1,2]}}`), Step: func(int) (Output, bool) { return Output{Data: []byte(`{"b":1}`)}, true }})
			if err != nil {
				if rondo.CodeOf(err) != rondo.CodeInputSelector {
					t.Fatal(err)
				}
				continue
			}
			if k := w.Key(i, "t", rondo.ID{}, input); (k.Key == "") == (k.Uncacheable == "") {
				t.Fatalf("neither key nor reason, or both: %+v", k)
			}
		}
	})
}
