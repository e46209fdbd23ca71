package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

func TestGoldenInputHashes(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(step("a")))
	for input, want := range map[string]string{
		`{}`:              "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
		`{"a":1,"b":"x"}`: "ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667",
		`{"brief":{"style":"energetic","title":"Summer Sale Campaign"}}`: "31d670b9ddef0ad8e5ab32f9f5733072285635852cd531179e6e0655eeec60a1",
	} {
		if got := w.Key(0, "t", rondo.ID{}, json.RawMessage(input)); got.InputHash != want || len(got.Key) != 64 || got.Uncacheable != "" {
			t.Errorf("Key(%s) = %+v", input, got)
		}
	}
}

// keyedFlow is a workflow in which everything that a key has can be set.
type keyedFlow struct {
	Name, Step, Skill, Type, Config, Schema, Salt, Scope, Tenant, Input, Prompt, Limits string
	Run                                                                                 rondo.ID
	Cache                                                                               string // further members of cache
}

func plainFlow() keyedFlow {
	return keyedFlow{
		Name: "flow", Step: "a", Skill: "write@1", Type: "llm", Config: `{"model":"m1","prompt":"p","system":"s","temperature":0.1,"api":{"url":"u","key":"k"}}`,
		Schema: `{"type":"object"}`, Salt: "one", Scope: "run_only", Tenant: "t", Input: `{"x":1,"y":[2]}`, Prompt: `"kind"`, Limits: `{"max":1}`, Run: rondo.ID{1},
	}
}

func (f keyedFlow) compile(t testing.TB) *Workflow {
	t.Helper()
	return mustCompile(t, `{"name":"`+f.Name+`","version":"1.0.0","steps":[{"id":"`+f.Step+`","skill":"`+f.Skill+`","output_schema":`+f.Schema+
		`,"cache":{"salt":"`+f.Salt+`","scope":"`+f.Scope+`"`+f.Cache+`},"input":{"x":{"trigger":"x"},"y":{"trigger":"y"},"z":{"trigger":"z"},"tone":{"registry":{"prompt":"tone"}},"limits":{"registry":{"config":"limits"}}}}],
		"skills":{"`+f.Skill+`":{"type":"`+f.Type+`","config":`+f.Config+`}},"prompts":{"tone":{"1":`+f.Prompt+`}},"configs":{"limits":{"1":`+f.Limits+`}}}`)
}

func (f keyedFlow) key(t testing.TB) Keyed {
	t.Helper()
	w := f.compile(t)
	input, err := w.Resolve(0, Sources{Trigger: json.RawMessage(f.Input)})
	if err != nil {
		t.Fatal(err)
	}
	return w.Key(0, f.Tenant, f.Run, input)
}

func TestEachComponentIsInTheKeyAndNamedByTheDiff(t *testing.T) {
	t.Parallel()
	base := plainFlow().key(t)
	keys := map[string]string{base.Key: "base"}
	for _, tc := range []struct {
		name   string
		change func(*keyedFlow)
		names  []string
		reason string
	}{
		{"tenant", func(f *keyedFlow) { f.Tenant = "u" }, []string{"scope"}, "first_run"},
		{"workflow", func(f *keyedFlow) { f.Name = "flow2" }, []string{"scope"}, "first_run"},
		{"step", func(f *keyedFlow) { f.Step = "b" }, []string{"scope"}, "first_run"},
		{"run", func(f *keyedFlow) { f.Run = rondo.ID{2} }, []string{"run"}, "first_run(run_only)"},
		{"skill version", func(f *keyedFlow) { f.Skill = "write@2" }, []string{"skill"}, "skill_changed"},
		{"config", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, "0.1", "0.2", 1) }, []string{"config.temperature"}, "config_changed(temperature)"},
		{"nested config", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, `"u"`, `"v"`, 1) }, []string{"config.api.url"}, "config_changed(api.url)"},
		{"further config", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, `{"model"`, `{"top":1,"model"`, 1) }, []string{"config.top"}, "config_changed(top)"},
		{"model", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, "m1", "m2", 1) }, []string{"model"}, "config_changed(model)"},
		{"no model", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, `"model":"m1",`, "", 1) }, []string{"model"}, "config_changed(model)"},
		{"prompt of the skill", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, `"p"`, `"q"`, 1) }, []string{"prompt.prompt"}, "prompt_changed(prompt)"},
		{"system prompt", func(f *keyedFlow) { f.Config = strings.Replace(f.Config, `"s"`, `"r"`, 1) }, []string{"prompt.system"}, "prompt_changed(system)"},
		{"prompt of the registry", func(f *keyedFlow) { f.Prompt = `"rude"` }, []string{"prompt.input.tone"}, "prompt_changed(tone)"},
		{"config of the registry", func(f *keyedFlow) { f.Limits = `{"max":2}` }, []string{"config.input.limits"}, "config_changed(limits)"},
		{"output schema", func(f *keyedFlow) { f.Schema = `{"type":"string"}` }, []string{"output_schema"}, "config_changed(output_schema)"},
		{"salt", func(f *keyedFlow) { f.Salt = "two" }, []string{"salt"}, "salt_rotated"},
		{"no salt", func(f *keyedFlow) { f.Salt = "" }, []string{"salt"}, "salt_rotated"},
		{"input", func(f *keyedFlow) { f.Input = `{"x":2,"y":[2]}` }, []string{"input.x"}, "input_changed(x)"},
		{"input gone", func(f *keyedFlow) { f.Input = `{"x":1}` }, []string{"input.y"}, "input_changed(y)"},
		{"input more", func(f *keyedFlow) { f.Input = `{"x":1,"y":[2],"z":null}` }, []string{"input.z"}, "input_changed(z)"},
		{"input and salt", func(f *keyedFlow) { f.Input, f.Salt = `{"x":2,"y":[2]}`, "" }, []string{"input.x", "salt"}, "salt_rotated"},
		{"input and skill", func(f *keyedFlow) { f.Input, f.Skill = `{"x":2,"y":[2]}`, "write@2" }, []string{"input.x", "skill"}, "skill_changed"},
	} {
		f := plainFlow()
		tc.change(&f)
		got := f.key(t)
		if other, taken := keys[got.Key]; taken {
			t.Errorf("%s: the key is that of %s", tc.name, other)
		}
		keys[got.Key] = tc.name
		var names []string
		for _, d := range Diff(base.Manifest, got.Manifest) {
			names = append(names, d.Name)
		}
		if diff := cmp.Diff(tc.names, names); diff != "" {
			t.Errorf("%s: components (-want +got):\n%s", tc.name, diff)
		}
		if reason := WhyRun(got.Manifest, &base.Manifest); reason.String() != tc.reason {
			t.Errorf("%s: reason %s, want %s", tc.name, reason, tc.reason)
		}
	}
	if len(Diff(base.Manifest, plainFlow().key(t).Manifest)) != 0 {
		t.Error("a manifest differs from itself")
	}
}

