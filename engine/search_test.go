package engine_test

import (
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func TestASearchThatNothingDeclaresIsRefused(t *testing.T) {
	e := inMemory(t)
	publishTemplate(t, e, "ai_only")
	search := func(path string) error {
		where := []store.AttributeTest{{Path: path, Op: "=", Value: rondo.AttributeValue{Text: "x"}}}
		_, err := e.Instances(t.Context(), user(), store.InstanceFilter{Where: where}, store.Page{Limit: 10})
		return err
	}
	for _, path := range []string{"ai_review.confidence", rondo.TagPath} {
		if err := search(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := search("ai_review.confidenec"); rondo.CodeOf(err) != rondo.CodeInvalid {
		t.Errorf("a path that nobody declares: %v", err)
	}
}
