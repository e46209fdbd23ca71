package canon

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawValue makes a random JSON value whose numbers are safe.
func drawValue(t *rapid.T, depth int) any {
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
		if rapid.Bool().Draw(t, "whole") {
			return float64(rapid.Int64Range(-maxSafe, maxSafe).Draw(t, "integer"))
		}
		return rapid.Float64Range(-1e15, 1e15).Draw(t, "float")
	case 3:
		return strings.ToValidUTF8(rapid.String().Draw(t, "string"), "?")
	case 4:
		return rapid.Custom(func(t *rapid.T) []any {
			list := []any{}
			for range rapid.IntRange(0, 4).Draw(t, "length") {
				list = append(list, drawValue(t, depth-1))
			}
			return list
		}).Draw(t, "array")
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "width") {
			object[strings.ToValidUTF8(rapid.String().Draw(t, "name"), "?")] = drawValue(t, depth-1)
		}
		return object
	}
}

func TestCanonicalFormKeepsTheValueAndIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := drawValue(t, 4)
		canonical, err := Marshal(value)
		if err != nil {
			t.Fatalf("Marshal: %v", err)
		}
		indented, err := json.MarshalIndent(value, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		fromIndented, err := JSON(indented)
		if err != nil {
			t.Fatalf("JSON(%s): %v", indented, err)
		}
		again, err := JSON(canonical)
		if err != nil {
			t.Fatalf("JSON(%s): %v", canonical, err)
		}
		if !bytes.Equal(canonical, fromIndented) || !bytes.Equal(canonical, again) {
			t.Fatalf("three forms of one value:\n%s\n%s\n%s", canonical, fromIndented, again)
		}
		var back any
		if err := json.Unmarshal(canonical, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(value, back); diff != "" {
			t.Fatalf("the value changed (-before +after):\n%s", diff)
		}
	})
}

// FuzzJSON holds the reader against the one of jsontext, which is strict about
// everything but numbers, depth and size.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` [1, -2.5e3, "\ud83d\ude00", {"a":{"a":null}}] `, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `1e400`,
		`9007199254740992`, `1e20`, `-0`, `[1,]`, `{"a":1}x`, `tru`, `"\u00`, `0.1e+`, `[[[[]]]]`, `1e21`, `"\/\b"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := Check(raw, Limits{})
		if err != nil {
			refused, ok := err.(*Error)
			if !ok || refused.Offset < 0 || refused.Offset > len(raw) || !utf8.ValidString(refused.Pointer) {
				t.Fatalf("Check(%q) error = %#v", raw, err)
			}
		}
		switch valid := jsontext.Value(raw).IsValid(); {
		case err == nil && !valid:
			t.Fatalf("Check accepts %q, which is not JSON", raw)
		case err != nil && valid && !beyondGrammar(err):
			t.Fatalf("Check refuses %q: %v", raw, err)
		}
		canonical, err := JSON(raw)
		if err != nil {
			return
		}
		again, err := JSON(canonical)
		if err != nil || !bytes.Equal(canonical, again) {
			t.Fatalf("JSON(%q) = %q, whose canonical form is %q, %v", raw, canonical, again, err)
		}
	})
}

// beyondGrammar reports whether the refusal is about a rule that the grammar of
// JSON does not have.
func beyondGrammar(err error) bool {
	refused, ok := err.(*Error)
	return ok && (refused.Limit || strings.Contains(refused.Message, "too large") || refused.Message == unsafeInteger)
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":"x","b\n":{"c":[1]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]json.RawMessage{}
		if err := Members(raw, Limits{}, func(name, value []byte) { got[string(name)] = value }); err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("Members accepts %q: %v", raw, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("Members(%q) (-want +got):\n%s", raw, diff)
		}
		for _, value := range got {
			text, ok := Text(value)
			if !ok {
				continue
			}
			var wantText string
			if err := json.Unmarshal(value, &wantText); err != nil || string(text) != wantText {
				t.Fatalf("Text(%s) = %q, want %q (%v)", value, text, wantText, err)
			}
		}
	})
}

func document() []byte {
	return []byte(`{"case_id":"11111111-1111-4111-8111-111111111111","images":[` +
		strings.Repeat(`{"id":"img-1","type":"DERMOSCOPIC","uri":"blob://a/b/c","size":123456,"score":0.123},`, 20) +
		`{"id":"last"}],"note":"plain text with \"quotes\" and ö"}`)
}

func BenchmarkCheck(b *testing.B) {
	raw := document()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(raw, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	raw := document()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Digest(raw); err != nil {
			b.Fatal(err)
		}
	}
}
