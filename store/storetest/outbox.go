package storetest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// numbered is events with the numbers that a commit gave them.
func numbered(events []rondo.Outgoing, committed store.Committed) []rondo.Outgoing {
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = committed.Seqs[i]
	}
	return events
}

// send commits events and returns them with their numbers.
func (d *db) send(events []rondo.Outgoing) []rondo.Outgoing {
	d.t.Helper()
	return numbered(events, d.commit(&store.Write{Outbox: events}))
}

// sendAndMore is send in a commit that also writes everything else, twice, so
// that the second replaces what the first wrote. It returns the events of both.
func (d *db) sendAndMore(stream string) []rondo.Outgoing {
	d.t.Helper()
	instance, parked := d.newInstance(key("c-1")), d.newParked(key("c-1"))
	first := d.outgoing(stream, 2)
	all := numbered(first, d.commit(&store.Write{
		Instances: []store.InstanceWrite{{Instance: instance}}, Events: []rondo.EventRecord{parked}, Outbox: first,
	}))
	next, judged := *instance, parked
	next.Version++
	judged.Outcome, judged.Processed = rondo.OutcomeApplied, true
	second := d.outgoing(stream, 2)
	return append(all, numbered(second, d.commit(&store.Write{
		Instances: []store.InstanceWrite{{Instance: &next, Previous: instance.Version}}, Steps: []rondo.Step{d.newStep(&next, "ai_review", 1, 1)},
		Rejudged: []rondo.EventRecord{judged}, Duplicates: []rondo.EventKey{{OrgID: parked.OrgID, EventID: parked.EventID}}, Outbox: second,
	}))...)
}

func (d *db) claim(now time.Time, limit int) []rondo.Outgoing {
	d.t.Helper()
	return must(d.ClaimUnsent(d.ctx(), now, now, time.Minute, limit, store.Streams{}))(d.t)
}

func (d *db) wantBacklog(count int, oldest time.Time) {
	d.t.Helper()
	got, since, err := d.Backlog(d.ctx())
	if err != nil || got != count || !since.Equal(oldest) {
		d.t.Fatalf("the backlog is %d since %v (%v), want %d since %v", got, since, err, count, oldest)
	}
}