// Also what manifests do not tell apart is in the key.
func TestKeysTellMoreThanManifests(t *testing.T) {
	t.Parallel()
	base := plainFlow()
	base.Type = "exec" // model and prompts are members like others
	other := base
	other.Type = "http"
	if base.key(t).Key == other.key(t).Key {
		t.Error("the type of the skill is not in the key")
	}
	wide := func(last string) keyedFlow {
		f := base
		f.Config = `{"list":[` + strings.Repeat(`1,`, 50) + last + `]`
		for i := range 30 {
			f.Config += `,"` + name(i) + `":` + last
		}
		f.Config += `}`
		return f
	}
	a, b := wide("1").key(t), wide("2").key(t)
	if diff := Diff(a.Manifest, b.Manifest); a.Key == b.Key || len(diff) != 1 || diff[0].Name != "config" {
		t.Errorf("a wide config: %v", diff)
	}
}

func TestKeysDoNotDependOnTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, one(step("a")))
	rapid.Check(t, func(t *rapid.T) {
		members := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			members[rapid.StringOf(rapid.SampledFrom([]rune("ab\"\\\n😀\ufb33é"))).Draw(t, "name")] = drawJSON(t, 2)
		}
		names := rapid.Permutation(sortedKeys(members)).Draw(t, "order")
		var parts []string
		for _, name := range names {
			parts = append(parts, asJSON(name)+" : "+asJSON(members[name]))
		}
		shuffled := w.Key(0, "t", rondo.ID{}, json.RawMessage("{"+strings.Join(parts, " ,")+"}"))
		sorted := w.Key(0, "t", rondo.ID{}, json.RawMessage(asJSON(members)))
		if diff := cmp.Diff(sorted, shuffled); diff != "" || sorted.Key == "" {
			t.Fatalf("%v (-sorted +shuffled):\n%s", names, diff)
		}
		if len(sorted.Manifest.Components) != len(members)+2 {
			t.Fatalf("%d components of %d members", len(sorted.Manifest.Components), len(members))
		}
		back, err := DecodeManifest(sorted.Manifest.Encode())
		if diff := cmp.Diff(sorted.Manifest, back); err != nil || diff != "" {
			t.Fatalf("manifest, written and read: %v\n%s", err, diff)
		}
	})
}

