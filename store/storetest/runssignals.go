package storetest

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

func (d *runDB) newSignal(run *rondo.Run, kind string) store.RunSignal {
	return store.RunSignal{ID: d.ids.New(), RunID: run.ID, Kind: kind, Body: json.RawMessage(`{"data":{"é":1.0}}`), At: d.now}
}

func (d *runDB) signals(owner string) []store.RunSignal {
	d.t.Helper()
	return must(d.Signals(d.ctx(), owner, 100))(d.t)
}

var runSignalTests = []runTest{
	{name: "signals reach whoever owns the run, oldest first", run: func(d *runDB) {
		mine, other := d.start(nil), d.newRun()
		d.commitAs(bob, store.RunWrite{Run: other, Insert: true})
		first, second, foreign := d.newSignal(mine, store.SignalResult), d.newSignal(mine, store.SignalCancel), d.newSignal(other, store.SignalCancel)
		second.Body = nil
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{second, foreign}))
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{first}))
		d.ok("put nothing", d.PutSignals(d.ctx(), nil))
		same(d.t, "ann's", d.signals(ann), []store.RunSignal{first, second})
		same(d.t, "bob's", d.signals(bob), []store.RunSignal{foreign})
		same(d.t, "one of ann's", must(d.Signals(d.ctx(), ann, 1))(d.t), []store.RunSignal{first})
		same(d.t, "nobody's", d.signals("third"), []store.RunSignal(nil))
		d.die(bob)
		d.ok("claim", claimedOne(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 1})))
		same(d.t, "bob's after he took over", d.signals(bob), []store.RunSignal{first, second, foreign})
	}},
	{name: "a signal that is there already is left alone", run: func(d *runDB) {
		run := d.start(nil)
		signal := d.newSignal(run, store.SignalResult)
		again := signal
		again.Kind, again.Body = store.SignalCancel, nil
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{signal}))
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{again, d.newSignal(run, store.SignalCancel)}))
		got := d.signals(ann)
		same(d.t, "signals", len(got), 2)
		same(d.t, "the first", got[0], signal)
	}},
	{name: "what is obeyed is removed", run: func(d *runDB) {
		run := d.start(nil)
		first, second := d.newSignal(run, store.SignalResult), d.newSignal(run, store.SignalResult)
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{first, second}))
		w := d.next(run)
		w.Signals = []rondo.ID{first.ID, d.ids.New()}
		d.commitAs(ann, w)
		same(d.t, "signals", d.signals(ann), []store.RunSignal{second})
	}},
	{name: "a run that ended, or is not there, takes no signals, and those it had are gone", run: func(d *runDB) {
		run, live := d.start(nil), d.start(nil)
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{d.newSignal(run, store.SignalCancel)}))
		d.end(run, rondo.RunFailed, d.now)
		signal := d.newSignal(live, store.SignalCancel)
		d.ok("put", d.PutSignals(d.ctx(), []store.RunSignal{d.newSignal(run, store.SignalCancel), d.newSignal(d.newRun(), store.SignalCancel), signal}))
		again := *run
		again.Status = rondo.RunRunning
		d.commitAs(ann, store.RunWrite{Run: &again, Resume: rondo.RunFailed})
		same(d.t, "signals", d.signals(ann), []store.RunSignal{signal})
	}},
}

var runRaisedTests = []runTest{
	{name: "events stay until they are confirmed, oldest first, whoever owns the run", run: func(d *runDB) {
		run, other := d.start(nil), d.newRun()
		event := func(id string, after time.Duration) rondo.RaisedEvent {
			return rondo.RaisedEvent{
				EventID: id, Type: "x.done", CaseID: "c-1", CorrelationID: "k-1", CausationID: "k-2", Payload: json.RawMessage(`{"é":1.0}`), OccurredAt: d.now.Add(after),
			}
		}
		w := d.next(run)
		w.Raised = []rondo.RaisedEvent{event("b", time.Second), event("a", 2*time.Second)}
		d.commitAs(ann, w)
		other.TenantID = "globex"
		d.commitAs(bob, store.RunWrite{Run: other, Insert: true, Raised: []rondo.RaisedEvent{event("c", 0)}})
		repeated := event("b", time.Hour)
		repeated.Type = "another"
		w = d.next(run)
		w.Raised = []rondo.RaisedEvent{repeated}
		d.commitAs(ann, w)
		want := []store.RunRaised{
			{TenantID: "globex", RunID: other.ID, Event: event("c", 0)}, {TenantID: "acme", RunID: run.ID, Event: event("b", time.Second)}, {TenantID: "acme", RunID: run.ID, Event: event("a", 2*time.Second)},
		}
		same(d.t, "raised", must(d.RaisedByRuns(d.ctx(), 10))(d.t), want)
		same(d.t, "two of them", must(d.RaisedByRuns(d.ctx(), 2))(d.t), want[:2])
		d.ok("confirm", d.ConfirmRaised(d.ctx(), []string{"b", "unknown"}))
		d.ok("confirm nothing", d.ConfirmRaised(d.ctx(), nil))
		same(d.t, "left", must(d.RaisedByRuns(d.ctx(), 10))(d.t), []store.RunRaised{want[0], want[2]})
	}},
}

