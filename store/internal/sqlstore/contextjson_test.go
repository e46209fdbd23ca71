package sqlstore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

func TestContextKeepsItsMembersByteForByte(t *testing.T) {
	tests := map[string]rondo.Context{
		"none":                      nil,
		"empty":                     {},
		"scalars":                   {"a": json.RawMessage(`1`), "b": json.RawMessage(`"x"`), "c": json.RawMessage(`null`)},
		"nested":                    {"a": json.RawMessage(`{"b":[1,{"c":"}"}],"d":{}}`), "e": json.RawMessage(`[]`)},
		"spaces inside members":     {"a": json.RawMessage("{ \"b\" : [ 1 , 2 ] }\n")},
		"brackets and quotes":       {"a": json.RawMessage(`"\"}],{[\\"`), "b": json.RawMessage(`["\\\""]`)},
		"keys that must be escaped": {"a\"b": json.RawMessage(`1`), "c\\d": json.RawMessage(`2`), "é\n": json.RawMessage(`3`)},
		"an empty key":              {"": json.RawMessage(`true`)},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			encoded := encodeContext(want)
			if !json.Valid(encoded) {
				t.Fatalf("%s is not JSON", encoded)
			}
			got, err := decodeContext(encoded)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("context changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContextWithoutAValueIsNull(t *testing.T) {
	got, err := decodeContext(encodeContext(rondo.Context{"a": nil}))
	if err != nil {
		t.Fatal(err)
	}
	if string(got["a"]) != "null" {
		t.Errorf("a is %q, want null", got["a"])
	}
}

func TestContextReadsWhatOthersWrote(t *testing.T) {
	got, err := decodeContext([]byte(` { "a" : 1 , "\u0062" : [ 2 ] } `))
	if err != nil {
		t.Fatal(err)
	}
	want := rondo.Context{"a": json.RawMessage(`1`), "b": json.RawMessage(`[ 2 ]`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("context differs (-want +got):\n%s", diff)
	}
}

func TestContextRefusesWhatIsNotAnObject(t *testing.T) {
	for _, text := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1}x`, `[1]`, `{"a":"}`} {
		if got, err := decodeContext([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestAnyContextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rondo.Context{}
		for _, key := range rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, "keys") {
			value, err := json.Marshal(rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }),
				rapid.Map(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())), func(m map[string][]string) any { return m }),
			).Draw(t, "value"))
			if err != nil {
				t.Fatal(err)
			}
			want[key] = value
		}
		got, err := decodeContext(encodeContext(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("context changed (-want +got):\n%s", diff)
		}
	})
}
