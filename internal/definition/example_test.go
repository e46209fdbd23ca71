package definition_test

import (
	"fmt"

	"github.com/rondo-engine/rondo/internal/definition"
)

func Example() {
	draft, err := definition.ParseDraft([]byte(`
name: Triage
start_step: ai_review
steps:
  ai_review: {kind: run_ai_review, transitions: {on_complete: unsure}}
  unsure:    {kind: condition, expr: ai_review.confidence < 0.7, transitions: {on_true: review, on_false: done}}
  review:    {kind: request_human_review, params: {tier: sa_qa}, transitions: {on_complete: done}}
  done:      {kind: emit_final, transitions: {on_complete: TERMINAL}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	if err := definition.Validate(draft.Body, env).Err(); err != nil {
		fmt.Println(err)
		return
	}
	document, _, err := definition.Freeze(draft.Body, env)
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(snapshot.Order)
	fmt.Println(snapshot.InboundTypes())
	// Output:
	// [ai_review unsure review done]
	// [ai_review.completed ai_review.failed human_review.completed human_review.failed]
}
