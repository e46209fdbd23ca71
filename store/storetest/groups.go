package storetest

import (
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// lease asks for a group and fails the test unless the answer is as wanted.
func (d *db) lease(owner string, now time.Time, want bool) int64 {
	d.t.Helper()
	fence, ok, err := d.LogLease(d.ctx(), "clinical", owner, now, time.Minute)
	if err != nil || ok != want {
		d.t.Fatalf("lease for %s: %v (%v), want %v", owner, ok, err, want)
	}
	return fence
}

func (d *db) group() []store.GroupState {
	d.t.Helper()
	return must(d.LogGroup(d.ctx(), "clinical"))(d.t)
}

// at is a position of the group that these tests are about.
func at(stream string, cursor int64, fence int64, acked ...int64) store.GroupState {
	return store.GroupState{Group: "clinical", Stream: stream, Cursor: cursor, Acked: acked, Fence: fence}
}

var groupTests = []test{
	{name: "a group starts at nothing on every stream, by name of stream", opts: embedded, run: func(d *db) {
		same(d.t, "a group that never joined", d.group(), []store.GroupState{})
		d.join("clinical", "b", "a", "B")
		d.join("webhooks", "c")
		same(d.t, "the positions", d.again().group(), []store.GroupState{at("B", 0, 0), at("a", 0, 0), at("b", 0, 0)})
	}},
	{name: "joining again keeps the positions", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 4, 1, 6, 9)}))(d.t)
		d.join("clinical", "a", "b")
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 4, 0, 6, 9), at("b", 0, 0)})
	}},
	{name: "many that join at once leave one position a stream and one copy of the ledger", opts: embedded, run: func(d *db) {
		const members = 6
		d.commit(&store.Write{Events: []rondo.EventRecord{d.newEvent(key("c-1"), "a"), d.newEvent(key("c-2"), "a")}})
		second := d.again()
		errs := make([]error, members)
		together(members, func(i int) {
			errs[i] = []*db{d, second}[i%2].LogJoin(d.ctx(), []string{"clinical", "webhooks"}[i%2], []string{"a", "b"})
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("join: %v", err)
		}
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 0, 0), at("b", 0, 0)})
		if got := d.logged("a"); len(got) != 2 {
			d.t.Fatalf("the log has %d entries, want 2", len(got))
		}
	}},
	{name: "one owner holds a group until its lease ends", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		first := d.lease("r1", epoch, true)
		if first < 1 {
			d.t.Fatalf("the first fence is %d, want at least 1", first)
		}
		d.again().lease("r2", epoch.Add(time.Minute-time.Microsecond), false)
		second := d.lease("r2", epoch.Add(time.Minute), true)
		if second <= first {
			d.t.Fatalf("the fence went from %d to %d", first, second)
		}
		d.lease("r1", epoch.Add(time.Minute), false)
	}},
	{name: "an owner renews its lease under the same fence", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		first := d.lease("r1", epoch, true)
		if again := d.lease("r1", epoch.Add(50*time.Second), true); again != first {
			d.t.Fatalf("renewing changed the fence from %d to %d", first, again)
		}
		d.lease("r2", epoch.Add(100*time.Second), false)
	}},
	{name: "a lease that is given back is free", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		first := d.lease("r1", epoch, true)
		must(0, d.LogRelease(d.ctx(), "clinical", "r2"))(d.t)
		d.lease("r2", epoch, false)
		must(0, d.LogRelease(d.ctx(), "clinical", "r1"))(d.t)
		if second := d.lease("r2", epoch, true); second <= first {
			d.t.Fatalf("the fence went from %d to %d", first, second)
		}
		must(0, d.LogRelease(d.ctx(), "nobody", "r1"))(d.t)
	}},
	{name: "of many that want a group at once, one gets it", opts: embedded, run: func(d *db) {
		const readers = 6
		d.join("clinical", "a")
		second := d.again()
		won := make([]bool, readers)
		errs := make([]error, readers)
		together(readers, func(i int) {
			_, won[i], errs[i] = []*db{d, second}[i%2].LogLease(d.ctx(), "clinical", string(rune('a'+i)), epoch, time.Minute)
		})
		winners := 0
		for _, ok := range won {
			if ok {
				winners++
			}
		}
		if err := errors.Join(errs...); err != nil || winners != 1 {
			d.t.Fatalf("%d readers got the group (%v), want 1", winners, err)
		}
	}},
	{name: "groups are leased one by one", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		d.join("webhooks", "a")
		d.lease("r1", epoch, true)
		if _, ok, err := d.LogLease(d.ctx(), "webhooks", "r2", epoch, time.Minute); err != nil || !ok {
			d.t.Fatalf("another group is not free (%v)", err)
		}
	}},
	{name: "acks of an owner that lost the group are ignored", opts: embedded, run: func(d *db) {
		d.join("clinical", "a", "b")
		old := d.lease("r1", epoch, true)
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 3, old, 5)}))(d.t)
		fence := d.lease("r2", epoch.Add(time.Hour), true)
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 9, old), at("b", 9, old)}))(d.t)
		d.commit(&store.Write{Acks: []store.GroupState{at("a", 9, old)}})
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 3, fence, 5), at("b", 0, fence)})
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 5, fence), at("b", 2, fence, 4, 7)}))(d.t)
		same(d.t, "the positions after", d.group(), []store.GroupState{at("a", 5, fence), at("b", 2, fence, 4, 7)})
	}},
	{name: "acks ride along with a commit, or fail with it", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		fence := d.lease("r1", epoch, true)
		d.commit(&store.Write{Acks: []store.GroupState{at("a", 2, fence, 4)}})
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 2, fence, 4)})
		event := d.newEvent(key("c-1"), "case.created")
		d.refused(&store.Write{Acks: []store.GroupState{at("a", 8, fence)}, Events: []rondo.EventRecord{event, event}})
		same(d.t, "the positions after a failure", d.group(), []store.GroupState{at("a", 2, fence, 4)})
	}},
	{name: "positions outside the store are not part of it", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		written := at("a", 2, 1, 4, 7)
		must(0, d.LogAck(d.ctx(), []store.GroupState{written}))(d.t)
		written.Acked[0] = 99
		d.group()[0].Acked[1] = 99
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 2, 0, 4, 7)})
	}},
	{name: "an ack that comes late does not move a group back", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		fence := d.lease("r1", epoch, true)
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 7, fence, 9, 11)}))(d.t)
		for _, late := range []store.GroupState{at("a", 5, fence, 6, 7, 9, 11, 12), at("a", 7, fence, 9), at("a", 7, fence), at("a", 0, fence)} {
			d.commit(&store.Write{Acks: []store.GroupState{late}})
			must(0, d.LogAck(d.ctx(), []store.GroupState{late}))(d.t)
			same(d.t, "the positions", d.group(), []store.GroupState{at("a", 7, fence, 9, 11)})
		}
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("a", 7, fence, 9, 11)}))(d.t)
		d.commit(&store.Write{Acks: []store.GroupState{at("a", 9, fence, 11)}})
		same(d.t, "the positions after", d.group(), []store.GroupState{at("a", 9, fence, 11)})
	}},
	{name: "acks for streams that were not joined are ignored", opts: embedded, run: func(d *db) {
		d.join("clinical", "a")
		must(0, d.LogAck(d.ctx(), []store.GroupState{at("A", 9, 9), {Group: "nobody", Stream: "a", Cursor: 9, Fence: 9}}))(d.t)
		must(0, d.LogAck(d.ctx(), nil))(d.t)
		same(d.t, "the positions", d.group(), []store.GroupState{at("a", 0, 0)})
		same(d.t, "the positions of nobody", must(d.LogGroup(d.ctx(), "nobody"))(d.t), []store.GroupState{})
	}},
}