var outboxTests = []test{
	{name: "unsent events are claimed in order, as they were written", run: func(d *db) {
		relayed := d.newOutgoing("case.created")
		relayed.Relayed, relayed.InstanceID = true, rondo.ID{}
		want := d.send([]rondo.Outgoing{d.newOutgoing("workflow.started"), relayed})
		want = append(want, d.send(d.outgoing("workflow.halted", 1))...)
		got := d.claim(epoch, 10)
		same(d.t, "the unsent events", got, want)
		for i := range got {
			sameBytes(d.t, "the envelope", got[i].Envelope, want[i].Envelope)
		}
	}},
	{name: "events are numbered as they are stored, whatever else the commit writes", run: func(d *db) {
		want := d.sendAndMore("workflow.halted")
		same(d.t, "the unsent events", d.claim(epoch, 10), want)
	}},
	{name: "an event may be sent twice under one id", run: func(d *db) {
		event := d.newOutgoing("ai_review.requested")
		d.send([]rondo.Outgoing{event, event})
		d.wantBacklog(2, epoch)
	}},
	{name: "claimed events are not claimed again until the lease ends", run: func(d *db) {
		want := d.send(d.outgoing("workflow.started", 3))
		same(d.t, "the first claim", d.claim(epoch, 2), want[:2])
		same(d.t, "the second claim", d.again().claim(epoch, 10), want[2:])
		same(d.t, "a claim before the lease ends", d.claim(epoch.Add(time.Minute-time.Microsecond), 10), []rondo.Outgoing{})
		same(d.t, "a claim when the lease ends", d.claim(epoch.Add(time.Minute), 10), want)
	}},
	{name: "events younger than asked for are left alone", run: func(d *db) {
		events := d.outgoing("workflow.started", 3)
		events[1].CreatedAt = epoch.Add(time.Second)
		events[2].CreatedAt = epoch.Add(-time.Second)
		want := d.send(events)
		now := epoch.Add(time.Hour)
		same(d.t, "the old events", must(d.ClaimUnsent(d.ctx(), now, epoch, time.Minute, 10, store.Streams{}))(d.t), []rondo.Outgoing{want[0], want[2]})
		same(d.t, "the rest", d.claim(now, 10), want[1:2])
	}},
	{name: "streams can be left out of a claim, or be all that it takes", run: func(d *db) {
		want := d.send([]rondo.Outgoing{d.newOutgoing("a"), d.newOutgoing("b"), d.newOutgoing("c"), d.newOutgoing("a"), d.newOutgoing("b")})
		claim := func(limit int, which store.Streams) []rondo.Outgoing {
			return must(d.ClaimUnsent(d.ctx(), epoch, epoch, time.Minute, limit, which))(d.t)
		}
		same(d.t, "none of no streams", claim(10, store.Streams{Only: true}), []rondo.Outgoing{})
		same(d.t, "the first that is not left out", claim(1, store.Streams{Names: []string{"a", "c"}}), want[1:2])
		same(d.t, "the first of one stream", claim(1, store.Streams{Only: true, Names: []string{"a"}}), want[:1])
		same(d.t, "what is left of two streams", claim(10, store.Streams{Only: true, Names: []string{"c", "a", "unknown"}}), want[2:4])
		same(d.t, "the rest", claim(10, store.Streams{Names: []string{"unknown"}}), want[4:])
	}},
	{name: "sent events are gone, marked alone or with a commit", run: func(d *db) {
		want := d.send(d.outgoing("workflow.started", 4))
		d.wantBacklog(4, epoch)
		must(0, d.MarkSent(d.ctx(), []int64{want[0].Seq, want[2].Seq}))(d.t)
		d.commit(&store.Write{Sent: []int64{want[3].Seq}})
		d.wantBacklog(1, epoch)
		same(d.t, "the unsent events", d.claim(epoch, 10), want[1:2])
		must(0, d.MarkSent(d.ctx(), []int64{want[0].Seq, want[1].Seq, want[1].Seq, 999}))(d.t)
		must(0, d.MarkSent(d.ctx(), nil))(d.t)
		d.wantBacklog(0, time.Time{})
	}},
	{name: "a commit that fails marks nothing as sent", run: func(d *db) {
		want := d.send(d.outgoing("workflow.started", 1))
		event := d.newEvent(key("c-1"), "case.created")
		d.refused(&store.Write{Sent: []int64{want[0].Seq}, Events: []rondo.EventRecord{event, event}})
		d.wantBacklog(1, epoch)
	}},
	{name: "numbers are not used again", run: func(d *db) {
		first := d.send(d.outgoing("workflow.started", 1))
		must(0, d.MarkSent(d.ctx(), []int64{first[0].Seq}))(d.t)
		if second := d.send(d.outgoing("workflow.started", 1)); second[0].Seq <= first[0].Seq {
			d.t.Fatalf("number %d follows %d", second[0].Seq, first[0].Seq)
		}
	}},
	{name: "the backlog counts claimed events and knows the oldest", run: func(d *db) {
		d.wantBacklog(0, time.Time{})
		events := d.outgoing("workflow.started", 2)
		events[1].CreatedAt = epoch.Add(-time.Hour)
		d.send(events)
		d.claim(epoch, 10)
		d.wantBacklog(2, epoch.Add(-time.Hour))
	}},
	{name: "relays never get the same event and together get all", run: func(d *db) {
		const events, relays = 60, 4
		d.send(d.outgoing("workflow.started", events))
		second := d.again()
		var mu sync.Mutex
		claims := map[int64]int{}
		errs := make([]error, relays)
		together(relays, func(i int) {
			for {
				rows, err := []*db{d, second}[i%2].ClaimUnsent(d.ctx(), epoch, epoch, time.Hour, 5, store.Streams{})
				if err != nil || len(rows) == 0 {
					errs[i] = err
					return
				}
				mu.Lock()
				for _, row := range rows {
					claims[row.Seq]++
				}
				mu.Unlock()
			}
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("claim: %v", err)
		}
		for seq, n := range claims {
			if n != 1 {
				d.t.Fatalf("event %d was claimed %d times", seq, n)
			}
		}
		if len(claims) != events {
			d.t.Fatalf("%d events were claimed, want %d", len(claims), events)
		}
	}},
	{name: "nothing goes to the log", run: func(d *db) {
		d.send(d.outgoing("workflow.started", 2))
		if head := must(d.LogHead(d.ctx()))(d.t); head != 0 {
			d.t.Fatalf("the head of the log is %d, want 0", head)
		}
	}},
}
