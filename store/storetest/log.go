package storetest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func (d *db) join(group string, streams ...string) {
	d.t.Helper()
	must(0, d.LogJoin(d.ctx(), group, streams))(d.t)
}

// logged is everything in the log of some streams.
func (d *db) logged(streams ...string) []rondo.Outgoing {
	d.t.Helper()
	return must(d.LogRead(d.ctx(), streams, 0, 10_000))(d.t)
}

func (d *db) wantHead(want int64) {
	d.t.Helper()
	if got := must(d.LogHead(d.ctx()))(d.t); got != want {
		d.t.Fatalf("the head of the log is %d, want %d", got, want)
	}
}

var logTests = []test{
	{name: "events are numbered from one, as they were written", opts: embedded, run: func(d *db) {
		first := d.send([]rondo.Outgoing{d.newOutgoing("a"), d.newOutgoing("b")})
		second := d.send([]rondo.Outgoing{d.newOutgoing("a")})
		want := append(slices.Clone(first), second...)
		for i, event := range want {
			if event.Seq != int64(i+1) {
				d.t.Fatalf("event %d has number %d", i+1, event.Seq)
			}
		}
		got := d.again().logged("a", "b")
		same(d.t, "the log", got, want)
		for i := range got {
			sameBytes(d.t, "the envelope", got[i].Envelope, want[i].Envelope)
		}
		d.wantHead(3)
	}},
	{name: "nothing goes to the outbox", opts: embedded, run: func(d *db) {
		d.send(d.outgoing("a", 2))
		d.wantBacklog(0, time.Time{})
		same(d.t, "the unsent events", d.claim(epoch, 10), []rondo.Outgoing{})
	}},
	{name: "a reader gets its streams after its position, at most its limit", opts: embedded, run: func(d *db) {
		all := d.send([]rondo.Outgoing{
			d.newOutgoing("a"), d.newOutgoing("b"), d.newOutgoing("A"), d.newOutgoing("a"), d.newOutgoing("b"), d.newOutgoing("a"),
		})
		for _, read := range []struct {
			streams []string
			after   int64
			limit   int
			want    []rondo.Outgoing
		}{
			{[]string{"a"}, 0, 10, []rondo.Outgoing{all[0], all[3], all[5]}},
			{[]string{"a", "b"}, 1, 3, []rondo.Outgoing{all[1], all[3], all[4]}},
			{[]string{"A"}, 0, 10, all[2:3]},
			{[]string{"a"}, 6, 10, nil},
			{[]string{"none"}, 0, 10, nil},
			{nil, 0, 10, nil},
		} {
			same(d.t, "what was read", must(d.LogRead(d.ctx(), read.streams, read.after, read.limit))(d.t), read.want)
		}
	}},
	{name: "entries are numbered as they are stored, whatever else the commit writes", opts: embedded, run: func(d *db) {
		want := d.sendAndMore("workflow.halted")
		same(d.t, "the log", d.logged("workflow.halted"), want)
	}},
	{name: "a commit that fails leaves no gap", opts: embedded, run: func(d *db) {
		event := d.newEvent(key("c-1"), "case.created")
		d.send(d.outgoing("a", 1))
		d.refused(&store.Write{Outbox: d.outgoing("a", 5), Events: []rondo.EventRecord{event, event}})
		if next := d.send(d.outgoing("a", 1)); next[0].Seq != 2 {
			d.t.Fatalf("the next number is %d, want 2", next[0].Seq)
		}
	}},
	{name: "commits at the same time leave no gap, and readers never see one", opts: embedded, run: testNoGaps},
	{name: "relayed events are logged once somebody listens", opts: embedded, run: func(d *db) {
		relayed := func() rondo.Outgoing {
			event := d.newOutgoing("case.created")
			event.Relayed = true
			return event
		}
		committed := d.commit(&store.Write{Outbox: []rondo.Outgoing{relayed(), d.newOutgoing("case.created")}})
		same(d.t, "the numbers before anyone listens", committed.Seqs, []int64{0, 1})
		d.join("clinical", "case.created")
		d.again().join("clinical", "other")
		heard := relayed()
		committed = d.commit(&store.Write{Outbox: []rondo.Outgoing{heard}})
		same(d.t, "the numbers after", committed.Seqs, []int64{2})
		got := d.logged("case.created")
		if len(got) != 2 || got[1].EventID != heard.EventID || !got[1].Relayed || got[0].Relayed {
			d.t.Fatalf("the log is %+v", got)
		}
	}},
	{name: "the first group of a stream gets the ledger's events, oldest first", opts: embedded, run: testBackfill},
	{name: "entries that every group has acked are trimmed by age", opts: embedded, run: testTrim},
	{name: "entries without a group are trimmed by age alone", opts: embedded, run: func(d *db) {
		events := d.outgoing("a", 3)
		events[2].CreatedAt = epoch.Add(time.Hour)
		want := d.send(events)
		if n := must(d.LogTrim(d.ctx(), epoch.Add(time.Minute)))(d.t); n != 2 {
			d.t.Fatalf("%d entries were trimmed, want 2", n)
		}
		same(d.t, "the log", d.logged("a"), want[2:])
	}},
	{name: "a long log is trimmed around what a slow group still needs", opts: embedded, run: testTrimLong},
	{name: "numbers go on after a trim", opts: embedded, run: func(d *db) {
		d.send(d.outgoing("a", 3))
		if n := must(d.LogTrim(d.ctx(), epoch.Add(time.Minute)))(d.t); n != 3 {
			d.t.Fatalf("%d entries were trimmed, want 3", n)
		}
		d.wantHead(3)
		if next := d.send(d.outgoing("a", 1)); next[0].Seq != 4 {
			d.t.Fatalf("the next number is %d, want 4", next[0].Seq)
		}
	}},
}