// The key is the digest of a canonical document that has all it must have.
func TestKeyIsTheDigestOfItsDocument(t *testing.T) {
	t.Parallel()
	f := plainFlow()
	w := f.compile(t)
	const input = `{"limits":{"max":1},"tone":"kind","x":1,"y":[2]}`
	document, _ := w.keyDocument(0, "t\"enant", f.Run, []byte(input))
	canonical, err := canon.JSON(document)
	if err != nil || string(canonical) != string(document) {
		t.Fatalf("not canonical: %v\n%s\n%s", err, document, canonical)
	}
	var got map[string]any
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	want := map[string]any{
		"v": 1.0, "tenant": "t\"enant", "workflow": "flow", "step": "a", "skill": "write@1", "skill_type": "llm", "salt": "one", "run": f.Run.String(),
		"model": digest(`"m1"`), "prompts": map[string]any{"prompt": digest(`"p"`), "system": digest(`"s"`)},
		"config": digest(`{"api":{"key":"k","url":"u"},"temperature":0.1}`), "output_schema": digest(`{"type":"object"}`),
		"inputs": map[string]any{"limits": digest(`{"max":1}`), "tone": digest(`"kind"`), "x": digest(`1`), "y": digest(`[2]`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if key := w.Key(0, "t\"enant", f.Run, json.RawMessage(input)); key.Key != digest(string(document)) {
		t.Errorf("key %s", key.Key)
	}
}

func TestIgnoredMembersAreNotInTheKey(t *testing.T) {
	t.Parallel()
	f := plainFlow()
	f.Cache = `,"ignore":["x"]`
	a := f.key(t)
	f.Input = `{"x":99,"y":[2]}`
	b := f.key(t)
	if a.Key != b.Key || a.InputHash == b.InputHash || len(Diff(a.Manifest, b.Manifest)) != 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestRunsShareResultsUnlessTheStepIsRunOnly(t *testing.T) {
	t.Parallel()
	for scope, shared := range map[string]bool{"global": true, "run_only": false} {
		f := plainFlow()
		f.Scope = scope
		a := f.key(t)
		f.Run = rondo.ID{7}
		if b := f.key(t); (a.Key == b.Key) != shared {
			t.Errorf("%s: shared = %t", scope, !shared)
		}
	}
}

func TestWhatCannotBeCanonicalisedHasNoKey(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, readingStep(`{"trigger":"v"}`))
	for value, says := range map[string]string{
		`9007199254740993`:                      "input /x: ",
		`"\ud800"`:                              "surrogate",
		`{"canary":1,"canary":2}`:               "twice",
		`1e999`:                                 "too large",
		`{"merged":{"a":18446744073709551615}}`: "/x/merged/a",
	} {
		input, err := w.Resolve(1, Sources{Trigger: json.RawMessage(`{"v":` + value + `}`)})
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		got := w.Key(1, "t", rondo.ID{}, input)
		if got.Key != "" || got.InputHash != "" || len(got.Manifest.Components) > 0 || !strings.Contains(got.Uncacheable, says) {
			t.Errorf("%s: %+v does not say %q", value, got, says)
		}
	}
	for _, input := range []string{``, `[]`, `null`, `{`, `{"a":NaN}`} {
		if got := w.Key(1, "t", rondo.ID{}, json.RawMessage(input)); got.Key != "" || got.Uncacheable == "" {
			t.Errorf("%q: %+v", input, got)
		}
	}
	if got := w.Key(1, "\xff", rondo.ID{}, json.RawMessage(`{}`)); got.Key != "" || got.Uncacheable == "" {
		t.Errorf("a tenant that is not UTF-8: %+v", got)
	}
	f := plainFlow()
	f.Cache = `,"enabled":false`
	if got := f.key(t); got.Key != "" || got.Uncacheable != KeyDisabled || got.InputHash == "" || len(got.Manifest.Components) == 0 {
		t.Errorf("disabled: %+v", got)
	}
}

func TestPreviewsAreShortAndShowNoSecrets(t *testing.T) {
	t.Parallel()
	f := plainFlow()
	f.Config = `{"api_key":"canary","headers":{"Authorization":"canary","accept":"` + strings.Repeat("ö", 100) + `"},"list":["monkey",1],"deep":[{"api_key":"canary"}],"auth_token":{"v":"canary"},"n":5,"model":"m"}`
	f.Input = `{"x":{"password":"canary"},"y":"` + strings.Repeat("😀", 100) + `"}`
	got := f.key(t)
	previews := map[string]string{}
	for _, c := range got.Manifest.Components {
		previews[c.Name] = c.Preview
		if n := len([]rune(c.Preview)); n > maxPreview || strings.Contains(c.Preview, "canary") || len(c.Digest) != shortDigest {
			t.Errorf("%+v", c)
		}
	}
	for component, want := range map[string]string{
		"config.n": "5", "config.api_key": "", "config.headers.Authorization": "", "config.headers.accept": `"` + strings.Repeat("ö", 38) + "…",
		"config.list": `["monkey",1]`, "config.deep": "list, 22 bytes, 877b2ad7", "input.x": "object, 21 bytes, 8d665908", "model": `"m"`, "skill": "write@1",
	} {
		if got, ok := previews[component]; !ok || got != want {
			t.Errorf("preview of %s is %q, %t; want %q", component, got, ok, want)
		}
	}
}

func TestManifestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if _, err := DecodeManifest(json.RawMessage(`[`)); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
		t.Errorf("DecodeManifest: %v", err)
	}
	if m, err := DecodeManifest(nil); err != nil || m.Encode() != nil {
		t.Errorf("nothing is %v, %v", m, err)
	}
}

func BenchmarkKey(b *testing.B) {
	f := plainFlow()
	w := f.compile(b)
	input := json.RawMessage(`{"limits":{"max":1},"tone":"kind","x":{"title":"Summer Sale Campaign","style":"energetic"},"y":[2,3,4]}`)
	b.ReportAllocs()
	for b.Loop() {
		if w.Key(0, "tenant", f.Run, input).Key == "" {
			b.Fatal("no key")
		}
	}
}
