package engine_test

import (
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/memory"
)

// A kind that was stored when the rules were laxer must not keep the engine from
// starting, nor its organisation from working.
func TestAKindThatIsNotValidAnyMoreIsLeftOut(t *testing.T) {
	s := memory.Open(memory.Options{Embedded: true})
	old := rondo.StepKind{OrgID: "acme", Name: "old", Contract: []byte(`{"behaviour": "telepathy"}`), Status: "active"}
	if _, err := s.PutStepKind(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	e := begin(t, s)
	if _, err := e.EventSchemas(t.Context(), user()); err != nil {
		t.Error(err)
	}
	publishTemplate(t, e, "ai_only")
}
