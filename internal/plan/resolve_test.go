package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// readingStep is a workflow whose step b reads x by a selector.
func readingStep(selector string) string {
	return one(step("a"), `{"id":"b","skill":"simulated.work@1","depends_on":["a"],"input":{"x":`+selector+`}}`)
}

func sources() Sources {
	return Sources{
		Trigger: json.RawMessage(` {"brief":{"title":"Sale","tags":["x",["y"]],"none":null,"a.b":1},"twice":1,"twice":2,"\u00e9":"é"} `),
		Change:  &rondo.ChangeRequest{Type: "audio.update", Payload: json.RawMessage(`{"mood":"calm"}`)},
		Step: func(int) (Output, bool) {
			return Output{
				Data: json.RawMessage(`{"uri":"u","n":1}`),
				Artifacts: []rondo.Artifact{
					{ID: rondo.ID{1}, RunID: rondo.ID{2}, Type: "image/png", Filename: "a.png", URI: "blob:1", ContentHash: "h", Size: 3, Metadata: json.RawMessage(`{"w":1}`)},
					{ID: rondo.ID{3}, Type: "text/plain", URI: "https://x", Size: -1},
				},
			}, true
		},
		Base: func(id string) (Output, bool) {
			return Output{Data: json.RawMessage(`{"from":"base"}`)}, id == "a"
		},
	}
}

func TestSelectorsFind(t *testing.T) {
	t.Parallel()
	const artifacts = `[{"type":"image/png","name":"a.png","uri":"blob:1","hash":"h","size":3,"metadata":{"w":1}},{"type":"text/plain","uri":"https://x"}]`
	for selector, want := range map[string]string{ // "" = the member is left out
		`{"trigger":"brief.title"}`:               `"Sale"`,
		`{"trigger":"brief.tags[1][0]"}`:          `"y"`,
		`{"trigger":"$.brief.tags[0]"}`:           `"x"`,
		`{"trigger":"brief.none"}`:                `null`,
		`{"trigger":"é"}`:                         `"é"`,
		`{"trigger":"twice"}`:                     `2`,
		`{"trigger":"brief.tags[2]"}`:             ``,
		`{"trigger":"brief.title.more"}`:          ``,
		`{"trigger":"brief.title[0]"}`:            ``,
		`{"trigger":"brief[0]"}`:                  ``,
		`{"trigger":"nothing"}`:                   ``,
		`{"const":{"b":1,"a":[2]}}`:               `{"a":[2],"b":1}`,
		`{"step":"a","path":"data.uri"}`:          `"u"`,
		`{"step":"a","path":"data"}`:              `{"uri":"u","n":1}`,
		`{"step":"a","path":"artifacts"}`:         artifacts,
		`{"step":"a","path":"artifacts[1].uri"}`:  `"https://x"`,
		`{"step":"a","path":"artifacts[1].size"}`: ``,
		`{"step":"a","path":"status"}`:            ``,
		`{"step":"a"}`:                            `{"artifacts":` + artifacts + `,"data":{"uri":"u","n":1}}`,
		`{"step":"a","path":"$"}`:                 `{"artifacts":` + artifacts + `,"data":{"uri":"u","n":1}}`,
		`{"base":"a","path":"data.from"}`:         `"base"`,
		`{"base":"gone","path":"data.from"}`:      ``,
		`{"change":"type"}`:                       `"audio.update"`,
		`{"change":"payload.mood"}`:               `"calm"`,
		`{"change":"$"}`:                          `{"type":"audio.update","payload":{"mood":"calm"}}`,
		`{"merge":[{"step":"a","path":"data"},{"trigger":"x"},{"const":{"n":2,"z":0}}]}`: `{"n":2,"uri":"u","z":0}`,
		`{"merge":[{"trigger":"x"},{"change":"payload.x"}]}`:                             ``,
		`{"pick":{"from":{"step":"a","path":"data"},"keys":["n","gone"]}}`:               `{"n":1}`,
		`{"pick":{"from":{"trigger":"gone"},"keys":["n"]}}`:                              ``,
	} {
		w := mustCompile(t, readingStep(selector))
		got, err := w.Resolve(1, sources())
		if want = `{"x":` + want + `}`; want == `{"x":}` {
			want = `{}`
		}
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", selector, got, err, want)
		}
	}
}

func TestSelectorsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ selector, trigger, says string }{
		{`{"merge":[{"trigger":"brief.title"}]}`, `{"brief":{"title":"canary"}}`, "merge needs objects"},
		{`{"merge":[{"const":null}]}`, `{}`, "merge needs objects"},
		{`{"pick":{"from":{"trigger":"brief"},"keys":["a"]}}`, `{"brief":["canary"]}`, "pick needs objects"},
		{`{"trigger":"brief.title"}`, `{"brief":{"title":"canary"`, "not JSON"},
		{`{"trigger":"brief"}`, `{"brief":canary}`, "not JSON"},
		{`{"trigger":"$"}`, `{"brief":1}canary`, "not JSON"},
		{`{"merge":[{"trigger":"$"}]}`, `{"brief":canary}`, "not JSON"},
	} {
		w := mustCompile(t, readingStep(tc.selector))
		got, err := w.Resolve(1, Sources{Trigger: json.RawMessage(tc.trigger)})
		if rondo.CodeOf(err) != rondo.CodeInputSelector || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "step b") {
			t.Errorf("%s of %s = %s, %v", tc.selector, tc.trigger, got, err)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}

