package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// retire makes the group of these tests leave and expects the code, "" = it goes.
func (d *db) retire(now time.Time, want rondo.Code) {
	d.t.Helper()
	if err := d.LogRetire(d.ctx(), "clinical", now); rondo.CodeOf(err) != want {
		d.t.Fatalf("retire: %v, want %q", err, want)
	}
}

var retireTests = []test{
	{name: "lag counts what a group has not acked, stream by stream", opts: embedded, run: func(d *db) {
		same(d.t, "the lag of no group", must(d.LogLag(d.ctx(), 100))(d.t), []store.GroupLag{})
		d.join("clinical", "a", "b")
		d.join("webhooks", "b")
		d.commit(&store.Write{Outbox: append(d.outgoing("a", 4), d.outgoing("b", 3)...)})
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 1, 1, 3)}))(d.t)
		same(d.t, "the lag", must(d.again().LogLag(d.ctx(), 100))(d.t), []store.GroupLag{
			{Group: "clinical", Stream: "a", Entries: 2}, {Group: "clinical", Stream: "b", Entries: 3}, {Group: "webhooks", Stream: "b", Entries: 3},
		})
		same(d.t, "the lag among the newest two entries", must(d.LogLag(d.ctx(), 2))(d.t), []store.GroupLag{
			{Group: "clinical", Stream: "a"}, {Group: "clinical", Stream: "b", Entries: 2}, {Group: "webhooks", Stream: "b", Entries: 2},
		})
	}},
	{name: "a retired group holds back no trimming, and starts over when it joins again", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		d.join("webhooks", "a")
		d.commit(&store.Write{Outbox: d.outgoing("a", 3)})
		must(0, d.LogAck(d.ctx(), []store.GroupState{{Group: "webhooks", Stream: "a", Cursor: 3, Fence: 1}}))(d.t)
		if n := must(d.LogTrim(d.ctx(), epoch.Add(24*time.Hour)))(d.t); n != 0 {
			d.t.Fatalf("%d entries went that a group had not acked", n)
		}
		d.retire(epoch, "")
		same(d.t, "the positions of a retired group", d.again().group(), []store.GroupState{})
		if n := must(d.LogTrim(d.ctx(), epoch.Add(24*time.Hour)))(d.t); n != 3 {
			d.t.Fatalf("%d entries went after the group was retired, want 3", n)
		}
		d.wantHead(3)
		d.join("clinical", "a")
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 0, 0)})
	}},
	{name: "a group that is unknown, retired already or being read cannot be retired", opts: embedded, run: func(d *db) {
		d.retire(epoch, rondo.CodeNotFound)
		d.join("clinical", "a")
		fence := d.lease("r1", epoch, true)
		d.retire(epoch.Add(30*time.Second), rondo.CodeWrongState)
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 0, fence)})
		d.retire(epoch.Add(time.Minute), "")
		d.retire(epoch.Add(time.Minute), rondo.CodeNotFound)
		if again := d.lease("r2", epoch.Add(2*time.Minute), true); again <= fence {
			d.t.Fatalf("the fence went from %d to %d", fence, again)
		}
	}},
	{name: "relayed events of a stream that lost its last group come from the ledger again, once", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		d.commit(&store.Write{Outbox: d.outgoing("a", 1)})
		first := d.newEvent(key("c-1"), "a")
		relayed := d.newOutgoing("a")
		relayed.EventID, relayed.Relayed = first.EventID, true
		d.commit(&store.Write{Events: []rondo.EventRecord{first}, Outbox: []rondo.Outgoing{relayed}})
		other := d.again()
		d.retire(epoch, "")
		if got := d.logged("a"); len(got) != 1 {
			d.t.Fatalf("the log has %d entries, want the one that was not relayed", len(got))
		}
		second := d.newEvent(key("c-2"), "a")
		unheard := d.newOutgoing("a")
		unheard.EventID, unheard.Relayed = second.EventID, true
		if seqs := other.commit(&store.Write{Events: []rondo.EventRecord{second}, Outbox: []rondo.Outgoing{unheard}}).Seqs; seqs[0] != 0 {
			d.t.Fatalf("a relayed event that nobody listens to got number %d", seqs[0])
		}
		d.join("webhooks", "a")
		seen := map[rondo.ID]int{}
		for _, entry := range d.logged("a") {
			seen[entry.EventID]++
		}
		if seen[first.EventID] != 1 || seen[second.EventID] != 1 || len(seen) != 3 {
			d.t.Fatalf("after another group joined the log has %v", seen)
		}
	}},
	{name: "waiting counts parked events and open dead letters of every org", run: func(d *db) {
		same(d.t, "what waits in an empty store", must(d.Waiting(d.ctx()))(d.t), store.Waiting{})
		letter := d.newDeadLetter("")
		d.commit(&store.Write{
			Events:      []rondo.EventRecord{d.newParked(key("c-1")), d.newParked(key("c-2")), d.newEvent(key("c-3"), "a")},
			DeadLetters: []rondo.DeadLetter{letter, d.newDeadLetter("acme")},
		})
		same(d.t, "what waits", must(d.Waiting(d.ctx()))(d.t), store.Waiting{Parked: 2, DeadLetters: 2})
		must(d.SettleDeadLetter(d.ctx(), "", letter.ID, store.Settlement{Status: rondo.DeadLetterDiscarded, By: "ann", At: epoch}))(d.t)
		same(d.t, "what waits", must(d.Waiting(d.ctx()))(d.t), store.Waiting{Parked: 2, DeadLetters: 1})
	}},
}
