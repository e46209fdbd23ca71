package storetest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// text and num are searchable values.
func text(s string) rondo.AttributeValue { return rondo.AttributeValue{Text: s} }

func num(n float64) rondo.AttributeValue {
	return rondo.AttributeValue{Text: strconv.FormatFloat(n, 'g', -1, 64), Number: n, IsNumber: true}
}

func attribute(of *rondo.Instance, path string, values ...rondo.AttributeValue) rondo.Attribute {
	return rondo.Attribute{OrgID: of.OrgID, InstanceID: of.ID, Path: path, Values: values}
}

// with commits a new instance that holds values.
func (d *db) with(key rondo.CaseKey, attributes func(*rondo.Instance) []rondo.Attribute, edits ...func(*rondo.Instance)) *rondo.Instance {
	d.t.Helper()
	instance := d.newInstance(key)
	for _, edit := range edits {
		edit(instance)
	}
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}, Attributes: attributes(instance)})
	return instance
}

// holding is values of one path.
func holding(path string, values ...rondo.AttributeValue) func(*rondo.Instance) []rondo.Attribute {
	return func(i *rondo.Instance) []rondo.Attribute { return []rondo.Attribute{attribute(i, path, values...)} }
}

// caseIDs lists the cases that a filter of the first organisation finds.
func (d *db) caseIDs(filter store.InstanceFilter, page store.Page) string {
	d.t.Helper()
	filter.OrgID = "acme"
	return joined(must(d.Instances(d.ctx(), filter, page))(d.t))
}

func joined(list []*rondo.Instance) string {
	ids := make([]string, len(list))
	for i, instance := range list {
		ids[i] = instance.CaseID
	}
	return strings.Join(ids, " ")
}

func where(path, op string, value rondo.AttributeValue) store.InstanceFilter {
	return store.InstanceFilter{Where: []store.AttributeTest{{Path: path, Op: op, Value: value}}}
}