func TestWithoutSourcesNothingIsFound(t *testing.T) {
	t.Parallel()
	for _, selector := range []string{`{"trigger":"$"}`, `{"change":"type"}`, `{"base":"a"}`, `{"step":"a"}`} {
		if got, err := mustCompile(t, readingStep(selector)).Resolve(1, Sources{}); err != nil || string(got) != `{}` {
			t.Errorf("%s = %s, %v", selector, got, err)
		}
	}
}

// An output that is equal but for ids and times makes an equal input and hash.
func TestIdsAndTimesDoNotShow(t *testing.T) {
	t.Parallel()
	w := mustCompile(t, readingStep(`{"step":"a"}`))
	artifact := rondo.Artifact{Type: "image/png", ContentHash: "h", Filename: "f", URI: "blob:h"}
	other := artifact
	other.ID, other.RunID, other.StepID, other.TenantID = rondo.ID{9}, rondo.ID{8}, "z", "t"
	var inputs, hashes []string
	for _, a := range []rondo.Artifact{artifact, other} {
		out := Output{Data: json.RawMessage(`1`), Artifacts: []rondo.Artifact{a}}
		input, err := w.Resolve(1, Sources{Step: func(int) (Output, bool) { return out, true }})
		if err != nil {
			t.Fatal(err)
		}
		inputs, hashes = append(inputs, string(input)), append(hashes, OutputHash(out.Data, out.Artifacts))
	}
	if inputs[0] != inputs[1] || hashes[0] != hashes[1] {
		t.Errorf("inputs %v, hashes %v", inputs, hashes)
	}
}

func TestOutputHash(t *testing.T) {
	t.Parallel()
	artifact := func(change func(*rondo.Artifact)) []rondo.Artifact {
		a := rondo.Artifact{Type: "image/png", ContentHash: "h", Filename: "f", URI: "u", Metadata: json.RawMessage(`{"a":1,"b":2}`)}
		change(&a)
		return []rondo.Artifact{a}
	}
	none := func(*rondo.Artifact) {}
	data := json.RawMessage(`{"a":1,"b":2}`)
	base := OutputHash(data, artifact(none))
	for name, same := range map[string]string{
		"order of members":  OutputHash(json.RawMessage(` {"b":2, "a":1.0} `), artifact(none)),
		"order in metadata": OutputHash(data, artifact(func(a *rondo.Artifact) { a.Metadata = json.RawMessage(`{"b":2,"a":1}`) })),
		"uri of bytes":      OutputHash(data, artifact(func(a *rondo.Artifact) { a.URI = "elsewhere" })),
	} {
		if same != base {
			t.Errorf("%s makes a difference", name)
		}
	}
	seen := map[string]string{base: "base"}
	for name, hash := range map[string]string{
		"data":            OutputHash(json.RawMessage(`{"a":2,"b":2}`), artifact(none)),
		"no data":         OutputHash(nil, artifact(none)),
		"null":            OutputHash(json.RawMessage(`null`), artifact(none)),
		"no artifact":     OutputHash(data, nil),
		"type":            OutputHash(data, artifact(func(a *rondo.Artifact) { a.Type = "x" })),
		"name":            OutputHash(data, artifact(func(a *rondo.Artifact) { a.Filename = "x" })),
		"content":         OutputHash(data, artifact(func(a *rondo.Artifact) { a.ContentHash = "x" })),
		"content outside": OutputHash(data, artifact(func(a *rondo.Artifact) { a.ContentHash = "" })),
		"metadata":        OutputHash(data, artifact(func(a *rondo.Artifact) { a.Metadata = nil })),
		"not canonical":   OutputHash(json.RawMessage(`9007199254740993`), nil),
		"nor this":        OutputHash(json.RawMessage(`9007199254740992`), nil),
	} {
		if other, taken := seen[hash]; taken || len(hash) != 64 {
			t.Errorf("%s has the hash of %s: %s", name, other, hash)
		}
		seen[hash] = name
	}
}

