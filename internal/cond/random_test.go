package cond

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is an expression together with an independent way to compute it.
type model struct {
	source string
	value  func() (any, bool) // false = a condition error
}

// drawModel makes a random expression over the test context, fully
// parenthesised, and computes what it means directly.
func drawModel(t *rapid.T, depth int) model {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return drawLeaf(t)
	}
	a := drawModel(t, depth-1)
	switch kind := rapid.SampledFrom([]string{"&&", "||", "!", "==", "!=", "<", "<=", ">", ">=", "in", "len", "coalesce"}).Draw(t, "kind"); kind {
	case "!":
		return model{"!(" + a.source + ")", func() (any, bool) {
			truth, ok := condition(a)
			return !truth, ok
		}}
	case "len":
		return model{"len(" + a.source + ")", func() (any, bool) { return modelLength(a) }}
	case "coalesce":
		b := drawModel(t, depth-1)
		return model{"coalesce(" + a.source + ", " + b.source + ")", func() (any, bool) {
			if v, ok := a.value(); !ok || v != nil {
				return v, ok
			}
			return b.value()
		}}
	case "&&", "||":
		b := drawModel(t, depth-1)
		return model{"(" + a.source + ") " + kind + " (" + b.source + ")", func() (any, bool) {
			left, ok := condition(a)
			if !ok || left == (kind == "||") {
				return left, ok
			}
			return condition(b)
		}}
	default:
		b := drawModel(t, depth-1)
		return model{"(" + a.source + ") " + kind + " (" + b.source + ")", func() (any, bool) { return modelCompare(kind, a, b) }}
	}
}

func drawLeaf(t *rapid.T) model {
	if rapid.Bool().Draw(t, "path") {
		name := rapid.SampledFrom([]string{"n", "half", "s", "yes", "no", "nothing", "list", "object", "same", "missing"}).Draw(t, "name")
		return model{name, func() (any, bool) { return context()[name], true }}
	}
	value := rapid.SampledFrom([]any{nil, true, false, 0.0, 5.0, -1.5, "", "abc", "ö", []any{}, []any{5.0, "abc", nil}}).Draw(t, "literal")
	source, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return model{string(source), func() (any, bool) { return value, true }}
}

func condition(m model) (bool, bool) {
	value, ok := m.value()
	if !ok {
		return false, false
	}
	if value == nil {
		return false, true
	}
	truth, ok := value.(bool)
	return truth, ok
}

func modelLength(m model) (any, bool) {
	value, ok := m.value()
	switch v := value.(type) {
	case nil:
		return 0.0, ok
	case string:
		return float64(len([]rune(v))), ok
	case []any:
		return float64(len(v)), ok
	case map[string]any:
		return float64(len(v)), ok
	}
	return nil, false
}

func modelCompare(kind string, a, b model) (any, bool) {
	left, ok := a.value()
	if !ok {
		return nil, false
	}
	right, ok := b.value()
	if !ok {
		return nil, false
	}
	switch kind {
	case "==":
		return cmp.Equal(left, right), true
	case "!=":
		return !cmp.Equal(left, right), true
	case "in":
		elements, ok := right.([]any)
		for _, element := range elements {
			if cmp.Equal(left, element) {
				return true, true
			}
		}
		return false, ok
	}
	var order int
	switch l := left.(type) {
	case float64:
		r, ok := right.(float64)
		if !ok {
			return nil, false
		}
		order = map[bool]int{true: -1}[l < r] + map[bool]int{true: 1}[l > r]
	case string:
		r, ok := right.(string)
		if !ok {
			return nil, false
		}
		order = strings.Compare(l, r)
	default:
		return nil, false
	}
	return map[string]bool{"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[kind], true
}

func TestRandomExpressionsMeanWhatTheModelSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 4)
		expr, err := Parse(m.source)
		if err != nil {
			t.Fatalf("Parse(%s): %v", m.source, err)
		}
		got, err := expr.Eval(env())
		want, ok := m.value()
		if ok != (err == nil) {
			t.Fatalf("%s = %v, error %v; the model says ok = %t", m.source, got, err, ok)
		}
		if ok && !cmp.Equal(got, want) {
			t.Fatalf("%s = %v, the model says %v", m.source, got, want)
		}
		checkTrace(t, expr)
	})
}

// checkTrace holds that a trace changes nothing and is bounded JSON.
func checkTrace(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, expr *Expr,
) {
	t.Helper()
	plain, plainErr := expr.True(env())
	traced, trace, tracedErr := expr.Trace(env())
	if plain != traced || fmt.Sprint(plainErr) != fmt.Sprint(tracedErr) || trace.Result != plain || (trace.Error != "") != (plainErr != nil) {
		t.Fatalf("%s is %v, %v and traced %v, %v", expr.Source(), plain, plainErr, traced, tracedErr)
	}
	raw := trace.AppendJSON(nil)
	if !json.Valid(raw) || len(trace.Steps) > MaxTraceSteps || len(raw) > 1000+len(trace.Steps)*(6*MaxLength+8*MaxTraceValue) {
		t.Fatalf("the trace of %s is %d bytes: %.500s", expr.Source(), len(raw), raw)
	}
}

func FuzzParseEval(f *testing.F) {
	for _, seed := range []string{
		"ai_review.confidence < 0.7", "sample(0.1) && now() > 1", "coalesce(a.b, 'x') in ['x', \"y\\u00e9\"]",
		"!(a || b) && len([1,[2]]) >= 1", "a == null", "-1.5e3 != n", "((((", "'\\ud83d\\ude00' <= s", "object == same",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		first, err := Parse(src)
		if err != nil {
			refused, ok := err.(*ParseError)
			if !ok || refused.Offset < 0 || refused.Offset > len(src) || refused.Message == "" {
				t.Fatalf("Parse(%q) error = %#v", src, err)
			}
			return
		}
		second, err := Parse(first.Source())
		if err != nil {
			t.Fatalf("Parse(%q) works once only: %v", src, err)
		}
		one, oneErr := first.Eval(env())
		two, twoErr := second.Eval(env())
		if !cmp.Equal(one, two) || fmt.Sprint(oneErr) != fmt.Sprint(twoErr) {
			t.Fatalf("%q = %v, %v and then %v, %v", src, one, oneErr, two, twoErr)
		}
		if oneErr != nil {
			if _, ok := oneErr.(*EvalError); !ok {
				t.Fatalf("%q fails with %T", src, oneErr)
			}
		}
		checkTrace(t, first)
	})
}

func BenchmarkTrue(b *testing.B) {
	expr, err := Parse("ai_review.confidence < 0.7")
	if err != nil {
		b.Fatal(err)
	}
	environment := Env{Lookup: lookupIn(map[string]any{"ai_review": map[string]any{"confidence": 0.65}})}
	b.ReportAllocs()
	for b.Loop() {
		if truth, err := expr.True(environment); err != nil || !truth {
			b.Fatal(truth, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("ai_review.confidence < 0.7"); err != nil {
			b.Fatal(err)
		}
	}
}
