package flow

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDescendFindsWhatIsThere(t *testing.T) {
	raw := json.RawMessage(" {\"a\" : {\"b\":[1,{\"c\":\"}\"}],\"n\":null} ,\"\\u0061b\":\"x\\\"}\", \"z\":-1.5e3 , \"t\":true}\n")
	tests := []struct {
		name string
		path []string
		want string
	}{
		{"the whole value", nil, string(raw)},
		{"an object", []string{"a"}, `{"b":[1,{"c":"}"}],"n":null}`},
		{"a nested array", []string{"a", "b"}, `[1,{"c":"}"}]`},
		{"null is nothing", []string{"a", "n"}, ""},
		{"a name with escapes", []string{"ab"}, `"x\"}"`},
		{"a number", []string{"z"}, "-1.5e3"},
		{"the last member", []string{"t"}, "true"},
		{"no such member", []string{"q"}, ""},
		{"names mind their case", []string{"A"}, ""},
		{"nothing is inside a number", []string{"z", "y"}, ""},
		{"nothing is inside an array", []string{"a", "b", "0"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(descend(raw, tt.path...)); got != tt.want {
				t.Errorf("descend(%v) = %q, want %q", tt.path, got, tt.want)
			}
		})
	}
}

func TestWithoutStepKeepsTheRest(t *testing.T) {
	for payload, want := range map[string]string{
		`{"step_id":"a"}`:                         `{}`,
		`{"x":1,"step_id":"a","y":{"step_id":2}}`: `{"x":1,"y":{"step_id":2}}`,
		`{"step\u005fid":"a","y":2}`:              `{"y":2}`,
		`{ "y" : 2 }`:                             `{ "y" : 2 }`,
	} {
		if got := string(withoutStep(json.RawMessage(payload))); got != want {
			t.Errorf("withoutStep(%s) = %s, want %s", payload, got, want)
		}
	}
}

// FuzzScan compares the scanner with a full decoder, and lets it walk over text
// that is no JSON at all.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[]},"c":"\\\""}`, `{"a":`, `{"a"`, `[1]`, `{"\u0061":null}`, `{"a":1,}`, "{\"a\" :\n1}", `{"a"1}`} {
		f.Add(seed, "a")
	}
	f.Fuzz(func(t *testing.T, raw, name string) {
		got := map[string]string{}
		repeated := false
		for key, value := range eachMember(json.RawMessage(raw)) {
			if _, again := got[text(key)]; again {
				repeated = true
			}
			got[text(key)] = string(value)
		}
		found := member(json.RawMessage(raw), name)
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &want) != nil || repeated {
			return // only envelopes that passed the strict reader come here
		}
		decoded := map[string]string{}
		for key, value := range want {
			decoded[key] = string(value)
		}
		if diff := cmp.Diff(decoded, got); diff != "" {
			t.Errorf("members of %q differ (-want +got):\n%s", raw, diff)
		}
		if string(found) != decoded[name] {
			t.Errorf("member %q of %q is %q, want %q", name, raw, found, decoded[name])
		}
	})
}
