package engine_test

import (
	"context"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestASearchThatNothingDeclaresIsRefused(t *testing.T) {
	e, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true})})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer e.Stop(context.WithoutCancel(t.Context()))
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
