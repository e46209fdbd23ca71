package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
	"github.com/rondo-engine/rondo/store"
)

// TestDefinition runs tests on a definition of kind case: those given, or, when
// tests is nil, those that are kept in the definition itself. Nothing is stored,
// sent or asked of anyone.
func (e *Engine) TestDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, tests []json.RawMessage) (deftest.Report, error) {
	d, snapshot, err := e.playable(ctx, p, id)
	if err != nil {
		return deftest.Report{}, err
	}
	if tests == nil {
		if tests, _, err = definition.TestsOf(d.Body); err != nil {
			return deftest.Report{}, err
		}
	}
	parsed, err := deftest.Parse(tests)
	if err != nil {
		return deftest.Report{}, err
	}
	return deftest.Run(snapshot, parsed), nil
}

// judge says everything that forbids publishing a definition: the publish rules,
// tests that are not well-formed, and, when nothing else is wrong and it asks for
// it, tests that fail.
func (e *Engine) judge(d rondo.Definition, env definition.Environment) definition.Report {
	report := definition.ValidateOf(d.Kind, d.Body, env)
	switch {
	case d.Kind == rondo.KindRun && !d.IsTemplate: // a template may use what others have
		report.Errors = append(report.Errors, e.judgeRun(d.Body, report.Errors)...)
		return report
	case d.Kind != rondo.KindCase:
		return report
	}
	tests, required, err := definition.TestsOf(d.Body)
	if err != nil {
		return report // the rules have said so
	}
	parsed, err := deftest.Parse(tests)
	report.Errors = append(report.Errors, fieldsOf(err)...)
	switch {
	case !required || err != nil:
	case len(tests) == 0:
		report.Errors = append(report.Errors, rondo.FieldError{
			Code: "tests_missing", Pointer: "/require_tests", Message: "the definition requires tests and has none: add tests, or take require_tests out",
		})
	case report.Valid():
		report.Errors = append(report.Errors, failedTests(d, env, parsed)...)
	}
	return report
}

func failedTests(d rondo.Definition, env definition.Environment, tests []deftest.Test) []rondo.FieldError {
	snapshot, err := frozenSnapshot(d, env)
	if err != nil {
		return fieldsOf(err)
	}
	var failed []rondo.FieldError
	for i, result := range deftest.Run(snapshot, tests).Results {
		for _, failure := range result.Failures {
			failed = append(failed, rondo.FieldError{Code: "test_failed", Pointer: fmt.Sprintf("/tests/%d", i), Message: fmt.Sprintf("%s: %s", result.Name, failure)})
		}
	}
	return failed
}

// fieldsOf are the places that an error names; an error without places is one
// finding about the whole.
func fieldsOf(err error) []rondo.FieldError {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*rondo.Error](err); ok && len(e.Fields) > 0 {
		return e.Fields
	}
	return []rondo.FieldError{{Code: string(rondo.CodeOf(err)), Message: err.Error()}}
}

// playable reads a case definition and compiles it: a published one as it was
// frozen, a draft as it would be now. A draft that could not be published cannot
// be played either.
func (e *Engine) playable(ctx context.Context, p rondo.Principal, id rondo.ID) (rondo.Definition, *definition.Snapshot, error) {
	d, err := e.Definition(ctx, p, id)
	if err != nil {
		return d, nil, err
	}
	if d.Kind != rondo.KindCase {
		return d, nil, rondo.WrongState("only definitions of kind case can be played; this one is of kind " + string(d.Kind))
	}
	if d.SnapshotHash != "" {
		snapshot, err := e.snapshots.Get(ctx, d.SnapshotHash)
		return d, snapshot, rondo.Op("read the frozen definition", err)
	}
	env, err := e.environment(ctx, d.OrgID)
	if err != nil {
		return d, nil, err
	}
	if report := definition.Validate(d.Body, env); !report.Valid() {
		return d, nil, &rondo.Error{
			Code: rondo.CodeInvalidDef, Message: fmt.Sprintf("the definition breaks %d publish rules", len(report.Errors)),
			Hint: "correct what errors lists; only what could be published can be played", Fields: report.Errors,
		}
	}
	snapshot, err := frozenSnapshot(d, env)
	return d, snapshot, err
}