func testNoGaps(d *db) {
	const writers, rounds = 4, 10
	second := d.again()
	var mu sync.Mutex
	var seqs []int
	errs := make([]error, writers+1)
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			entries, err := second.LogRead(d.ctx(), []string{"a", "b"}, 0, 10_000)
			if err != nil {
				errs[writers] = err
				return
			}
			for i, entry := range entries {
				if entry.Seq != int64(i+1) {
					errs[writers] = errors.New("a reader saw a gap")
					return
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	together(writers, func(writer int) {
		random := rand.New(rand.NewPCG(2, uint64(writer)))
		for range rounds {
			events := append(d.outgoing("a", random.IntN(4)), d.newOutgoing("b"))
			committed, err := []*db{d, second}[writer%2].try(&store.Write{Outbox: events})
			if err != nil {
				errs[writer] = err
				return
			}
			if !slices.IsSorted(committed.Seqs) {
				errs[writer] = errors.New("the numbers of one commit do not rise")
			}
			mu.Lock()
			for _, seq := range committed.Seqs {
				seqs = append(seqs, int(seq))
			}
			mu.Unlock()
		}
	})
	close(done)
	reading.Wait()
	wantOneToN(d.t, "numbers", seqs, errs)
	d.wantHead(int64(len(seqs)))
}

func testBackfill(d *db) {
	instance := d.start(key("c-1"))
	first, second, elsewhere := d.newEvent(key("c-1"), "case.created"), d.newEvent(key("c-2"), "case.created"), d.newEvent(key("c-1"), "other")
	first.InstanceID = instance.ID
	second.OrgID, second.Duplicates = "other", 3
	d.commit(&store.Write{Events: []rondo.EventRecord{second, elsewhere}})
	d.commit(&store.Write{Events: []rondo.EventRecord{first}})
	d.send(d.outgoing("workflow.started", 1))

	want := make([]rondo.Outgoing, 2)
	for i, event := range []rondo.EventRecord{first, second} {
		want[i] = rondo.Outgoing{
			Seq: int64(i + 2), Stream: "case.created", OrgID: event.OrgID, EventID: event.EventID, InstanceID: event.InstanceID,
			Envelope: event.Envelope, CreatedAt: event.ReceivedAt, Relayed: true,
		}
	}
	d.join("clinical", "case.created", "unheard")
	got := d.logged("case.created")
	same(d.t, "the log after the first join", got, want)
	for i := range got {
		sameBytes(d.t, "the envelope", got[i].Envelope, want[i].Envelope)
	}

	third := d.newEvent(key("c-3"), "case.created")
	relayed := d.newOutgoing("case.created")
	relayed.Relayed, relayed.EventID = true, third.EventID
	d.commit(&store.Write{Events: []rondo.EventRecord{third}, Outbox: []rondo.Outgoing{relayed}})
	d.join("clinical", "case.created")
	d.join("webhooks", "case.created")
	if got := d.logged("case.created"); len(got) != 3 || got[2].EventID != third.EventID {
		d.t.Fatalf("the log after later joins has %d entries, want 3 with the relayed one last", len(got))
	}
	d.wantHead(4)
}

func testTrim(d *db) {
	events := append(d.outgoing("a", 5), d.outgoing("b", 1)...)
	events[4].CreatedAt = epoch.Add(time.Hour)
	all := d.send(events)
	trim := func(want int64, left ...rondo.Outgoing) {
		d.t.Helper()
		if n := must(d.LogTrim(d.ctx(), epoch.Add(time.Minute)))(d.t); n != want {
			d.t.Fatalf("%d entries were trimmed, want %d", n, want)
		}
		same(d.t, "the log", d.logged("a", "b"), left)
	}
	d.join("one", "a", "b")
	d.join("two", "a")
	trim(0, all...)
	ack := func(group, stream string, cursor int64, acked ...int64) {
		must(0, d.LogAck(d.ctx(), []store.GroupState{{Group: group, Stream: stream, Cursor: cursor, Acked: acked, Fence: 1}}))(d.t)
	}
	ack("one", "a", 5)
	trim(0, all...)
	ack("two", "a", 1, 3, 5)
	trim(2, all[1], all[3], all[4], all[5]) // 1 and 3 are acked by both; 5 too, but is young
	ack("one", "b", 6)
	trim(1, all[1], all[3], all[4])
}

// testTrimLong has thousands of entries of two streams in turn. The group of one
// has read nothing but a few entries far ahead, that of the other everything.
func testTrimLong(d *db) {
	const old, young, batch = 3_600, 1_400, 500
	var all []rondo.Outgoing
	for len(all) < old+young {
		events := make([]rondo.Outgoing, batch)
		for i := range events {
			n := len(all) + i
			events[i] = d.newOutgoing([]string{"slow", "fast"}[n%2])
			events[i].Envelope = []byte("{}")
			if n >= old {
				events[i].CreatedAt = epoch.Add(time.Hour)
			}
		}
		all = append(all, d.send(events)...)
	}
	d.join("laggard", "slow")
	d.join("quick", "slow", "fast")
	must(0, d.LogAck(d.ctx(), []store.GroupState{
		{Group: "quick", Stream: "slow", Cursor: old + young, Fence: 1},
		{Group: "quick", Stream: "fast", Cursor: old + young, Fence: 1},
		{Group: "laggard", Stream: "slow", Acked: []int64{1, 2_001, 3_501, 4_001}, Fence: 1},
	}))(d.t)
	var left []int64
	for i, entry := range all {
		acked := entry.Stream == "fast" || slices.Contains([]int64{1, 2_001, 3_501}, entry.Seq)
		if i >= old || !acked {
			left = append(left, entry.Seq)
		}
	}
	trim := func(want int64) {
		d.t.Helper()
		if n := must(d.LogTrim(d.ctx(), epoch.Add(time.Minute)))(d.t); n != want {
			d.t.Fatalf("%d entries were trimmed, want %d", n, want)
		}
		var got []int64
		for _, entry := range d.logged("slow", "fast") {
			got = append(got, entry.Seq)
		}
		same(d.t, "the numbers left", got, left)
		d.wantHead(old + young)
	}
	trim(old/2 + 3)
	trim(0)
	must(0, d.LogAck(d.ctx(), []store.GroupState{{Group: "laggard", Stream: "slow", Cursor: old, Fence: 1}}))(d.t)
	left = left[len(left)-young:]
	trim(old/2 - 3)
}
