package cond_test

import (
	"fmt"

	"github.com/rondo-engine/rondo/internal/cond"
)

func ExampleExpr_True() {
	escalate, err := cond.Parse("ai_review.confidence < 0.7 || sample(0.1)")
	if err != nil {
		fmt.Println(err)
		return
	}
	known := map[string]any{"ai_review.confidence": 0.65}
	truth, err := escalate.True(cond.Env{
		Lookup: func(path []string) (any, error) { return known[path[0]+"."+path[1]], nil },
		Sample: func(p float64) bool { return cond.SampleUnit("case-1", "definition-1", "escalate") < p },
	})
	fmt.Println(truth, err)
	// Output: true <nil>
}

func ExampleParse_error() {
	_, err := cond.Parse("ai_review.confidence + 1 < 2")
	fmt.Println(err)
	// Output: at offset 21: there is no arithmetic: only comparisons, in, &&, || and !
}