var searchTests = []test{
	{name: "values are kept by path and text, each once", run: func(d *db) {
		instance := d.with(key("c-1"), func(i *rondo.Instance) []rondo.Attribute {
			return []rondo.Attribute{
				attribute(i, "case.metadata.tags", text("urgent"), text("vip"), text("urgent"), text("Vip")),
				attribute(i, "ai_review.confidence", num(0.7)),
				attribute(i, "mixed", text("5"), num(5), num(-2.5), text("true")),
				attribute(i, "nothing"),
			}
		})
		want := []rondo.Attribute{
			attribute(instance, "ai_review.confidence", num(0.7)),
			attribute(instance, "case.metadata.tags", text("Vip"), text("urgent"), text("vip")),
			attribute(instance, "mixed", num(-2.5), num(5), text("true")),
		}
		same(d.t, "the attributes", must(d.Attributes(d.ctx(), "acme", instance.ID))(d.t), want)
		same(d.t, "the attributes of nobody", must(d.Attributes(d.ctx(), "acme", d.ids.New()))(d.t), []rondo.Attribute{})
	}},
	{name: "writing a path replaces what it held and nothing else", run: func(d *db) {
		instance := d.with(key("c-1"), func(i *rondo.Instance) []rondo.Attribute {
			return []rondo.Attribute{attribute(i, "a", text("x"), text("y")), attribute(i, "b", num(1)), attribute(i, "A", text("big"))}
		})
		other := d.with(key("c-2"), holding("a", text("x")))
		d.commit(&store.Write{Attributes: []rondo.Attribute{attribute(instance, "a", text("y"), text("z")), attribute(instance, "b")}})
		same(d.t, "the attributes", must(d.Attributes(d.ctx(), "acme", instance.ID))(d.t),
			[]rondo.Attribute{attribute(instance, "A", text("big")), attribute(instance, "a", text("y"), text("z"))})
		same(d.t, "the other's attributes", must(d.Attributes(d.ctx(), "acme", other.ID))(d.t), []rondo.Attribute{attribute(other, "a", text("x"))})
		same(d.t, "cases with x", d.caseIDs(where("a", "=", text("x")), store.Page{}), "c-2")
		same(d.t, "cases with z", d.caseIDs(where("a", "=", text("z")), store.Page{}), "c-1")
		same(d.t, "cases with b", d.caseIDs(where("b", ">=", num(0)), store.Page{}), "")
	}},
	{name: "values ride with their commit or not at all", run: func(d *db) {
		instance := d.with(key("c-1"), holding("a", text("x")))
		event := d.newEvent(key("c-1"), "case.created")
		d.refused(&store.Write{Attributes: []rondo.Attribute{attribute(instance, "a", text("y"))}, Events: []rondo.EventRecord{event, event}})
		same(d.t, "cases with x", d.caseIDs(where("a", "=", text("x")), store.Page{}), "c-1")
	}},
	{name: "texts are found exactly as they are", run: func(d *db) {
		texts := []string{
			"abc", "ABC", "ábc", "a\u0301bc", "abc ", " abc", "", "a%c", "a_c", "%", "\\", "'", `"`, "a\x00b", "a\x00", "a", "😀", "5", "05", "null",
			strings.Repeat("é", rondo.MaxAttributeBytes/2), strings.Repeat("x", rondo.MaxAttributeBytes),
		}
		for i, s := range texts {
			d.with(key(fmt.Sprint("c-", i)), holding("p", text(s)))
		}
		for i, s := range texts {
			same(d.t, fmt.Sprintf("the cases with %q", s), d.caseIDs(where("p", "=", text(s)), store.Page{}), fmt.Sprint("c-", i))
		}
		for _, s := range []string{"Abc", "abc  ", "a?c", "_", "P", strings.Repeat("x", rondo.MaxAttributeBytes-1), strings.Repeat("x", rondo.MaxAttributeBytes+1)} {
			same(d.t, fmt.Sprintf("the cases with %q", s), d.caseIDs(where("p", "=", text(s)), store.Page{}), "")
		}
		same(d.t, "the cases with another path", d.caseIDs(where("P", "=", text("abc")), store.Page{}), "")
	}},
	{name: "texts that are too long are not searchable", run: func(d *db) {
		long := strings.Repeat("x", rondo.MaxAttributeBytes+1)
		instance := d.with(key("c-1"), holding("p", text(long), text("short")))
		same(d.t, "the attributes", must(d.Attributes(d.ctx(), "acme", instance.ID))(d.t), []rondo.Attribute{attribute(instance, "p", text("short"))})
		same(d.t, "the cases", d.caseIDs(where("p", "=", text(long)), store.Page{}), "")
	}},
	{name: "values compare by number or by text", run: testComparisons},
	{name: "a comparison that is not one is refused", run: func(d *db) {
		for _, test := range []store.AttributeTest{{Path: "p", Op: "LIKE", Value: text("a")}, {Path: "p", Value: text("a")}, {Op: "=", Value: text("a")}} {
			_, err := d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme", Where: []store.AttributeTest{test}}, store.Page{})
			wantCode(d.t, err, rondo.CodeInvalid)
		}
	}},
	{name: "a tag is one of the values of its path", run: func(d *db) {
		d.with(key("a"), holding(rondo.TagPath, text("urgent"), text("vip")))
		d.with(key("b"), holding(rondo.TagPath, text("urgent")))
		d.with(key("c"), holding("case.metadata.tag", text("urgent")))
		d.with(rondo.CaseKey{OrgID: "other", CaseID: "d"}, holding(rondo.TagPath, text("urgent")))
		same(d.t, "urgent cases", d.caseIDs(store.InstanceFilter{Tag: "urgent"}, store.Page{}), "b a")
		same(d.t, "vip cases", d.caseIDs(store.InstanceFilter{Tag: "vip"}, store.Page{}), "a")
		same(d.t, "urge cases", d.caseIDs(store.InstanceFilter{Tag: "urge"}, store.Page{}), "")
		same(d.t, "urgent cases of everyone", joined(must(d.Instances(d.ctx(), store.InstanceFilter{Tag: "urgent"}, store.Page{}))(d.t)), "d b a")
	}},
	{name: "searches and filters combine", run: testCombinedSearch},
	{name: "pages of a search are whole and do not shift", run: testSearchPages},
	{name: "a search sees what was committed through another handle", run: func(d *db) {
		instance := d.with(key("c-1"), holding("p", num(1)))
		second := d.again()
		second.commit(&store.Write{Attributes: []rondo.Attribute{attribute(instance, "p", num(2))}})
		same(d.t, "cases with 1", d.caseIDs(where("p", "=", num(1)), store.Page{}), "")
		same(d.t, "cases with 2", d.caseIDs(where("p", "=", num(2)), store.Page{}), "c-1")
	}},
	{name: "many at once that replace one path leave the values of one", run: func(d *db) {
		instance := d.with(key("c-1"), holding("p", text("0")))
		handles := []*db{d, d.again()}
		together(8, func(i int) {
			value := fmt.Sprint(i + 1)
			_, err := handles[i%2].Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{key("c-1")}}, func(*store.Loaded) (*store.Write, error) {
				return &store.Write{Attributes: []rondo.Attribute{attribute(instance, "p", text(value), text("of "+value))}}, nil
			})
			if err != nil {
				d.t.Errorf("update %d: %v", i, err)
			}
		})
		attributes := must(d.Attributes(d.ctx(), "acme", instance.ID))(d.t)
		if len(attributes) != 1 || len(attributes[0].Values) != 2 || "of "+attributes[0].Values[0].Text != attributes[0].Values[1].Text {
			d.t.Fatalf("the path holds %+v, want the two values of one writer", attributes)
		}
	}},
	{name: "steps of many instances come each by number", run: func(d *db) {
		first, second, none := d.start(key("c-1")), d.start(key("c-2")), d.start(key("c-3"))
		a, b, c := d.newStep(first, "z", 1, 1), d.newStep(first, "a", 1, 2), d.newStep(second, "m", 1, 1)
		d.commit(&store.Write{Steps: []rondo.Step{b, c, a}})
		got := must(d.StepsOf(d.ctx(), "acme", []rondo.ID{second.ID, first.ID, none.ID, d.ids.New()}))(d.t)
		same(d.t, "the steps", got, map[rondo.ID][]rondo.Step{first.ID: {a, b}, second.ID: {c}})
		same(d.t, "the steps of none", must(d.StepsOf(d.ctx(), "acme", nil))(d.t), map[rondo.ID][]rondo.Step{})
	}},
}

