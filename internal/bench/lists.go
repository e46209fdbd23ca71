package bench

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Lists is the work of the list benchmark: pages of instances by every filter,
// among Instances that run, a twentieth as many that are halted, and Finished
// ones, all mixed.
type Lists struct {
	Store     store.Store
	Instances int
	Finished  int
	Rounds    int // how often each query runs
}

// ListResult is what a list benchmark measured.
type ListResult struct {
	Instances int           `json:"instances"`
	Finished  int           `json:"finished"`
	P95       float64       `json:"p95_ms"` // of the slowest query
	Queries   []QueryResult `json:"queries"`
}

// QueryResult is what one query took.
type QueryResult struct {
	Query string  `json:"query"`
	Rows  int     `json:"rows"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
}

// listQuery is a page that people ask for.
type listQuery struct {
	name   string
	filter store.InstanceFilter
	after  rondo.ID
}

// pageSize is the size of a page that a caller who names none gets.
const pageSize = 50

// Run fills the store and measures.
func (l Lists) Run(ctx context.Context) (ListResult, error) {
	seeded, err := l.seed(ctx)
	if err != nil {
		return ListResult{}, rondo.Op("seed instances", err)
	}
	queries := seeded.queries()
	took := make([][]time.Duration, len(queries))
	result := ListResult{Instances: l.Instances, Finished: l.Finished, Queries: make([]QueryResult, len(queries))}
	for range l.Rounds {
		for i, q := range queries { // one after the other, so that none has the caches to itself
			q.filter.OrgID = org
			begun := time.Now()
			found, err := l.Store.Instances(ctx, q.filter, store.Page{After: q.after, Limit: pageSize})
			if err != nil {
				return ListResult{}, rondo.Op("list "+q.name, err)
			}
			took[i] = append(took[i], time.Since(begun))
			result.Queries[i].Rows = len(found)
		}
	}
	for i, q := range queries {
		slices.Sort(took[i])
		r := &result.Queries[i]
		r.Query, r.P50, r.P95 = q.name, millis(percentile(took[i], 50)), millis(percentile(took[i], 95))
		result.P95 = max(result.P95, r.P95)
	}
	return result, nil
}

// queries are filters that match much, little and nothing, alone and together.
func (s *seededLists) queries() []listQuery {
	type filter = store.InstanceFilter
	where := func(path, op string, value rondo.AttributeValue) filter {
		return filter{Where: []store.AttributeTest{{Path: path, Op: op, Value: value}}}
	}
	both := func(f filter, with filter) filter {
		f.Where = append(slices.Clone(f.Where), with.Where...)
		f.Tag = with.Tag
		return f
	}
	return []listQuery{
		{name: "all"},
		{name: "all, in the middle", after: s.middle},
		{name: "running", filter: filter{Status: rondo.StatusRunning}},
		{name: "running, in the middle", filter: filter{Status: rondo.StatusRunning}, after: s.middle},
		{name: "halted", filter: filter{Status: rondo.StatusHalted}},
		{name: "completed", filter: filter{Status: rondo.StatusCompleted}},
		{name: "a common step", filter: filter{StepID: "step_3"}},
		{name: "a rare step", filter: filter{StepID: "rare_step"}},
		{name: "no such step", filter: filter{StepID: "no_step"}},
		{name: "running in a rare step", filter: filter{Status: rondo.StatusRunning, StepID: "rare_step"}},
		{name: "a common reason", filter: filter{ReasonCode: "step_timeout"}},
		{name: "a rare reason", filter: filter{ReasonCode: "rare_reason"}},
		{name: "no such reason", filter: filter{ReasonCode: "no_reason"}},
		{name: "a common definition", filter: filter{DefinitionID: s.definition}},
		{name: "a rare definition", filter: filter{DefinitionID: s.rareDefinition}},
		{name: "no such definition", filter: filter{DefinitionID: s.middle}},
		{name: "a rare mode", filter: filter{Mode: rondo.ModeClientDriven}},
		{name: "halted in a rare mode", filter: filter{Status: rondo.StatusHalted, Mode: rondo.ModeClientDriven}},
		{name: "no such product", filter: filter{ProductID: "none"}},
		{name: "started lately", filter: filter{StartedFrom: s.at(0.99)}},
		{name: "started long ago", filter: filter{StartedTo: s.at(0.01)}},
		{name: "started never", filter: filter{StartedFrom: s.at(2)}},
		{name: "running, started long ago", filter: filter{Status: rondo.StatusRunning, StartedTo: s.at(0.01)}},
		{name: "a case", filter: filter{CaseID: s.someCase}},
		{name: "no such case", filter: filter{CaseID: "none"}},
		{name: "a common tag", filter: filter{Tag: "common"}},
		{name: "a rare tag", filter: filter{Tag: "rare"}},
		{name: "no such tag", filter: filter{Tag: "none"}},
		{name: "a common value", filter: where("case.site", "=", text("north"))},
		{name: "a rare value", filter: where("case.site", "=", text("pole"))},
		{name: "no such value", filter: where("case.site", "=", text("moon"))},
		{name: "every value but one", filter: where("case.site", "!=", text("north"))},
		{name: "a wide range", filter: where("ai_review.confidence", ">=", number(0.5))},
		{name: "a narrow range", filter: where("ai_review.confidence", ">=", number(0.99))},
		{name: "an empty range", filter: where("ai_review.confidence", ">", number(1))},
		{name: "running, a common tag", filter: filter{Status: rondo.StatusRunning, Tag: "common"}},
		{name: "halted, a common tag", filter: filter{Status: rondo.StatusHalted, Tag: "common"}},
		{name: "halted, a wide range", filter: both(filter{Status: rondo.StatusHalted}, where("ai_review.confidence", ">=", number(0.5)))},
		{name: "running in a rare step, a common tag", filter: filter{Status: rondo.StatusRunning, StepID: "rare_step", Tag: "common"}},
		{name: "a rare mode, a wide range", filter: both(filter{Mode: rondo.ModeClientDriven}, where("ai_review.confidence", ">=", number(0.5)))},
		{name: "a common tag, a narrow range", filter: both(where("ai_review.confidence", ">=", number(0.99)), filter{Tag: "common"})},
		{name: "no such product, a common tag", filter: filter{ProductID: "none", Tag: "common"}},
	}
}
