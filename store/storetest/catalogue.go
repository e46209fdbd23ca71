package storetest

import (
	"encoding/json"

	"github.com/rondo-engine/rondo"
)

func (d *db) newReason(org, scope, code, label string) rondo.ReasonCode {
	return rondo.ReasonCode{
		ID: d.ids.New(), OrgID: org, Scope: scope, Code: code, Label: label, Description: "why",
		RequiresNote: true, ApplicableStepKinds: []string{"run_ai_review", "delay"}, Active: true,
	}
}

func newKind(org, name, status string) rondo.StepKind {
	return rondo.StepKind{OrgID: org, Name: name, Contract: json.RawMessage(`{"behaviour":"request"}`), Status: status, CreatedBy: "u-1", CreatedAt: epoch}
}

var catalogueTests = []test{
	{name: "an organisation's reason code shadows the system's of the same scope and code", run: func(d *db) {
		system := d.newReason("", "halt", "ai_review_failed", "AI failed")
		otherScope := d.newReason("", "step_failure", "ai_review_failed", "AI failed")
		own := d.newReason("acme", "halt", "ai_review_failed", "our words")
		own.Active, own.RequiresNote, own.ApplicableStepKinds = false, false, nil
		extra := d.newReason("acme", "halt", "zz_ours", "only ours")
		upper := d.newReason("acme", "halt", "AI_REVIEW_FAILED", "another code")
		foreign := d.newReason("other", "halt", "ai_review_failed", "their words")
		for _, code := range []rondo.ReasonCode{foreign, extra, system, own, upper, otherScope} {
			must(0, d.PutReasonCode(d.ctx(), code))(d.t)
		}
		for org, want := range map[string][]rondo.ReasonCode{
			"acme":  {upper, own, extra, otherScope},
			"other": {foreign, otherScope},
			"third": {system, otherScope},
			"":      {system, otherScope},
		} {
			same(d.t, "the codes of "+org, must(d.ReasonCodes(d.ctx(), org))(d.t), want)
		}
	}},
	{name: "putting a reason code again replaces all of it but its id", run: func(d *db) {
		first := d.newReason("acme", "halt", "late", "Late")
		second := d.newReason("acme", "halt", "late", "Too late")
		second.Description, second.RequiresNote, second.Active, second.ApplicableStepKinds = "", false, false, []string{"delay"}
		must(0, d.PutReasonCode(d.ctx(), first))(d.t)
		must(0, d.PutReasonCode(d.ctx(), second))(d.t)
		want := second
		want.ID = first.ID
		same(d.t, "the codes", must(d.ReasonCodes(d.ctx(), "acme"))(d.t), []rondo.ReasonCode{want})
	}},
	{name: "putting a system reason code again does not make a second row", run: func(d *db) {
		first := d.newReason("", "halt", "late", "Late")
		must(0, d.PutReasonCode(d.ctx(), first))(d.t)
		again := d.newReason("", "halt", "late", "Late")
		must(0, d.PutReasonCode(d.ctx(), again))(d.t)
		same(d.t, "the codes", must(d.ReasonCodes(d.ctx(), ""))(d.t), []rondo.ReasonCode{first})
	}},
	{name: "every put of a step kind is its next version", run: func(d *db) {
		for _, want := range []struct {
			org, name string
			version   int
		}{{"acme", "invoice", 1}, {"acme", "invoice", 2}, {"acme", "Invoice", 1}, {"other", "invoice", 1}, {"acme", "invoice", 3}} {
			kind := newKind(want.org, want.name, "active")
			put := must(d.PutStepKind(d.ctx(), kind))(d.t)
			kind.Version = want.version
			same(d.t, "the stored kind", put, kind)
		}
	}},
	{name: "the newest active version of each kind is listed, by name", run: func(d *db) {
		put := func(org, name, status string) rondo.StepKind {
			return must(d.PutStepKind(d.ctx(), newKind(org, name, status)))(d.t)
		}
		put("acme", "pay", "active")
		pay := put("acme", "pay", "active")
		invoice := put("acme", "invoice", "active")
		put("acme", "invoice", "archived")
		put("acme", "gone", "archived")
		put("other", "pay", "active")
		same(d.t, "the kinds", must(d.StepKinds(d.ctx(), "acme"))(d.t), []rondo.StepKind{invoice, pay})
		same(d.t, "the kinds of nobody", must(d.StepKinds(d.ctx(), "third"))(d.t), []rondo.StepKind{})
	}},
	{name: "step kind versions are given once to callers at the same time", run: func(d *db) {
		const callers = 8
		second := d.again()
		versions := make([]int, callers)
		errs := make([]error, callers)
		together(callers, func(i int) {
			put, err := []*db{d, second}[i%2].PutStepKind(d.ctx(), newKind("acme", "pay", "active"))
			versions[i], errs[i] = put.Version, err
		})
		wantOneToN(d.t, "versions", versions, errs)
	}},
}