var runOutboxTests = []runTest{
	{name: "events go to the outbox, those of takeoffs when they are taken", run: func(d *runDB) {
		sent, want := d.sendAll()
		got := must(d.ClaimUnsent(d.ctx(), d.now, d.now, time.Minute, 100, store.Streams{}))(d.t)
		same(d.t, "outbox", got, want)
		same(d.t, "numbers", sent, seqsOf(want))
	}},
	{name: "embedded they go to the log, numbered without gaps", opts: embedded, run: func(d *runDB) {
		d.ok("join", d.LogJoin(d.ctx(), "g", []string{"run.started", "run.step.requested"}))
		before := d.commit(&store.Write{Outbox: d.outgoing("run.started", 1)}).Seqs[0]
		sent, want := d.sendAll()
		after := d.commit(&store.Write{Outbox: d.outgoing("run.started", 1)}).Seqs[0]
		got := must(d.LogRead(d.ctx(), []string{"run.started", "run.step.requested"}, before, 100))(d.t)
		same(d.t, "log", got[:len(got)-1], want)
		same(d.t, "numbers", sent, seqsOf(want))
		if before != 1 || after != int64(len(want))+2 {
			d.t.Fatalf("numbers go from %d to %d around %d events", before, after, len(want))
		}
	}},
	{name: "embedded a relayed event that nobody listens to has number 0", opts: embedded, run: func(d *runDB) {
		run := d.start(nil)
		w := d.next(run)
		w.Outbox = d.outgoing("run.started", 3)
		w.Outbox[1].Relayed = true
		same(d.t, "numbers", d.commitAs(ann, w).Seqs, []int64{1, 0, 2})
		d.ok("join", d.LogJoin(d.ctx(), "g", []string{"run.started"}))
		w = d.next(run)
		w.Outbox = d.outgoing("run.started", 1)
		w.Outbox[0].Relayed = true
		same(d.t, "numbers once someone listens", d.commitAs(ann, w).Seqs, []int64{3})
	}},
}

// sendAll commits two writes with events of both kinds, and one takeoff that is not
// taken, and returns the numbers that the results have and the events as they must
// be stored, in order.
func (d *runDB) sendAll() (numbers []int64, stored []rondo.Outgoing) {
	d.t.Helper()
	d.flyKey(bob, "held")
	first, second := d.newRun(), d.newRun()
	writes := []store.RunWrite{
		{Run: first, Insert: true, Outbox: d.outgoing("run.started", 2), Takeoffs: []store.Takeoff{d.takeoff(first, "a"), d.takeoff(first, "held")}},
		{Run: second, Insert: true, Outbox: d.outgoing("run.started", 1), Takeoffs: []store.Takeoff{d.takeoff(second, "b")}},
	}
	for i := range writes {
		for n := range writes[i].Takeoffs {
			writes[i].Takeoffs[n].Outbox = d.outgoing("run.step.requested", 1)
		}
	}
	results := d.tryAs(ann, writes...)
	add := func(nr, place int, event rondo.Outgoing) {
		event.Seq = results[nr].Seqs[place]
		stored = append(stored, event)
	}
	if len(results[0].Seqs) != 3 || len(results[1].Seqs) != 2 {
		d.t.Fatalf("numbers %v and %v, want 3 and 2", results[0].Seqs, results[1].Seqs)
	}
	add(0, 0, writes[0].Outbox[0])
	add(0, 1, writes[0].Outbox[1])
	add(1, 0, writes[1].Outbox[0])
	add(0, 2, writes[0].Takeoffs[0].Outbox[0])
	add(1, 1, writes[1].Takeoffs[0].Outbox[0])
	return seqsOf(stored), stored
}

func seqsOf(events []rondo.Outgoing) []int64 {
	seqs := make([]int64, len(events))
	for i := range events {
		seqs[i] = events[i].Seq
		if i > 0 && seqs[i] <= seqs[i-1] {
			return nil // not in order: equal to nothing
		}
	}
	return seqs
}
