package cond

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func traceEnv(t testing.TB, context string) Env {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(context), &root); err != nil {
		t.Fatal(err)
	}
	return Env{
		Lookup: func(path []string) (any, error) {
			at := root
			for _, name := range path {
				object, ok := at.(map[string]any)
				if !ok {
					return nil, nil
				}
				at = object[name]
			}
			return at, nil
		},
		Now:    func() int64 { return 1000 },
		Sample: func(p float64) bool { return p > 0.5 },
	}
}

func TestTraceSaysWhatWasLookedAt(t *testing.T) {
	const context = `{"ai": {"confidence": 0.61, "flag": true, "labels": ["a", "b"], "none": null, "text": "x\n\"é"}, "n": 5}`
	for _, test := range []struct{ name, expr, want string }{
		{
			"a comparison has both operands", "ai.confidence < 0.7",
			`{"result":true,"steps":[{"expr":"ai.confidence < 0.7","left":0.61,"right":0.7,"result":true}]}`,
		},
		{
			"what is certain before is not looked at", "ai.confidence > 0.7 && n == 5",
			`{"result":false,"steps":[{"expr":"ai.confidence > 0.7","left":0.61,"right":0.7,"result":false}]}`,
		},
		{
			"alternatives up to the one that holds", "n == 4 || n == 5 || n == 6",
			`{"result":true,"steps":[{"expr":"n == 4","left":5,"right":4,"result":false},{"expr":"n == 5","left":5,"right":5,"result":true}]}`,
		},
		{
			"in", `!("c" in ai.labels)`,
			`{"result":true,"steps":[{"expr":"(\"c\" in ai.labels)","left":"c","right":["a","b"],"result":false}]}`,
		},
		{
			"helpers come before what uses them", "len(ai.labels) >= coalesce(ai.none, 2)",
			`{"result":true,"steps":[{"expr":"len(ai.labels)","left":["a","b"],"result":2},` +
				`{"expr":"coalesce(ai.none, 2)","left":null,"right":2,"result":2},` +
				`{"expr":"len(ai.labels) >= coalesce(ai.none, 2)","left":2,"right":2,"result":true}]}`,
		},
		{
			"coalesce that needs no second value", "coalesce(n, 2) == 5",
			`{"result":true,"steps":[{"expr":"coalesce(n, 2)","left":5,"result":5},{"expr":"coalesce(n, 2) == 5","left":5,"right":5,"result":true}]}`,
		},
		{
			"sample and now", "sample(0.6) && now() < 2000",
			`{"result":true,"steps":[{"expr":"sample(0.6)","left":0.6,"result":true},{"expr":"now()","result":1000},{"expr":"now() < 2000","left":1000,"right":2000,"result":true}]}`,
		},
		{
			"a path that is a condition, and a missing one", "ai.missing || ai.flag",
			`{"result":true,"steps":[{"expr":"ai.missing","left":null,"result":false},{"expr":"ai.flag","left":true,"result":true}]}`,
		},
		{
			"texts are escaped", `ai.text == "x"`,
			`{"result":false,"steps":[{"expr":"ai.text == \"x\"","left":"x\n\"é","right":"x","result":false}]}`,
		},
		{
			"an error ends the trace", "n == 5 && ai.none < 1 && n == 6",
			`{"error":"ai.none < 1: cannot order null and a number: both must be numbers or both strings; say with coalesce(path, value) what a missing value means",` +
				`"steps":[{"expr":"n == 5","left":5,"right":5,"result":true},{"expr":"ai.none < 1","left":null,"right":1,` +
				`"error":"ai.none < 1: cannot order null and a number: both must be numbers or both strings; say with coalesce(path, value) what a missing value means"}]}`,
		},
		{
			"a number is no condition", "n",
			`{"error":"n: this is a number, but a condition needs true or false: compare it with something",` +
				`"steps":[{"expr":"n","left":5,"error":"n: this is a number, but a condition needs true or false: compare it with something"}]}`,
		},
		{
			"len of a number", "len(n) > 1",
			`{"error":"len(n): len takes an array, a string, an object or null, not a number",` +
				`"steps":[{"expr":"len(n)","left":5,"error":"len(n): len takes an array, a string, an object or null, not a number"}]}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			expr, err := Parse(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			env := traceEnv(t, context)
			want, wantErr := expr.True(env)
			got, trace, gotErr := expr.Trace(env)
			if got != want || (gotErr == nil) != (wantErr == nil) {
				t.Errorf("Trace gave %v, %v and True %v, %v", got, gotErr, want, wantErr)
			}
			if _, err := json.Marshal(trace); err != nil {
				t.Errorf("not JSON: %v", err)
			}
			raw := trace.AppendJSON(nil)
			if diff := cmp.Diff(test.want, string(raw)); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTraceIsBounded(t *testing.T) {
	many := strings.Repeat("n == 1 || ", 99) + "n == 1"
	long := strings.Repeat("ü", 5000)
	deep := strings.Repeat(`{"a":[`, 40) + strings.Repeat(`]}`, 40)
	for _, test := range []struct{ name, expr, context string }{
		{"many steps", many, `{"n": 2}`},
		{"a long text", `n == "x"`, `{"n": "` + long + `"}`},
		{"a long member name", `n == "x"`, `{"n": {"` + long + `": 1}}`},
		{"many items", `n == "x"`, `{"n": [` + strings.Repeat("1,", 5000) + `1]}`},
		{"a deep value", `n == "x"`, `{"n": ` + deep + `}`},
		{"texts that grow when escaped", `n == "x"`, `{"n": "` + strings.Repeat(`\u0001`, 250) + `"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			expr, err := Parse(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			_, trace, err := expr.Trace(traceEnv(t, test.context))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(trace)
			if err != nil {
				t.Fatalf("not JSON: %v\n%s", err, trace.AppendJSON(nil))
			}
			var written struct {
				Steps     []struct{ Left any }
				Truncated bool
			}
			if err := json.Unmarshal(raw, &written); err != nil {
				t.Fatal(err)
			}
			if len(written.Steps) > MaxTraceSteps || written.Truncated != (test.expr == many) {
				t.Errorf("%d steps, truncated %v", len(written.Steps), written.Truncated)
			}
			if cut, ok := written.Steps[0].Left.(string); test.expr != many && (!ok || !strings.HasSuffix(cut, "…") || len(cut) > MaxTraceValue) {
				t.Errorf("left is %v, want a text that was cut", written.Steps[0].Left)
			}
		})
	}
}

func BenchmarkCondition(b *testing.B) {
	expr, err := Parse("ai.confidence < 0.7")
	if err != nil {
		b.Fatal(err)
	}
	value := any(0.61)
	env := Env{Lookup: func([]string) (any, error) { return value, nil }}
	b.Run("True", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = expr.True(env)
		}
	})
	b.Run("Trace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = expr.Trace(env)
		}
	})
	var buffer []byte
	b.Run("TraceAsJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, trace, _ := expr.Trace(env)
			buffer = trace.AppendJSON(buffer[:0])
		}
	})
}
