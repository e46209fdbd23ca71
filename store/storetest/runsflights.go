package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// takeoffAgain is a takeoff that ignores the entry that is there.
func (d *runDB) takeoffAgain(name string) func(*rondo.Run) store.Takeoff {
	return func(run *rondo.Run) store.Takeoff {
		t := d.takeoff(run, name)
		t.Again = true
		return t
	}
}

// execution is a takeoff of a step that is not cached.
func (d *runDB) execution(name string) func(*rondo.Run) store.Takeoff {
	return func(run *rondo.Run) store.Takeoff { return store.Takeoff{Name: name, Step: d.running(run, "a")} }
}

func (d *runDB) wantTaken(what string, got store.Flight, fence int64, tookOver bool) {
	d.t.Helper()
	same(d.t, what, got, store.Flight{Taken: true, Fence: fence, TookOver: tookOver})
}

func (d *runDB) wantHeld(what string, got store.Flight) {
	d.t.Helper()
	if got.Taken || got.TookOver || got.Entry != nil {
		d.t.Fatalf("%s: %+v, want it held by another", what, got)
	}
}

var runTakeoffTests = []runTest{
	{name: "a free flight is taken, and its row is written", run: func(d *runDB) {
		run := d.start(nil)
		w := d.next(run)
		w.Takeoffs = []store.Takeoff{d.takeoff(run, "a"), d.execution("exec:1:a:x")(run)}
		w.Takeoffs[1].Step.StepID = "b"
		flights := d.commitAs(ann, w).Flights
		d.wantTaken("the first", flights[0], 1, false)
		d.wantTaken("the second", flights[1], 1, false)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep{w.Takeoffs[0].Step, w.Takeoffs[1].Step})
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Flying: true, Fence: 1})
	}},
	{name: "a flight of someone alive is held, also by another run of the same process", run: func(d *runDB) {
		d.wantTaken("ann", d.flyKey(ann, "a"), 1, false)
		run := d.newRun()
		for _, owner := range []string{bob, ann} {
			result := d.commitAs(owner, store.RunWrite{Run: run, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(run, "a"), d.takeoffAgain("a")(run)}})
			d.wantHeld(owner, result.Flights[0])
			d.wantHeld(owner+" again", result.Flights[1])
			same(d.t, "steps", d.stepsOf(run), []rondo.RunStep(nil))
			run = d.newRun()
		}
		d.wantTaken("an execution", d.fly(ann, d.execution("exec:1:a:x")), 1, false)
		d.wantHeld("the same", d.fly(bob, d.execution("exec:1:a:x")))
		same(d.t, "lookup of an execution", must(d.LookupCache(d.ctx(), "acme", []string{"exec:1:a:x", "exec:1:b:x"}, d.now))(d.t),
			map[string]store.CacheLookup{"exec:1:a:x": {Flying: true, Fence: 1}})
	}},
	{name: "two takeoffs of one name in a batch: the first wins", run: func(d *runDB) {
		first, second := d.newRun(), d.newRun()
		results := d.tryAs(ann,
			store.RunWrite{Run: first, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(first, "a")}},
			store.RunWrite{Run: second, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(second, "a"), d.takeoff(second, "b")}})
		d.wantTaken("the first", results[0].Flights[0], 1, false)
		d.wantHeld("the second", results[1].Flights[0])
		d.wantTaken("another name", results[1].Flights[1], 1, false)
		same(d.t, "steps of the second", d.stepsOf(second), []rondo.RunStep{d.takeoff(second, "b").Step})
		stranger := d.newRun()
		twice := d.commitAs("no heartbeat", store.RunWrite{Run: stranger, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(stranger, "c"), d.takeoff(stranger, "c")}})
		d.wantTaken("a process that is not alive", twice.Flights[0], 1, false)
		d.wantHeld("its second", twice.Flights[1])
	}},
	{name: "a flight of the dead is taken over with a higher fence", run: func(d *runDB) {
		d.wantTaken("ann", d.flyKey(ann, "a"), 1, false)
		d.wantTaken("ann's execution", d.fly(ann, d.execution("exec:1:a:x")), 1, false)
		d.die(bob)
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{})
		d.wantTaken("bob", d.flyKey(bob, "a"), 2, true)
		d.wantTaken("bob's execution", d.fly(bob, d.execution("exec:1:a:x")), 2, true)
		same(d.t, "lookup of an execution taken over", must(d.LookupCache(d.ctx(), "acme", []string{"exec:1:a:x"}, d.now))(d.t),
			map[string]store.CacheLookup{"exec:1:a:x": {Flying: true, Fence: 2}})
		if d.land(ann, digest("a"), 1, d.newEntry("a")) || d.land(ann, "exec:1:a:x", 1, nil) {
			d.t.Fatal("a late writer landed")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Flying: true, Fence: 2})
		entry := d.newEntry("a")
		if !d.land(bob, digest("a"), 2, entry) {
			d.t.Fatal("the holder did not land")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: entry})
	}},
	{name: "a good entry refuses the takeoff", run: func(d *runDB) {
		entry := d.keep(d.newEntry("a"))
		run := d.newRun()
		w := store.RunWrite{Run: run, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(run, "a")}}
		w.Takeoffs[0].Outbox = d.outgoing("run.step.requested", 1)
		result := d.commitAs(bob, w)
		same(d.t, "flight", result.Flights, []store.Flight{{Entry: entry}})
		sameBytes(d.t, "data", result.Flights[0].Entry.Data, entry.Data)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep(nil))
		same(d.t, "numbers", result.Seqs, []int64(nil))
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: entry})
		d.wantTaken("a name that is not meant as a key", d.fly(bob, d.execution(digest("a"))), 2, false)
	}},
	{name: "an entry that is tainted or has expired does not", run: func(d *runDB) {
		d.keep(d.newEntry("a"))
		must(d.TaintCache(d.ctx(), "acme", digest("a"), "wrong voice"))(d.t)
		d.wantTaken("tainted", d.flyKey(bob, "a"), 2, false)
		expired := d.newEntry("b")
		expired.ExpiresAt = d.now
		d.keep(expired)
		d.wantTaken("expired at this very moment", d.flyKey(bob, "b"), 2, false)
		for _, expires := range []time.Time{{}, d.now.Add(time.Microsecond)} {
			good := d.newEntry("c")
			good.ExpiresAt = expires
			d.keep(good)
			if flight := d.flyKey(bob, "c"); flight.Entry == nil {
				d.t.Fatalf("an entry that expires at %v did not refuse: %+v", expires, flight)
			}
		}
	}},
	{name: "again keeps the old entry until the new one lands", run: func(d *runDB) {
		old := d.keep(d.newEntry("a"))
		flight := d.fly(bob, d.takeoffAgain("a"))
		d.wantTaken("again", flight, 2, false)
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: old, Flying: true, Fence: 2})
		if got := d.flyKey(ann, "a"); got.Entry == nil {
			d.t.Fatalf("the old entry does not count while another is computed: %+v", got)
		}
		d.wantHeld("again by another", d.fly(ann, d.takeoffAgain("a")))
		fresh := d.newEntry("a")
		fresh.Data, fresh.OutputHash, fresh.CreatedAt = []byte(`"new"`), digest("new"), d.now.Add(time.Second)
		if !d.land(bob, digest("a"), flight.Fence, fresh) {
			d.t.Fatal("it did not land")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: fresh})
		d.wantTaken("once more", d.fly(bob, d.takeoffAgain("a")), 3, false)
		d.die(ann)
		d.wantTaken("taken over", d.fly(ann, d.takeoffAgain("a")), 4, true)
	}},
	{name: "what is landed in a batch is seen by its takeoffs", run: func(d *runDB) {
		first, second := d.start(nil), d.newRun()
		w := d.next(first)
		w.Takeoffs = []store.Takeoff{d.takeoff(first, "a"), d.execution("exec:1:b:x")(first)}
		fences := d.commitAs(ann, w).Flights
		entry := d.newEntry("a")
		landing := d.next(first)
		landing.Landings = []store.Landing{{Name: digest("a"), Fence: fences[0].Fence, Entry: entry}, {Name: "exec:1:b:x", Fence: fences[1].Fence}}
		results := d.tryAs(ann,
			store.RunWrite{Run: second, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(second, "a"), d.execution("exec:1:b:x")(second)}}, landing)
		same(d.t, "landed", results[1].Landed, []bool{true, true})
		same(d.t, "the takeoff before it", results[0].Flights[0], store.Flight{Entry: entry})
		d.wantTaken("the flight given back", results[0].Flights[1], 1, false)
	}},
}

