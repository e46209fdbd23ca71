package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// docsTags are the groups of operations, in the order in which a reader needs
// them.
func docsTags() []*huma.Tag {
	return []*huma.Tag{
		{Name: "instances", Description: "Cases on their way: find and read them."},
		{Name: "explaining", Description: "What a case waits for, what happened, what comes next; live, too."},
		{Name: "interventions", Description: "What people do to one case. Each is recorded with before and after."},
		{Name: "conversations", Description: "Turns between a person and an AI agent: state, data and progress. Names are camelCase here, and members without a value are left out where the client never had them."},
		{Name: "runs", Description: "DAGs of steps: run them, redo only what a change touched, and read why. Names are camelCase here, and members that do not apply are left out."},
		{Name: "definitions", Description: "Drafts, publishing, versions, tests; and the templates to begin with."},
		{Name: "catalogue", Description: "What definitions refer to: reason codes and step kinds."},
		{Name: "events", Description: "How cases begin and modules answer, and how modules receive without Redis."},
		{Name: "dead letters", Description: "Entries of the bus that could not be used."},
		{Name: "jobs", Description: "Actions on many cases, and how far they are."},
		{Name: "retention", Description: "How long finished cases are kept."},
		{Name: "health", Description: "For probes and monitoring."},
		{Name: "documentation", Description: "These documents."},
	}
}

// bodyExamples reads the examples of request bodies, by operation id.
func bodyExamples() (map[string]json.RawMessage, error) {
	raw, err := docsFiles.ReadFile("docs/examples.json")
	if err != nil {
		return nil, rondo.Op("read the examples of bodies", err)
	}
	var out map[string]json.RawMessage
	err = json.Unmarshal(raw, &out)
	return out, rondo.Op("read the examples of bodies", err)
}

// addExamples puts the examples into the document. Every operation that takes a
// body has one, and no example is of anything else.
func (r *registrar) addExamples() error {
	examples, err := bodyExamples()
	if err != nil {
		return err
	}
	var errs []error
	for _, row := range r.api.Routes() {
		body := r.described(row).RequestBody
		if body == nil {
			continue
		}
		example, ok := examples[row.ID]
		if !ok {
			errs = append(errs, fmt.Errorf("httpapi: operation %s has no example of its body", row.ID))
		}
		body.Content["application/json"].Example = example
		delete(examples, row.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(examples)) {
		errs = append(errs, fmt.Errorf("httpapi: there is an example of a body for %s, which takes none", id))
	}
	return errors.Join(errs...)
}
