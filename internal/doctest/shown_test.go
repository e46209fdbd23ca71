package doctest_test

import "testing"

func TestShownAnswersAreCompared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		shown, output string
		want          bool
	}{
		{"{\"a\": 1,\n \"b\": 2}\n", `{"a":1,"b":2}` + "\n", true},
		{`{"a": 1}`, `{"a":2}`, false},
		{`{"id": "…", "a": 1}`, `{"id":"0192","a":1}`, true},
		{`{"id": "…", "a": 1}`, `{"id":"0192","a":2}`, false},
		{`…"a": 1…"b": 2…`, `{"b":2,"a":1}`, false},
		{`a.c`, `abc`, false},
	}
	for _, test := range tests {
		if got := matches(test.shown, test.output); got != test.want {
			t.Errorf("matches(%q, %q) = %t", test.shown, test.output, got)
		}
	}
}
