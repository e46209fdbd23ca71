package explain

import (
	"encoding/json"
	"testing"
)

func TestWordsOfFailures(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string]string{
		`{"code":"contract_violation","message":"the output is larger than 64 KiB","error":"x"}`: "the output is larger than 64 KiB",
		`{"code":"module_error","error":"the scale is off"}`:                                     "the scale is off",
		`{"code":"module_error","error":{"message":"no weights","trace":[]}}`:                    "no weights",
		`{"code":"module_error","error":{"detail":"no weights"}}`:                                "no weights",
		`{"code":"module_error","error":{"status":503}}`:                                         "",
		`{"code":"module_error"}`:                                                                "",
		``:                                                                                       "",
	} {
		if got := failureWords(json.RawMessage(failure)); got != want {
			t.Errorf("%s: got %q, want %q", failure, got, want)
		}
	}
}

func TestWhatAConditionLookedAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, want string }{
		"one comparison": {
			`{"expr":"a < 1","trace":[{"expr":"a < 1","left":2,"right":1,"result":false}]}`, "compared 2 with 1",
		},
		"a helper within a comparison": {
			`{"expr":"coalesce(a, 0) >= 5000","trace":[{"expr":"coalesce(a, 0)","left":50,"result":50},{"expr":"coalesce(a, 0) >= 5000","left":50,"right":5000,"result":false}]}`,
			"compared 50 with 5000",
		},
		"several comparisons": {
			`{"expr":"a < 1 || b == 'x'","trace":[{"expr":"a < 1","left":2,"right":1,"result":false},{"expr":"b == 'x'","left":"x","right":"x","result":true}]}`,
			`a < 1 compared 2 with 1, b == 'x' compared "x" with "x"`,
		},
		"a helper by itself": {
			`{"expr":"has(a) && b","trace":[{"expr":"has(a)","left":null,"result":false}]}`, "has(a) of null is false",
		},
		"a value by itself":    {`{"expr":"a","trace":[{"expr":"a","left":true,"result":true}]}`, ""},
		"a value among others": {`{"expr":"a && b","trace":[{"expr":"a","left":true,"result":true},{"expr":"b","left":false,"result":false}]}`, "a is true, b is false"},
		"nothing":              {`{"expr":"true","trace":[]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := looked(json.RawMessage(c.input)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
