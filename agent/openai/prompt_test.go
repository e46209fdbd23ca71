package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// read feeds a text in pieces that end at the given places.
func read(text string, size int) string {
	var reader promptReader
	var out strings.Builder
	for text != "" {
		n := min(size, len(text))
		out.WriteString(reader.add(text[:n]))
		text = text[n:]
	}
	return out.String()
}

func TestThePromptIsReadWhileItGrows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"prompt":"hello"}`:                           "hello",
		` { "action" : "ask" , "prompt" : "hello" } `:  "hello",
		`{"prompt":"hel`:                               "hel",
		`{"prompt":"a\"b\\c\/d\b\f\n\r\te"}`:           "a\"b\\c/d\b\f\n\r\te",
		`{"prompt":"\u00e9\u20AC\ud83d\ude00é€😀"}`:     "é€😀é€😀",
		`{"prompt":"\ud83d x \ude00 \ud83d\u0041"}`:    "\ufffd x \ufffd \ufffdA",
		`{"prompt":"\ud83d\n"}`:                        "\ufffd\n",
		`{"prompt":"\ud83d\ud83d\ude00"}`:              "\ufffd😀",
		`{"prompt":"\ud83d"}`:                          "\ufffd",
		`{"prompt":"half \ud83d`:                       "half ",
		`{"prompt":"half \u00`:                         "half ",
		`{"data":{"prompt":"no"},"prompt":"yes"}`:      "yes",
		`{"data":["prompt",{"prompt":"no"}],"x":"no"}`: "",
		`{"x":"prompt","prompt":"yes"}`:                "yes",
		`{"x":"a,\"prompt\":\"no\"","prompt":"yes"}`:   "yes",
		`{"pr\u006fmpt":"yes"}`:                        "yes",
		`{"Prompt":"no"}`:                              "",
		`{"prompt":7,"x":"no"}`:                        "",
		`{"prompt":null,"action":"no"}`:                "",
		`{"prompt":["no"],"x":"no"}`:                   "",
		`{"prompt":{"prompt":"no"},"x":"no"}`:          "",
		`{"prompt":"","x":"no"}`:                       "",
		`{"prompt":"yes","prompt":"no"}`:               "yes",
		`{}`:                                           "",
		"  plain {\"prompt\":\"x\"}":                   "  plain {\"prompt\":\"x\"}",
		"```json\n{\"prompt\":\"x\"}\n```":             "```json\n{\"prompt\":\"x\"}\n```",
		`"quoted"`:                                     `"quoted"`,
		`[{"prompt":"x"}]`:                             `[{"prompt":"x"}]`,
		"":                                             "",
		"  ":                                           "",
		"é":                                            "é",
		`{"prompt":"a"} trailing {"prompt":"b"}`:       "a",
	} {
		for _, size := range []int{1, 2, 3, 5, 1000} {
			if got := read(text, size); got != want {
				t.Errorf("%s in pieces of %d reads %q, want %q", text, size, got, want)
			}
		}
	}
}

// Whatever the object and however it is cut, the pieces come to what a decoder of
// JSON makes of the whole.
func TestThePromptIsWhatADecoderReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{}
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"action", "data", "x\"y", "ключ"}), 0, 3).Draw(t, "keys") {
			object[key] = rapid.SampledFrom([]any{"prompt", 1, nil, []any{"prompt", "a"}, map[string]any{"prompt": "{\"prompt\":"}}).Draw(t, "value")
		}
		prompt := rapid.String().Draw(t, "prompt")
		object["prompt"] = prompt
		encoded, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text := string(encoded)
		if rapid.Bool().Draw(t, "ascii") {
			text = ascii(text)
		}
		var decoded map[string]any
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := read(text, rapid.IntRange(1, 12).Draw(t, "size")); got != decoded["prompt"] {
			t.Fatalf("%s reads %q, want %q", text, got, decoded["prompt"])
		}
	})
}

// ascii escapes everything that JSON lets one escape.
func ascii(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16Units(r) {
			out.WriteString(`\u`)
			const digits = "0123456789abcdef"
			for shift := 12; shift >= 0; shift -= 4 {
				out.WriteByte(digits[unit>>shift&15])
			}
		}
	}
	return out.String()
}

func utf16Units(r rune) []rune {
	if r < 0x10000 {
		return []rune{r}
	}
	r -= 0x10000
	return []rune{0xD800 + r>>10, 0xDC00 + r&0x3FF}
}

func FuzzPromptReader(f *testing.F) {
	f.Add(`{"a":{"prompt":1},"prompt":"\ud83d\ude00x"}`, 3)
	f.Add(`plain`, 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if !utf8.ValidString(text) || size < 1 {
			return
		}
		at := read(text, size)
		if whole := read(text, len(text)+1); at != whole {
			t.Fatalf("%q in pieces of %d reads %q, at once %q", text, size, at, whole)
		}
		var object map[string]json.RawMessage
		if !isObject(text) || json.Unmarshal([]byte(text), &object) != nil || strings.Count(text, "p") > 1 {
			return // no object, or perhaps one with the key twice
		}
		var want string
		_ = json.Unmarshal(object["prompt"], &want)
		if at != want {
			t.Fatalf("%q reads %q, want %q", text, at, want)
		}
	})
}
