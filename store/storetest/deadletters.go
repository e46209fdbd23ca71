package storetest

import (
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var deadLetterTests = []test{
	{name: "a dead letter is open when it comes in", run: func(d *db) {
		letter := d.newDeadLetter("acme")
		letter.Status = ""
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{letter}})
		letter.Status = rondo.DeadLetterOpen
		got := must(d.DeadLetter(d.ctx(), "acme", letter.ID))(d.t)
		same(d.t, "the dead letter", got, letter)
		sameBytes(d.t, "its body", got.Body, letter.Body)
	}},
	{name: "a dead letter is found by its organisation, and by those who see all", run: func(d *db) {
		ours, nobodys := d.newDeadLetter("acme"), d.newDeadLetter("")
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{ours, nobodys}})
		same(d.t, "ours for all", must(d.DeadLetter(d.ctx(), "", ours.ID))(d.t), ours)
		same(d.t, "nobody's for all", must(d.DeadLetter(d.ctx(), "", nobodys.ID))(d.t), nobodys)
		for _, org := range []string{"other", "ACME"} {
			_, err := d.DeadLetter(d.ctx(), org, ours.ID)
			wantCode(d.t, err, rondo.CodeNotFound)
			_, err = d.SettleDeadLetter(d.ctx(), org, ours.ID, store.Settlement{Status: rondo.DeadLetterDiscarded, At: epoch})
			wantCode(d.t, err, rondo.CodeNotFound)
		}
		_, err := d.DeadLetter(d.ctx(), "acme", nobodys.ID)
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
	{name: "a dead letter is settled once", run: func(d *db) {
		letter, other := d.newDeadLetter("acme"), d.newDeadLetter("acme")
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{letter, other}})
		settled := must(d.SettleDeadLetter(d.ctx(), "acme", letter.ID, store.Settlement{
			Status: rondo.DeadLetterDiscarded, By: "u-7", Note: "a test message", At: epoch.Add(time.Hour),
		}))(d.t)
		letter.Status, letter.SettledBy, letter.Note, letter.SettledAt = rondo.DeadLetterDiscarded, "u-7", "a test message", epoch.Add(time.Hour)
		same(d.t, "the settled one", settled, letter)
		same(d.t, "the stored one", must(d.DeadLetter(d.ctx(), "acme", letter.ID))(d.t), letter)
		_, err := d.SettleDeadLetter(d.ctx(), "", letter.ID, store.Settlement{Status: rondo.DeadLetterReplayed, By: "u-8", At: epoch})
		wantCode(d.t, err, rondo.CodeWrongState)
		same(d.t, "the stored one", must(d.DeadLetter(d.ctx(), "acme", letter.ID))(d.t), letter)
		same(d.t, "the other one", must(d.DeadLetter(d.ctx(), "acme", other.ID))(d.t), other)
		_, err = d.SettleDeadLetter(d.ctx(), "acme", d.ids.New(), store.Settlement{Status: rondo.DeadLetterReplayed, At: epoch})
		wantCode(d.t, err, rondo.CodeNotFound)
	}},
	{name: "of many that settle a dead letter at once, one does", run: func(d *db) {
		letter := d.newDeadLetter("acme")
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{letter}})
		second := d.again()
		var settled atomic.Int64
		together(6, func(i int) {
			_, err := []*db{d, second}[i%2].SettleDeadLetter(d.ctx(), "acme", letter.ID, store.Settlement{Status: rondo.DeadLetterReplayed, At: epoch})
			if err == nil {
				settled.Add(1)
			}
		})
		if settled.Load() != 1 {
			d.t.Fatalf("%d settled the dead letter, want 1", settled.Load())
		}
	}},
	{name: "dead letters are listed by status and stream", run: func(d *db) {
		a, b, c := d.newDeadLetter("acme"), d.newDeadLetter("acme"), d.newDeadLetter("other")
		b.Stream = "ai_review.completed"
		d.commit(&store.Write{DeadLetters: []rondo.DeadLetter{a, b, c}})
		a = must(d.SettleDeadLetter(d.ctx(), "acme", a.ID, store.Settlement{Status: rondo.DeadLetterReplayed, By: "u-1", At: epoch}))(d.t)
		for _, list := range []struct {
			name   string
			filter store.DeadLetterFilter
			want   []rondo.DeadLetter
		}{
			{"open ones", store.DeadLetterFilter{Status: rondo.DeadLetterOpen}, []rondo.DeadLetter{c, b}},
			{"our open ones", store.DeadLetterFilter{OrgID: "acme", Status: rondo.DeadLetterOpen}, []rondo.DeadLetter{b}},
			{"replayed ones", store.DeadLetterFilter{OrgID: "acme", Status: rondo.DeadLetterReplayed}, []rondo.DeadLetter{a}},
			{"those of a stream", store.DeadLetterFilter{Stream: "case.created"}, []rondo.DeadLetter{c, a}},
			{"discarded ones", store.DeadLetterFilter{Status: rondo.DeadLetterDiscarded}, nil},
		} {
			same(d.t, "the list of "+list.name, must(d.DeadLetters(d.ctx(), list.filter, store.Page{}))(d.t), list.want)
		}
	}},
}