var runLandingTests = []runTest{
	{name: "a landing stores the entry and ends the flight", run: func(d *runDB) {
		run, entry := d.start(nil), d.newEntry("a")
		w := d.next(run)
		w.Takeoffs = []store.Takeoff{d.takeoff(run, "a")}
		flight := d.commitAs(ann, w).Flights[0]
		w = d.next(run)
		done := d.newAttempt(run, "a", 1, run.Seq)
		w.Steps, w.Landings = []rondo.RunStep{done}, []store.Landing{{Name: entry.Key, Fence: flight.Fence, Entry: entry}}
		same(d.t, "landed", d.commitAs(ann, w).Landed, []bool{true})
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: entry})
		sameBytes(d.t, "data", d.cached("a").Entry.Data, entry.Data)
		same(d.t, "steps", d.stepsOf(run), []rondo.RunStep{done})
		if d.land(ann, entry.Key, flight.Fence, d.newEntry("a")) {
			d.t.Fatal("a flight that ended landed again")
		}
	}},
	{name: "a landing that lost its flight keeps no entry, and the rest of its write stays", run: func(d *runDB) {
		run := d.start(nil)
		w := d.next(run)
		w.Takeoffs = []store.Takeoff{d.takeoff(run, "a"), d.takeoff(run, "b")}
		d.commitAs(ann, w)
		d.die(bob)
		d.wantTaken("bob", d.flyKey(bob, "a"), 2, true)
		w = d.next(run)
		w.Steps = []rondo.RunStep{d.newAttempt(run, "a", 1, run.Seq)}
		w.Landings = []store.Landing{
			{Name: digest("a"), Fence: 1, Entry: d.newEntry("a")}, {Name: digest("b"), Fence: 1, Entry: d.newEntry("b")}, {Name: digest("c"), Fence: 1, Entry: d.newEntry("c")},
		}
		same(d.t, "landed", d.commitAs(ann, w).Landed, []bool{false, true, false})
		same(d.t, "what was lost", d.cached("a"), store.CacheLookup{Flying: true, Fence: 2})
		same(d.t, "what was not", d.cached("b"), store.CacheLookup{Entry: w.Landings[1].Entry})
		same(d.t, "what was never taken", d.cached("c"), store.CacheLookup{})
		if got := d.stepsOf(run); len(got) != 2 || got[1].Status != rondo.RunStepCompleted {
			d.t.Fatalf("the steps of the write are not there: %+v", got)
		}
	}},
	{name: "a landing with another's fence, or of another's flight, is none", run: func(d *runDB) {
		d.flyKey(ann, "a")
		for _, fence := range []int64{0, 2, -1} {
			if d.land(ann, digest("a"), fence, d.newEntry("a")) {
				d.t.Fatalf("fence %d landed, want 1 only", fence)
			}
		}
		if d.land(bob, digest("a"), 1, d.newEntry("a")) {
			d.t.Fatal("another process landed the flight")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Flying: true, Fence: 1})
	}},
	{name: "a landing without an entry gives the flight back", run: func(d *runDB) {
		flight := d.flyKey(ann, "a")
		if !d.land(ann, digest("a"), flight.Fence, nil) {
			d.t.Fatal("it did not land")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{})
		if flight = d.flyKey(bob, "a"); !flight.Taken || flight.TookOver {
			d.t.Fatalf("what was given back: %+v, want it free", flight)
		}
	}},
	{name: "and keeps an older entry as it was", run: func(d *runDB) {
		old := d.keep(d.newEntry("a"))
		flight := d.fly(ann, d.takeoffAgain("a"))
		if !d.land(ann, digest("a"), flight.Fence, nil) {
			d.t.Fatal("it did not land")
		}
		same(d.t, "lookup", d.cached("a"), store.CacheLookup{Entry: old})
		if flight := d.fly(bob, d.takeoffAgain("a")); !flight.Taken || flight.TookOver {
			d.t.Fatalf("what was given back: %+v, want it free", flight)
		}
	}},
	{name: "an execution that landed leaves nothing", run: func(d *runDB) {
		for range 2 {
			flight := d.fly(ann, d.execution("exec:1:a:x"))
			d.wantTaken("execution", flight, 1, false)
			if !d.land(ann, "exec:1:a:x", flight.Fence, nil) {
				d.t.Fatal("it did not land")
			}
		}
	}},
	{name: "a process that lapsed may still land what nobody took over", run: func(d *runDB) {
		d.flyKey(ann, "a")
		d.die(bob)
		if !d.land(ann, digest("a"), 1, d.newEntry("a")) {
			d.t.Fatal("the fence is still the flight's, yet it did not land")
		}
	}},
}