func TestRaise(t *testing.T) {
	t.Parallel()
	raising := func(raise string) *Workflow {
		return mustCompile(t, one(step("a"), `{"id":"b","skill":"simulated.work@1","depends_on":["a"],"raise":`+raise+`}`))
	}
	out := Output{Data: json.RawMessage(`{"uri":"built"}`)}
	s := Sources{Trigger: json.RawMessage(`{"case":"c1","n":7}`), Step: func(int) (Output, bool) { return Output{Data: json.RawMessage(`1`)}, true }}
	w := raising(`{"event_type":"ext.built","case_id":{"trigger":"case"},"payload":{"merge":[{"step":"b","path":"data"},{"const":{"n":1}}]}}`)
	id, payload, err := w.ResolveRaise(1, s, out)
	if id != "c1" || string(payload) != `{"n":1,"uri":"built"}` || err != nil || w.Steps[1].Raise.EventType != "ext.built" {
		t.Errorf("ResolveRaise = %s, %s, %v", id, payload, err)
	}
	id, payload, err = raising(`{"event_type":"ext.built","case_id":{"trigger":"case"}}`).ResolveRaise(1, s, out)
	if id != "c1" || string(payload) != `{}` || err != nil {
		t.Errorf("without a payload: %s, %s, %v", id, payload, err)
	}
	for _, raise := range []string{
		`{"event_type":"ext.built","case_id":{"trigger":"gone"}}`,
		`{"event_type":"ext.built","case_id":{"trigger":"n"}}`,
		`{"event_type":"ext.built","case_id":{"merge":[{"trigger":"n"}]}}`,
		`{"event_type":"ext.built","case_id":{"trigger":"case"},"payload":{"merge":[{"trigger":"n"}]}}`,
	} {
		if _, _, err := raising(raise).ResolveRaise(1, s, out); rondo.CodeOf(err) != rondo.CodeInputSelector {
			t.Errorf("%s: %v", raise, err)
		}
	}
	if _, _, err := mustCompile(t, one(step("a"))).ResolveRaise(0, s, out); rondo.CodeOf(err) != rondo.CodeInternal {
		t.Errorf("a step without raise: %v", err)
	}
}

func TestPathsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", ".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", "a[+1]", "a[1", "a]b", "[0]a", "$.", "a[99999999999]", strings.Repeat("a.", 64) + "a"} {
		if way, err := parsePath(text); err == nil {
			t.Errorf("parsePath(%q) = %v", text, way)
		}
	}
	for text, want := range map[string]path{
		"$": {}, "$a": {{name: "$a"}}, "$.a": {{name: "a"}}, "$[1]": {{index: 1}}, "[0][1].a-b": {{}, {index: 1}, {name: "a-b"}}, "ö ä": {{name: "ö ä"}},
	} {
		got, err := parsePath(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pathPart{})); err != nil || diff != "" {
			t.Errorf("parsePath(%q): %v (-want +got)\n%s", text, err, diff)
		}
	}
}

// naive follows a path through decoded JSON.
func naive(value any, way path) (any, bool) {
	for _, part := range way {
		if part.name != "" {
			object, _ := value.(map[string]any)
			var ok bool
			if value, ok = object[part.name]; !ok {
				return nil, false
			}
			continue
		}
		list, _ := value.([]any)
		if part.index >= len(list) {
			return nil, false
		}
		value = list[part.index]
	}
	return value, true
}

func checkFind(t interface{ Fatalf(string, ...any) }, raw []byte, way path) {
	found, broken := find(raw, way)
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return // it only must not panic
	}
	want, ok := naive(value, way)
	if broken || ok != (found != nil) {
		t.Fatalf("find(%s, %v) = %s, broken %t; want %v, %t", raw, way, found, broken, want, ok)
	}
	if !ok {
		return
	}
	var got any
	if err := json.Unmarshal(found, &got); err != nil || !cmp.Equal(want, got) {
		t.Fatalf("find(%s, %v) = %s, want %v", raw, way, found, want)
	}
}

func FuzzResolvePath(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":"\"}"}]}}`), "a.b[1].c")
	f.Add([]byte(` [ {"\u0061" : [ ] } , 2 ] `), "[0].a")
	f.Add([]byte(`{"a":1,"a":{"b":2}}`), "a.b")
	f.Add([]byte(`{"a`), "a")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		if way, err := parsePath(text); err == nil {
			checkFind(t, raw, way)
		}
	})
}

func TestPathsFindWhatIsThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.MarshalIndent(drawJSON(t, 4), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		var way path
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "member") {
				way = append(way, pathPart{name: rapid.SampledFrom(someNames).Draw(t, "name")})
			} else {
				way = append(way, pathPart{index: rapid.IntRange(0, 3).Draw(t, "index")})
			}
		}
		checkFind(t, raw, way)
	})
}

var someNames = []string{"a", "b", "c\"", "d\\", "é", "😀", "}", "["}

func drawJSON(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.IntRange(-1000, 1000).Draw(t, "number"))
	case 3:
		return rapid.SampledFrom([]string{"", "x", "]}", "\"", "\\\"", "ö😀"}).Draw(t, "text")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "width") {
		object[rapid.SampledFrom(someNames).Draw(t, "name")] = drawJSON(t, depth-1)
	}
	return object
}

func TestWalkingBrokenJSONEnds(t *testing.T) {
	t.Parallel()
	whole := `{"a":[1,{"b":"x\"y"}],"c":null}`
	for cut := range len(whole) {
		for _, text := range []string{"a", "c", "a[1].b", "a[0]"} {
			way, err := parsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			if found, broken := find([]byte(whole[:cut]), way); found == nil && !broken && cut > 0 {
				t.Errorf("%s of %s is simply not there", text, fmt.Sprint(whole[:cut]))
			}
		}
	}
}
