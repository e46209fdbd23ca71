package canon

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDigestOfKnownDocuments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ document, digest string }{
		{`{}`, "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{`{"a":1,"b":"x"}`, "ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667"},
		{"{ \"b\" : \"x\",\n \"a\" : 1.0 }", "ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667"},
		{`{"brief":{"style":"energetic","title":"Summer Sale Campaign"}}`, "31d670b9ddef0ad8e5ab32f9f5733072285635852cd531179e6e0655eeec60a1"},
	} {
		got, err := Digest([]byte(tc.document))
		if err != nil {
			t.Fatalf("Digest(%s): %v", tc.document, err)
		}
		if got != tc.digest {
			t.Errorf("Digest(%s) = %s, want %s", tc.document, got, tc.digest)
		}
	}
}

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"space goes", " [ 1 , {\t\"a\":\r\nnull } ] ", `[1,{"a":null}]`},
		{"members sort by UTF-16 code units", `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7}`, "{\"\\r\":4,\"1\":5,\"\u0080\":6,\"ö\":7,\"€\":3,\"😀\":2,\"\ufb33\":1}"},
		{"numbers as ECMAScript writes them", `[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0,1e21,-1e-7,9007199254740991,1e-400]`, `[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,-1e-7,9007199254740991,0]`},
		{"strings are minimally escaped", `"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/<>&\u2028"`, "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/<>&\u2028\""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := JSON([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("JSON(%s) (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

func TestJSONDoesNotChangeItsInput(t *testing.T) {
	t.Parallel()
	in := []byte(`{"b":1,"a":2}`)
	if _, err := JSON(in); err != nil {
		t.Fatal(err)
	}
	if string(in) != `{"b":1,"a":2}` {
		t.Errorf("the input became %s", in)
	}
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	type sample struct {
		B    string            `json:"b"`
		A    []int             `json:"a"`
		Raw  json.RawMessage   `json:"raw"`
		None *int              `json:"none,omitempty"`
		Map  map[string]string `json:"map"`
	}
	got, err := Marshal(sample{B: "<x>", Raw: json.RawMessage(` {"z":1, "y":2} `)})
	if err != nil {
		t.Fatal(err)
	}
	// As encoding/json: nil slices and maps are null, omitempty omits.
	if want := `{"a":null,"b":"<x>","map":null,"raw":{"y":2,"z":1}}`; string(got) != want {
		t.Errorf("Marshal = %s, want %s", got, want)
	}
	for name, value := range map[string]any{
		"not a number":    math.NaN(),
		"infinity":        math.Inf(1),
		"invalid UTF-8":   "\xff",
		"unsafe integer":  uint64(1 << 53),
		"lone surrogate":  json.RawMessage(`"\ud800"`),
		"duplicate names": json.RawMessage(`{"a":1,"a":1}`),
		"channel":         make(chan int),
	} {
		if got, err := Marshal(value); err == nil {
			t.Errorf("Marshal(%s) = %s, want an error", name, got)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in string
		offset   int
		pointer  string
		says     string
	}{
		{"nothing", "", 0, "", "empty"},
		{"space only", " \n", 2, "", "empty"},
		{"trailing value", `{} {}`, 3, "", "data follows"},
		{"trailing comma in an object", `{"a":1,}`, 7, "", "member name"},
		{"trailing comma in an array", `[1,]`, 3, "/1", "a value must stand here"},
		{"comment", `/* */{}`, 0, "", "a value must stand here"},
		{"single quotes", `{'a':1}`, 1, "", "double quotes"},
		{"byte order mark", "\ufeff{}", 0, "", "a value must stand here"},
		{"unclosed object", `{"a":1`, 6, "", "comma or }"},
		{"unclosed array", `[1`, 2, "", "comma or ]"},
		{"value cut off", `{"a":`, 5, "/a", "ends where a value"},
		{"missing colon", `{"a" 1}`, 5, "/a", "colon"},
		{"word cut off", `[tru]`, 1, "/0", "a value must stand here"},
		{"NaN", `{"a":NaN}`, 5, "/a", "a value must stand here"},
		{"infinity", `-Infinity`, 1, "", "digit"},
		{"duplicate member", `{"a":1,"b":{"c":1,"c":2}}`, 18, "/b/c", "twice"},
		{"duplicate member, escaped", `{"a":1,"\u0061":2}`, 7, "/a", "twice"},
		{"pointer escapes", `{"a/b~c":[1,x]}`, 12, "/a~1b~0c/1", "a value must stand here"},
		{"lone high surrogate", `["\ud800"]`, 2, "/0", "surrogate"},
		{"lone low surrogate", `["\udc00\ud800"]`, 2, "/0", "surrogate"},
		{"two high surrogates", `["\ud800\ud800"]`, 2, "/0", "surrogate"},
		{"invalid UTF-8", "[\"\xff\"]", 2, "/0", "UTF-8"},
		{"surrogate as UTF-8", "[\"\xed\xa0\x80\"]", 2, "/0", "UTF-8"},
		{"overlong UTF-8", "[\"\xc0\x80\"]", 2, "/0", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", 2, "", "UTF-8"},
		{"raw control character", "[\"a\nb\"]", 3, "/0", "control character"},
		{"unknown escape", `["\x"]`, 2, "/0", "unknown escape"},
		{"short unicode escape", `["\u12"]`, 2, "/0", "four hex"},
		{"unclosed string", `["a`, 1, "/0", "not closed"},
		{"backslash at the end", `["\`, 2, "/0", "not closed"},
		{"leading zero", `[01]`, 1, "/0", "needless 0"},
		{"leading plus", `[+1]`, 1, "/0", "a value must stand here"},
		{"bare decimal point", `[.5]`, 1, "/0", "a value must stand here"},
		{"nothing after the point", `[1.]`, 3, "/0", "decimal point"},
		{"nothing after the exponent", `[1e+]`, 4, "/0", "exponent"},
		{"overflow", `[1e400]`, 1, "/0", "too large"},
		{"negative overflow", `[-1e400]`, 1, "/0", "too large"},
		{"integer beyond 2^53-1", `[9007199254740992]`, 1, "/0", "9007199254740991"},
		{"negative integer beyond", `[-9007199254740992]`, 1, "/0", "9007199254740991"},
		{"long integer", `[100000000000000000000000]`, 1, "/0", "9007199254740991"},
		{"whole number with a fraction", `[9007199254740993.0]`, 1, "/0", "9007199254740991"},
		{"whole number with an exponent", `[1e20]`, 1, "/0", "9007199254740991"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Check([]byte(tc.in), Limits{})
			refused, ok := err.(*Error)
			if !ok {
				t.Fatalf("Check = %v, want an *Error", err)
			}
			if refused.Offset != tc.offset || refused.Pointer != tc.pointer {
				t.Errorf("refused at offset %d, pointer %q; want %d, %q", refused.Offset, refused.Pointer, tc.offset, tc.pointer)
			}
			if !strings.Contains(refused.Message, tc.says) {
				t.Errorf("message %q does not say %q", refused.Message, tc.says)
			}
			if refused.Limit {
				t.Error("it is called a matter of limits")
			}
			if _, err := JSON([]byte(tc.in)); err == nil {
				t.Error("JSON accepts it")
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`null`, ` true `, `"\ud83d\ude00 \" \\ \/ \b\f\n\r\t"`, `[]`, `{}`, `[ ]`, `{ }`,
		`{"a":{"a":{"a":[]}},"A":1}`, `[9007199254740991,-9007199254740991,1e21,1.5e300,0.1,-0.0,1E-400,123456789012345.5]`,
		"\"\u2028 \U0001F600 \x7f\"",
	} {
		if err := Check([]byte(in), Limits{}); err != nil {
			t.Errorf("Check(%s): %v", in, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tc := range []struct {
		name   string
		in     string
		limits Limits
		says   string // "" = accepted
	}{
		{"default depth", nested(32), Limits{}, ""},
		{"over the default depth", nested(33), Limits{}, "deeper than 32"},
		{"siblings do not add depth", "[" + strings.Repeat("[[]],", 99) + `{"a":{}}]`, Limits{Depth: 3}, ""},
		{"own depth", `{"a":[]}`, Limits{Depth: 1}, "deeper than 1"},
		{"tokens count values and names", `{"a":[1,2]}`, Limits{Tokens: 5}, ""},
		{"over the tokens", `{"a":[1,2]}`, Limits{Tokens: 4}, "more than 4"},
		{"over the default tokens", "[" + strings.Repeat("0,", DefaultTokens) + "0]", Limits{}, "more than 65536"},
		{"bytes", `[12345678]`, Limits{Bytes: 10}, ""},
		{"over the bytes", `[123456789]`, Limits{Bytes: 10}, "longer than 10"},
		{"over the default bytes", `"` + strings.Repeat("x", DefaultBytes) + `"`, Limits{}, "longer than 262144"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Check([]byte(tc.in), tc.limits)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("error %v does not say %q", err, tc.says)
			}
			if refused, ok := err.(*Error); ok && (!refused.Limit || refused.TooLarge != strings.Contains(tc.name, "bytes")) {
				t.Errorf("Limit = %t, TooLarge = %t", refused.Limit, refused.TooLarge)
			}
		})
	}
}

func TestWideObjectsFindDuplicates(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"k` + strings.Repeat("x", i) + `":{"k":1}`)
	}
	if err := Check([]byte("{"+b.String()+"}"), Limits{}); err != nil {
		t.Fatalf("distinct names refused: %v", err)
	}
	for _, again := range []string{"k", "kx", "k" + strings.Repeat("x", 499)} {
		if err := Check([]byte("{"+b.String()+`,"`+again+`":0}`), Limits{}); err == nil {
			t.Errorf("a second member of %d letters is accepted", len(again))
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	var got []string
	err := Members([]byte(` { "a" : {"x":[1, 2]} , "\u0062\n":"v","":null} `), Limits{}, func(name, value []byte) {
		got = append(got, string(name)+"="+string(value))
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`a={"x":[1, 2]}`, "b\n=\"v\"", "=null"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	for _, in := range []string{`[]`, `"{}"`, `null`, `{"a":1}x`, ``} {
		if err := Members([]byte(in), Limits{}, func(_, _ []byte) {}); err == nil {
			t.Errorf("Members(%s) is accepted", in)
		}
	}
}

func TestErrorsDoNotEchoValues(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"a":"canary\x"}`, `{"a":canary}`, `{"a":1e999}`, `{"a":"canary`, `{"a":1} canary`} {
		err := Check([]byte(in), Limits{})
		if err == nil {
			t.Fatalf("%s is accepted", in)
		}
		if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "999") {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}
