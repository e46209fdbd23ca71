package httpapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func number(text string, n float64) rondo.AttributeValue {
	return rondo.AttributeValue{Text: text, Number: n, IsNumber: true}
}

func TestTestsOfContextValues(t *testing.T) {
	t.Parallel()
	tests := map[string][]store.AttributeTest{
		"ai_review.confidence<0.7":     {{Path: "ai_review.confidence", Op: "<", Value: number("0.7", 0.7)}},
		" a.b >= 7e2 ":                 {{Path: "a.b", Op: ">=", Value: number("700", 700)}},
		"a=0.50":                       {{Path: "a", Op: "=", Value: number("0.5", 0.5)}},
		"a!=-0":                        {{Path: "a", Op: "!=", Value: number("0", 0)}},
		"a=true":                       {{Path: "a", Op: "=", Value: rondo.AttributeValue{Text: "true"}}},
		"region=eu west":               {{Path: "region", Op: "=", Value: rondo.AttributeValue{Text: "eu west"}}},
		`region="0.7"`:                 {{Path: "region", Op: "=", Value: rondo.AttributeValue{Text: "0.7"}}},
		`a="x,y\"z",b<=1,c>"m"`:        {{Path: "a", Op: "=", Value: rondo.AttributeValue{Text: `x,y"z`}}, {Path: "b", Op: "<=", Value: number("1", 1)}, {Path: "c", Op: ">", Value: rondo.AttributeValue{Text: "m"}}},
		"a==1":                         {{Path: "a", Op: "=", Value: rondo.AttributeValue{Text: "=1"}}},
		"case.metadata.since<2026-01-": {{Path: "case.metadata.since", Op: "<", Value: rondo.AttributeValue{Text: "2026-01-"}}},
	}
	for given, want := range tests {
		got, err := parseTests(given)
		if err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", given, diff)
		}
	}
	for _, bad := range []string{"a", "=1", "a=", `a=""`, "a=1,", ",a=1", "a=1,b=1,c=1,d=1", "a[0]=1", "a.=1", "a=[1]", "a={}", "a=null", "1a=2", "a b=1", "a~1"} {
		if got, err := parseTests(bad); err == nil {
			t.Errorf("%q was taken as %+v", bad, got)
		}
	}
}

func FuzzParseTests(f *testing.F) {
	f.Add(`a="x,y",b<=1`)
	f.Add(`a="\`)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseTests(s)
		if err != nil {
			return
		}
		filter := store.InstanceFilter{Where: got}
		if _, err := filter.Tests(); err != nil || len(got) > maxTests {
			t.Errorf("%q gives what the store refuses: %v", s, err)
		}
	})
}

func TestAges(t *testing.T) {
	t.Parallel()
	tests := map[string]time.Duration{"30s": 30 * time.Second, "90m": 90 * time.Minute, "48h": 48 * time.Hour, "3d": 72 * time.Hour, "2w": 14 * 24 * time.Hour}
	for given, want := range tests {
		if got, ok := parseAge(given); !ok || got != want {
			t.Errorf("%s: %v, %v", given, got, ok)
		}
	}
	for _, bad := range []string{"", "3", "d", "0h", "-1h", "1.5h", "1h30m", "9999999h", "999999w", " 1h", "1y"} {
		if got, ok := parseAge(bad); ok {
			t.Errorf("%q was taken as %v", bad, got)
		}
	}
}
