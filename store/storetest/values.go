package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// oddStrings are all different, although many a database thinks otherwise.
var oddStrings = []string{
	"abc", "ABC", "Abc", "ábc", "a\u0301bc", "abc ", " abc", "abc\t", "abc\n", "abc\u00a0", "ab\u200bc", "\u202eabc",
	"a%", "a_", "ab", "a\\", "a\\\\", "a'", "a''", `a"`, "a`", "a$1", "a?", "a:b", "a;--", "a/*", "'; DROP TABLE cases; --",
	"ss", "ß", "SS", "ẞ", "i", "I", "ı", "İ", "k", "\u212a", "ﬁ", "fi", "æ", "ae", "日本語", "😀", "😁", "\U0001f468\u200d\U0001f469",
	"NULL", "null", "true", "0", "00", "0.0", "1e1", "10", "{}", "[]", `{"a":1}`, "\x01", "\x7f", "\ufeff", "\ufffd",
	strings.Repeat("x", 128), strings.Repeat("x", 127), strings.Repeat("😀", 32), strings.Repeat("é", 64),
}

var valueTests = []test{
	{name: "strings that look alike are different cases", run: func(d *db) {
		write := &store.Write{}
		for _, odd := range oddStrings {
			write.Instances = append(write.Instances,
				store.InstanceWrite{Instance: d.newInstance(rondo.CaseKey{OrgID: "acme", CaseID: odd})},
				store.InstanceWrite{Instance: d.newInstance(rondo.CaseKey{OrgID: odd, CaseID: "same"})})
		}
		d.commit(write)
		loaded := d.load(loadFor(write))
		for _, w := range write.Instances {
			at := w.Instance.Key()
			same(d.t, fmt.Sprintf("the loaded case %q", at), loaded.Cases[at].Instance, w.Instance)
			list := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: at.OrgID, CaseID: at.CaseID}, store.Page{}))(d.t)
			same(d.t, fmt.Sprintf("the listed case %q", at), list, []*rondo.Instance{w.Instance})
		}
	}},
	{name: "strings that look alike are different steps, streams, products and codes", run: func(d *db) {
		instance := d.start(key("c-1"))
		write := &store.Write{}
		for i, odd := range oddStrings {
			step := d.newStep(instance, odd, 1, i+1)
			step.CorrelationID, step.Kind, step.Outcome = odd, odd, odd
			write.Steps = append(write.Steps, step)
			must(0, d.PutReasonCode(d.ctx(), d.newReason("acme", "halt", odd, odd)))(d.t)
			if version := must(d.PutStepKind(d.ctx(), newKind("acme", odd, "active")))(d.t).Version; version != 1 {
				d.t.Fatalf("kind %q has version %d, want 1", odd, version)
			}
			if version := d.create(d.newDefinition("acme", odd)).Version; version != 1 {
				d.t.Fatalf("product %q has version %d, want 1", odd, version)
			}
		}
		d.commit(write)
		same(d.t, "the steps", must(d.Steps(d.ctx(), "acme", instance.ID))(d.t), write.Steps)
		if codes := must(d.ReasonCodes(d.ctx(), "acme"))(d.t); len(codes) != len(oddStrings) {
			d.t.Fatalf("%d reason codes are stored, want %d", len(codes), len(oddStrings))
		}
		for i, kinds := 1, must(d.StepKinds(d.ctx(), "acme"))(d.t); i < len(kinds); i++ {
			if kinds[i-1].Name >= kinds[i].Name {
				d.t.Fatalf("kind %q is listed before %q: names sort bytewise", kinds[i-1].Name, kinds[i].Name)
			}
		}
	}},
	{name: "strings that look alike are different streams", opts: embedded, run: func(d *db) {
		events := make([]rondo.Outgoing, len(oddStrings))
		for i, odd := range oddStrings {
			events[i] = d.newOutgoing(odd)
		}
		sent := d.send(events)
		d.join("clinical", oddStrings...)
		if positions := d.group(); len(positions) != len(oddStrings) {
			d.t.Fatalf("the group has %d positions, want %d", len(positions), len(oddStrings))
		}
		for i, odd := range oddStrings {
			same(d.t, fmt.Sprintf("the log of %q", odd), d.logged(odd), sent[i:i+1])
		}
	}},
	{name: "free text of any length and script comes back", run: func(d *db) {
		instance := d.newInstance(key("c-1"))
		text := strings.Repeat("Grüße, 世界 😀 \"quoted\" \\ % _ \n", 300)
		instance.HaltNote, instance.CancelledReason = text, text
		event := d.newEvent(key("c-1"), "case.created")
		event.Error = text
		intervention := d.newIntervention(instance)
		intervention.Reason = text
		d.commit(&store.Write{
			Instances: []store.InstanceWrite{{Instance: instance}}, Events: []rondo.EventRecord{event},
			Interventions: []rondo.Intervention{intervention},
		})
		same(d.t, "the instance", d.state(key("c-1")).Instance, instance)
		same(d.t, "the event", must(d.Event(d.ctx(), "acme", event.EventID))(d.t), &event)
		same(d.t, "the interventions", must(d.Interventions(d.ctx(), "acme", instance.ID))(d.t), []rondo.Intervention{intervention})
	}},
	{name: "empty strings are values", run: func(d *db) {
		at := rondo.CaseKey{OrgID: "acme", CaseID: ""}
		instance := d.newInstance(at)
		instance.ProductID = ""
		event := d.newEvent(at, "")
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}, Events: []rondo.EventRecord{event}})
		d.refused(&store.Write{Instances: []store.InstanceWrite{{Instance: d.newInstance(at)}}})
		same(d.t, "the instance", d.state(at).Instance, instance)
		same(d.t, "the event", must(d.Event(d.ctx(), "acme", event.EventID))(d.t), &event)
	}},
	{name: "a product that is not named has one active definition too", run: func(d *db) {
		first := d.published("acme", "", "hash-1")
		d.published("acme", "", "hash-2")
		if got := d.definition(first).Status; got != rondo.DefinitionArchived {
			d.t.Fatalf("the replaced definition is %s, want archived", got)
		}
	}},
	{name: "times keep their microseconds and come back in UTC", run: testTimes},
	{name: "large and difficult JSON comes back", run: testJSON},
}