func frozenSnapshot(d rondo.Definition, env definition.Environment) (*definition.Snapshot, error) {
	document, _, err := definition.Freeze(d.Body, env)
	if err != nil {
		return nil, err
	}
	return definition.Compile(document)
}

// BacktestDefinition plays the last finished cases through a draft: modules and
// people do what they did then. Nothing is stored, sent or asked of anyone.
func (e *Engine) BacktestDefinition(ctx context.Context, p rondo.Principal, id rondo.ID, in deftest.BacktestRequest) (deftest.BacktestReport, error) {
	if in.Last == 0 {
		in.Last = deftest.DefaultBacktest
	}
	if in.Last < 1 || in.Last > deftest.MaxBacktest {
		return deftest.BacktestReport{}, invalidField("/last", "out_of_range", fmt.Sprintf("last is from 1 to %d", deftest.MaxBacktest))
	}
	d, draft, err := e.playable(ctx, p, id)
	if err != nil {
		return deftest.BacktestReport{}, err
	}
	if !in.DefinitionID.IsZero() {
		if _, err := e.Definition(ctx, p, in.DefinitionID); err != nil {
			return deftest.BacktestReport{}, err
		}
	}
	finished, err := e.lastFinished(ctx, p.Tenant, d.ProductID, in)
	if err != nil {
		return deftest.BacktestReport{}, err
	}
	report := deftest.BacktestReport{Cases: []deftest.Comparison{}}
	for batch := range slices.Chunk(finished, backtestBatch) {
		if err := e.backtestSome(ctx, p.Tenant, draft, batch, &report); err != nil {
			return deftest.BacktestReport{}, err
		}
	}
	return report, nil
}

const backtestBatch = 200

// lastFinished lists completed and cancelled cases, newest first.
func (e *Engine) lastFinished(ctx context.Context, org, product string, in deftest.BacktestRequest) ([]*rondo.Instance, error) {
	var found []*rondo.Instance
	for _, status := range []rondo.Status{rondo.StatusCompleted, rondo.StatusCancelled} {
		filter := store.InstanceFilter{OrgID: org, ProductID: product, Status: status, DefinitionID: in.DefinitionID}
		page := store.Page{Limit: backtestBatch}
		for taken := 0; taken < in.Last; {
			rows, err := e.store.Instances(ctx, filter, page)
			if err != nil {
				return nil, rondo.Op("list finished cases", err)
			}
			found = append(found, rows...)
			taken += len(rows)
			if len(rows) < page.Limit {
				break
			}
			page.After = rows[len(rows)-1].ID
		}
	}
	slices.SortFunc(found, func(a, b *rondo.Instance) int { return cmp.Compare(string(b.ID[:]), string(a.ID[:])) })
	return found[:min(len(found), in.Last)], nil
}

func (e *Engine) backtestSome(ctx context.Context, org string, draft *definition.Snapshot, batch []*rondo.Instance, report *deftest.BacktestReport) error {
	ids := make([]rondo.ID, len(batch))
	for i, instance := range batch {
		ids[i] = instance.ID
	}
	steps, err := e.store.StepsOf(ctx, org, ids)
	if err != nil {
		return rondo.Op("read the steps of finished cases", err)
	}
	for _, instance := range batch {
		snapshot, err := e.snapshots.Get(ctx, instance.SnapshotHash)
		if err != nil {
			return err
		}
		c := deftest.Backtest(draft, deftest.Recorded{Instance: instance, Snapshot: snapshot, Steps: steps[instance.ID]})
		report.Compared++
		switch c.Verdict {
		case deftest.Same:
			report.Same++
			continue
		case deftest.Differs:
			report.Differs++
		case deftest.Inconclusive:
			report.Inconclusive++
		}
		report.Cases = append(report.Cases, c)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