func testComparisons(d *db) {
	d.with(key("none"), holding("other", num(1)))
	d.with(key("low"), holding("p", num(-1.5)))
	d.with(key("mid"), holding("p", num(2)))
	d.with(key("high"), holding("p", num(10)))
	d.with(key("two"), holding("p", num(2), num(10)))
	d.with(key("word"), holding("p", text("ten")))
	d.with(key("digits"), holding("p", text("10")))
	for _, list := range []struct {
		op    string
		value rondo.AttributeValue
		want  string
	}{
		{"=", num(2), "two mid"},
		{"=", num(10), "two high"}, // a number is no text
		{"=", text("10"), "digits"},
		{"!=", text("10"), "word two high mid low"},
		{"!=", num(2), "digits word two high low"}, // one of its values differs
		{"!=", text("ten"), "digits two high mid low"},
		{"<", num(2), "low"},
		{"<=", num(2), "two mid low"},
		{">", num(2), "two high"},
		{">=", num(2), "two high mid"},
		{">", num(9.5), "two high"}, // as numbers, and not as "10" and "9.5"
		{"<", num(-1.5), ""},
		{"<=", num(-1.5), "low"},
		{">", num(1e300), ""},
		{"<", text("2"), "digits"}, // as texts, among texts
		{">", text("2"), "word"},
		{">=", text("2"), "word"},
		{"<=", text("10"), "digits"},
		{">", text("ten"), ""},
	} {
		name := fmt.Sprintf("the cases with p %s %q (number: %v)", list.op, list.value.Text, list.value.IsNumber)
		same(d.t, name, d.caseIDs(where("p", list.op, list.value), store.Page{}), list.want)
	}
}