func testTimes(d *db) {
	elsewhere := time.FixedZone("elsewhere", 5*3600+1800)
	for i, moment := range []time.Time{
		{},
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 1, 23, 59, 59, 999999000, time.UTC),
		time.Date(2026, 3, 29, 2, 30, 0, 1000, elsewhere),
		time.Date(2999, 12, 31, 23, 59, 59, 999999000, time.UTC),
		time.Date(2026, 3, 1, 0, 0, 0, 123456789, elsewhere),
	} {
		instance := d.newInstance(key(fmt.Sprint(i)))
		instance.StartedAt, instance.DeadlineAt, instance.CompletedAt, instance.WakeAt = moment, moment, moment, moment
		event := d.newEvent(instance.Key(), "case.created")
		event.ReceivedAt = moment
		d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}, Events: []rondo.EventRecord{event}})
		got := must(d.Instance(d.ctx(), "acme", instance.ID))(d.t)
		for name, back := range map[string]time.Time{
			"started_at": got.StartedAt, "deadline_at": got.DeadlineAt, "completed_at": got.CompletedAt, "wake_at": got.WakeAt,
			"received_at": must(d.Event(d.ctx(), "acme", event.EventID))(d.t).ReceivedAt,
		} {
			if back.Location() != time.UTC || back.Sub(moment).Abs() >= time.Microsecond || back.IsZero() != moment.IsZero() ||
				back.Nanosecond()%1000 != 0 {
				d.t.Fatalf("%s %v came back as %v", name, moment, back)
			}
		}
	}
}

func testJSON(d *db) {
	large := `{"text":"` + strings.Repeat("é😀\\n", 25_000) + `"}`
	for i, document := range []string{
		`{"escaped":"a\u0000b\u0001\ud83d\ude00","plain":"😀","separator":"\u2028","html":"<b>&'"}`,
		`{"numbers":[0,-0.0,1.0,1.50,1e2,1E-7,9007199254740991,12345678901234567890,0.1]}`,
		`{"b":1,"a":{"b":2,"B":3},"":null,"list":[[],{},null,true,""]}`,
		` { "spaces" : [ 1 , 2 ] } `,
		large,
	} {
		instance := d.newInstance(key(fmt.Sprint(i)))
		raw := json.RawMessage(document)
		instance.Context = rondo.Context{"step": raw, "odd \u0000 \"name\"": json.RawMessage(`1`)}
		instance.Machine.Live[0].Input = raw
		step := d.newStep(instance, "ai_review", 1, 1)
		step.Input, step.Output, step.Error = raw, raw, raw
		event := d.newEvent(instance.Key(), "case.created")
		event.Envelope = raw
		intervention := d.newIntervention(instance)
		intervention.Before, intervention.After = raw, raw
		out := d.newOutgoing("workflow.started")
		out.Envelope = raw
		committed := d.commit(&store.Write{
			Instances: []store.InstanceWrite{{Instance: instance}}, Steps: []rondo.Step{step}, Events: []rondo.EventRecord{event},
			Outbox: []rondo.Outgoing{out}, Interventions: []rondo.Intervention{intervention},
		})
		same(d.t, "the loaded instance", d.state(instance.Key()).Instance, instance)
		same(d.t, "the instance", must(d.Instance(d.ctx(), "acme", instance.ID))(d.t), instance)
		same(d.t, "the steps", must(d.Steps(d.ctx(), "acme", instance.ID))(d.t), []rondo.Step{step})
		same(d.t, "the interventions", must(d.Interventions(d.ctx(), "acme", instance.ID))(d.t), []rondo.Intervention{intervention})
		sameBytes(d.t, "the envelope", must(d.Event(d.ctx(), "acme", event.EventID))(d.t).Envelope, raw)
		claimed := d.claim(epoch, 10)
		if len(claimed) != 1 || claimed[0].Seq != committed.Seqs[0] {
			d.t.Fatalf("claimed %d events, want the one just sent", len(claimed))
		}
		sameBytes(d.t, "the outgoing envelope", claimed[0].Envelope, raw)

		draft := d.newDefinition("acme", fmt.Sprint(i))
		draft.Body = raw
		draft = d.create(draft)
		same(d.t, "the definition", d.definition(draft), draft)
		hash := fmt.Sprintf("hash-%d", i)
		d.edit(draft, "published", func(c *store.DefinitionChange) {
			c.Definition.Status, c.Definition.SnapshotHash, c.Snapshot = rondo.DefinitionActive, hash, raw
		})
		sameBytes(d.t, "the snapshot", must(d.Snapshot(d.ctx(), hash))(d.t), raw)
	}
}
