package cond

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// context is what the tables below look paths up in.
func context() map[string]any {
	return map[string]any{
		"n": 5.0, "half": 0.5, "s": "abc", "yes": true, "no": false, "nothing": nil,
		"list":   []any{1.0, "x", nil, []any{1.0}},
		"object": map[string]any{"in": 1.0, "len": "deep", "null": map[string]any{"true": true}},
		"same":   map[string]any{"null": map[string]any{"true": true}, "in": 1.0, "len": "deep"},
	}
}

func lookupIn(root map[string]any) func([]string) (any, error) {
	return func(path []string) (any, error) {
		var value any = root
		for _, name := range path {
			object, ok := value.(map[string]any)
			if !ok {
				return nil, nil
			}
			value = object[name]
		}
		return value, nil
	}
}

func env() Env {
	return Env{
		Lookup: lookupIn(context()),
		Now:    func() int64 { return 1_767_225_600_000 },
		Sample: func(p float64) bool { return 0.25 < p },
	}
}

func TestEval(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		src  string
		want any
	}{
		// Literals.
		{"1", 1.0},
		{"-0.5e1", -5.0},
		{"0", 0.0},
		{"1E+2", 100.0},
		{"-1", -1.0},
		{"true", true},
		{"false", false},
		{"null", nil},
		{`"a'b"`, "a'b"},
		{`'a"b'`, `a"b`},
		{`'it\'s'`, "it's"},
		{`"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, "\"\\/\b\f\n\r\té😀"},
		{`'ö😀'`, "ö😀"},
		{`""`, ""},
		{"[]", []any{}},
		{`[1, "a", true, null, [-2]]`, []any{1.0, "a", true, nil, []any{-2.0}}},

		// Paths: missing is null, words of the language are names after a dot.
		{"n", 5.0},
		{"missing", nil},
		{"missing.deeper", nil},
		{"s.deeper", nil},
		{"object.in", 1.0},
		{"object.len", "deep"},
		{"object.null.true", true},
		{"_a1", nil},
		{"inner", nil},
		{"nullable", nil},
		{"truest.x", nil},
		{"lens", nil},

		// Comparisons.
		{"n < 6", true},
		{"n < 5", false},
		{"n <= 5", true},
		{"n > 4", true},
		{"n > 5", false},
		{"n >= 5", true},
		{"5 >= 6", false},
		{`s < "abd"`, true},
		{`"" < "a"`, true},
		{`"Z" < "a"`, true},
		{`"abc" >= s`, true},
		{`"\uff5e" < "😀"`, true}, // by code point; UTF-16 units would say otherwise
		{"n == 5", true},
		{"n == 5.0", true},
		{`n == "5"`, false},
		{`n != "5"`, true},
		{"-0 == 0", true},
		{"missing == null", true},
		{"nothing == missing", true},
		{"missing != null", false},
		{"no == null", false},
		{`"" == null`, false},
		{"0 == false", false},
		{"list == [1, 'x', null, [1]]", true},
		{"list == [1, 'x', null, [2]]", false},
		{"list == [1]", false},
		{"[] == []", true},
		{"object == same", true},
		{"object == object.null", false},
		{"object != list", true},
		{"[null] == [missing_not_allowed_here]", errInParse},
		{"n in [4, 5]", true},
		{"n in [4]", false},
		{"n in []", false},
		{"'x' in list", true},
		{"[1] in list", true},
		{"missing in list", true},
		{"missing in [1]", false},
		{"'5' in [5]", false},

		// Logic: short circuit, null counts as false.
		{"yes && yes", true},
		{"yes && no", false},
		{"no || yes", true},
		{"no || no || yes", true},
		{"!yes", false},
		{"!!yes", true},
		{"missing && yes", false},
		{"yes && missing", false},
		{"missing || missing", false},
		{"!missing", true},
		{"missing || yes", true},
		{"no && n", false},
		{"yes || n", true},
		{"no && missing < 1", false},
		{"yes || no && no", true},
		{"(yes || no) && no", false},
		{"!no && yes", true},
		{"!(no && yes)", true},
		{"!yes == no", true},
		{"n < 6 && s == 'abc' || no", true},
		{"((n)) == (5)", true},

		// Helpers.
		{"len(list)", 4.0},
		{"len(s)", 3.0},
		{"len('ö😀')", 2.0},
		{"len(object)", 3.0},
		{"len(missing)", 0.0},
		{"len(null)", 0.0},
		{"len([1,2])", 2.0},
		{"len(coalesce(missing, 'ab')) == 2", true},
		{"coalesce(missing, 1)", 1.0},
		{"coalesce(n, 1)", 5.0},
		{"coalesce(missing, nothing)", nil},
		{"coalesce(no, true)", false},
		{"coalesce(n, missing < 1)", 5.0},
		{"coalesce(ai.confidence, 0) < 0.7", true},
		{"coalesce(a, coalesce(b, n)) == 5", true},
		{"now()", 1_767_225_600_000.0},
		{"now() > 0", true},
		{"sample(0.3)", true},
		{"sample(0.25)", false},
		{"sample(0)", false},
		{"sample(1) && yes", true},
		{"!sample(1e-1)", true},

		// Space is free between tokens.
		{" \t\r\n n<6&&yes ", true},
		{"n in[5]", true},
		{"len ( list )", 4.0},
	} {
		t.Run(tc.src, func(t *testing.T) {
			t.Parallel()
			expr, err := Parse(tc.src)
			if tc.want == errInParse {
				if err == nil {
					t.Fatal("it parses")
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got, err := expr.Eval(env())
			if err != nil {
				t.Fatalf("Eval: %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const errInParse = "does not parse"

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ src, says string }{
		{"missing < 0.7", "coalesce"},
		{"missing < 0.7", "missing < 0.7"},
		{"0.7 > nothing", "a number and null"},
		{"n < s", "a number and a string"},
		{"yes < no", "a boolean and a boolean"},
		{"list < list", "an array and an array"},
		{"object >= 1", "an object and a number"},
		{"n && yes", "a number, but a condition needs"},
		{"yes && s", "a string"},
		{"no || list", "an array"},
		{"!object", "an object"},
		{"n in 5", "array on its right side, not a number"},
		{"'a' in s", "array on its right side, not a string"},
		{"n in missing", "array on its right side, not null"},
		{"n in object", "not an object"},
		{"len(n)", "len takes"},
		{"len(yes)", "not a boolean"},
		{"coalesce(missing < 1, 2)", "cannot order"},
		{"len(missing < 1)", "cannot order"},
		{"[1] == [1] && !(missing <= 1)", "missing <= 1"},
		{"yes == (missing < 1)", "cannot order"},
		{"(missing < 1) == yes", "cannot order"},
		{"missing < 1 in [true]", errInParse},
	} {
		t.Run(tc.src, func(t *testing.T) {
			t.Parallel()
			expr, err := Parse(tc.src)
			if tc.says == errInParse {
				if err == nil {
					t.Fatal("it parses")
				}
				return
			}
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got, err := expr.Eval(env())
			failed, ok := errors.AsType[*EvalError](err)
			if !ok {
				t.Fatalf("Eval = %v, %v; want an *EvalError", got, err)
			}
			if got != nil && got != false {
				t.Errorf("a value comes with the error: %v", got)
			}
			if !strings.Contains(failed.Message, tc.says) {
				t.Errorf("message %q does not say %q", failed.Message, tc.says)
			}
			if truth, err := expr.True(env()); err == nil || truth {
				t.Errorf("True = %t, %v; want an error", truth, err)
			}
		})
	}
}

func TestTrue(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		src  string
		want bool
	}{{"yes", true}, {"no", false}, {"missing", false}, {"null", false}, {"n == 5", true}, {"coalesce(missing, yes)", true}} {
		expr, err := Parse(tc.src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := expr.True(env()); err != nil || got != tc.want {
			t.Errorf("%s: True = %t, %v; want %t", tc.src, got, err, tc.want)
		}
	}
	for _, src := range []string{"n", "s", "list", "object", "len(list)", "now()", "'true'"} {
		expr, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expr.True(env()); err == nil {
			t.Errorf("%s is taken for a condition", src)
		}
	}
}

func TestEvalAgainstBadEnvironments(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	value := func(v any) Env {
		return Env{Lookup: func([]string) (any, error) { return v, nil }}
	}
	for _, tc := range []struct {
		name, src string
		env       Env
		cause     error
	}{
		{"no lookup", "a", Env{}, nil},
		{"no clock", "now()", Env{}, nil},
		{"no sample", "sample(1)", Env{}, nil},
		{"lookup fails", "a.b == 1", Env{Lookup: func([]string) (any, error) { return nil, broken }}, broken},
		{"not a JSON value", "a == 1", value(5), nil},
		{"not a JSON value inside", "a == a", value([]any{func() {}}), nil},
		{"not a JSON value on the right", "[1] == a", value([]any{5}), nil},
		{"cyclic value", "a == a", value(cyclic), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			expr, err := Parse(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			_, err = expr.Eval(tc.env)
			if _, ok := errors.AsType[*EvalError](err); !ok {
				t.Fatalf("Eval error = %v, want an *EvalError", err)
			}
			if tc.cause != nil && !errors.Is(err, tc.cause) {
				t.Errorf("error %v hides its cause", err)
			}
		})
	}
}

func TestEvalErrorsDoNotShowValues(t *testing.T) {
	t.Parallel()
	environment := Env{Lookup: func([]string) (any, error) { return "canary", nil }}
	for _, src := range []string{"a < 1", "!a", "1 in a", "a && true"} {
		expr, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expr.Eval(environment); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error %v", src, err)
		}
	}
}

func TestOperandsAreEvaluatedOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		src  string
		want []string
	}{
		{"no && a", []string{"no"}},
		{"yes || a", []string{"yes"}},
		{"coalesce(n, a)", []string{"n"}},
		{"yes && no && a", []string{"yes", "no"}},
		{"coalesce(a, n)", []string{"a", "n"}},
	} {
		expr, err := Parse(tc.src)
		if err != nil {
			t.Fatal(err)
		}
		var asked []string
		find := lookupIn(context())
		_, err = expr.Eval(Env{Lookup: func(path []string) (any, error) {
			asked = append(asked, strings.Join(path, "."))
			return find(path)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, asked); diff != "" {
			t.Errorf("%s asked for (-want +got):\n%s", tc.src, diff)
		}
	}
}

func TestWhatAnExpressionUses(t *testing.T) {
	t.Parallel()
	expr, err := Parse("a.b < 1 && (b || a.b == c.d.e) && sample(0.1) && coalesce(b, now()) != 1 || sample(1)")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"b"}, {"c", "d", "e"}}, expr.Paths()); diff != "" {
		t.Errorf("Paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{0.1, 1}, expr.Samples()); diff != "" {
		t.Errorf("Samples (-want +got):\n%s", diff)
	}
	if !expr.UsesNow() {
		t.Error("UsesNow = false")
	}
	expr.Paths()[0][0], expr.Samples()[0] = "changed", 9
	if expr.Paths()[0][0] != "a" || expr.Samples()[0] != 0.1 {
		t.Error("a caller can change the expression")
	}
	plain, err := Parse("a == 'now()'")
	if err != nil {
		t.Fatal(err)
	}
	if plain.UsesNow() || len(plain.Samples()) != 0 {
		t.Error("text in quotes is taken for a call")
	}
}

func TestSampleUnit(t *testing.T) {
	t.Parallel()
	got := SampleUnit("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222", "qa_branch")
	if want := 0.6252126542199501; got != want {
		t.Errorf("SampleUnit = %v, want %v", got, want)
	}
	below := 0
	for i := range 10_000 {
		if SampleUnit(fmt.Sprint("case-", i), "d", "s") < 0.1 {
			below++
		}
	}
	if below < 850 || below > 1150 {
		t.Errorf("%d of 10000 cases fall below 0.1", below)
	}
}