func testCombinedSearch(d *db) {
	client := func(i *rondo.Instance) { i.Mode = rondo.ModeClientDriven }
	halted := func(i *rondo.Instance) { i.Status, i.HaltReason = rondo.StatusHalted, "step_timeout" }
	both := func(i *rondo.Instance) []rondo.Attribute {
		return []rondo.Attribute{attribute(i, rondo.TagPath, text("urgent")), attribute(i, "score", num(0.9)), attribute(i, "site", text("north"))}
	}
	low := func(i *rondo.Instance) []rondo.Attribute {
		return []rondo.Attribute{attribute(i, rondo.TagPath, text("urgent")), attribute(i, "score", num(0.1)), attribute(i, "site", text("south"))}
	}
	d.with(key("a"), both)
	d.with(key("b"), both, halted)
	d.with(key("c"), low)
	d.with(key("e"), low, client)
	d.with(key("f"), holding("score", num(0.95)), client)
	score := store.AttributeTest{Path: "score", Op: ">", Value: num(0.5)}
	north := store.AttributeTest{Path: "site", Op: "=", Value: text("north")}
	for _, list := range []struct {
		name   string
		filter store.InstanceFilter
		want   string
	}{
		{"a range", store.InstanceFilter{Where: []store.AttributeTest{score}}, "f b a"},
		{"a tag and a range", store.InstanceFilter{Tag: "urgent", Where: []store.AttributeTest{score}}, "b a"},
		{"a tag, a range and a value", store.InstanceFilter{Tag: "urgent", Where: []store.AttributeTest{score, north}}, "b a"},
		{"both ends of a range", store.InstanceFilter{Where: []store.AttributeTest{score, {Path: "score", Op: "<", Value: num(0.95)}}}, "b a"},
		{"a tag and a status", store.InstanceFilter{Tag: "urgent", Status: rondo.StatusHalted}, "b"},
		{"a range and a reason", store.InstanceFilter{ReasonCode: "step_timeout", Where: []store.AttributeTest{score}}, "b"},
		{"a tag and a mode", store.InstanceFilter{Tag: "urgent", Mode: rondo.ModeClientDriven}, "e"},
		{"a tag and a step", store.InstanceFilter{Tag: "urgent", StepID: "ai_review", Mode: rondo.ModeActive}, "c b a"},
		{"a tag and a case", store.InstanceFilter{Tag: "urgent", CaseID: "c"}, "c"},
		{"a tag and a case without it", store.InstanceFilter{Tag: "urgent", CaseID: "f"}, ""},
		{"two that exclude each other", store.InstanceFilter{Mode: rondo.ModeClientDriven, Where: []store.AttributeTest{north}}, ""},
		{"a value and not another", store.InstanceFilter{Tag: "urgent", Where: []store.AttributeTest{{Path: "site", Op: "!=", Value: text("north")}}}, "e c"},
	} {
		same(d.t, "the list of "+list.name, d.caseIDs(list.filter, store.Page{}), list.want)
		same(d.t, "the list of "+list.name+" in a page", d.caseIDs(list.filter, store.Page{Limit: 50}), list.want)
	}
	everyone := store.InstanceFilter{Tag: "urgent", Where: []store.AttributeTest{score}}
	same(d.t, "the list of every organisation", joined(must(d.Instances(d.ctx(), everyone, store.Page{}))(d.t)), "b a")
}

func testSearchPages(d *db) {
	const cases = 40
	var odd, all []string
	for i := range cases {
		id := fmt.Sprintf("c-%02d", i)
		d.with(key(id), func(in *rondo.Instance) []rondo.Attribute {
			return []rondo.Attribute{attribute(in, "parity", num(float64(i%2))), attribute(in, "nr", num(float64(i)), num(float64(-i)))}
		})
		all = append([]string{id}, all...)
		if i%2 == 1 {
			odd = append([]string{id}, odd...)
		}
	}
	for _, list := range []struct {
		name   string
		filter store.InstanceFilter
		want   []string
	}{
		{"equal values", where("parity", "=", num(1)), odd},
		{"a range", where("nr", ">=", num(0)), all},
		{"a range, both values of which match", where("nr", ">", num(-100)), all},
		{"different values", where("parity", "!=", num(0)), odd},
		{"two searches", store.InstanceFilter{Where: []store.AttributeTest{{Path: "nr", Op: "<", Value: num(100)}, {Path: "parity", Op: "=", Value: num(1)}}}, odd},
	} {
		var got []string
		page := store.Page{Limit: 7}
		for {
			list.filter.OrgID = "acme"
			found := must(d.Instances(d.ctx(), list.filter, page))(d.t)
			if len(found) > page.Limit {
				d.t.Fatalf("a page has %d rows, want at most %d", len(found), page.Limit)
			}
			for _, instance := range found {
				got = append(got, instance.CaseID)
			}
			if len(found) < page.Limit {
				break
			}
			page.After = found[len(found)-1].ID
		}
		same(d.t, "the pages of "+list.name, got, list.want)
	}
}
