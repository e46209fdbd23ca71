package storetest

import (
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runConcurrencyTests = []runTest{
	{name: "of a hundred takeoffs of one key one wins", run: func(d *runDB) {
		const processes, each = 4, 25
		handles := make([]*runDB, processes)
		owners := manyNames("owner", processes)
		for i := range handles {
			handles[i] = d.other()
			d.ok("heartbeat", d.Heartbeat(d.ctx(), owners[i], d.now, time.Hour))
		}
		runs := make([]*rondo.Run, processes*each)
		for i := range runs {
			runs[i] = d.newRun()
		}
		var taken, entered atomic.Int64
		together(len(runs), func(i int) {
			run := runs[i]
			results, err := handles[i%processes].CommitRuns(d.ctx(), store.RunCommit{Owner: owners[i%processes], At: d.now, Writes: []store.RunWrite{
				{Run: run, Insert: true, Takeoffs: []store.Takeoff{d.takeoff(run, "a")}},
			}})
			switch {
			case err != nil:
				d.t.Errorf("commit: %v", err)
			case results[0].Err != nil:
				d.t.Errorf("write: %v", results[0].Err)
			case results[0].Flights[0].Taken:
				taken.Add(1)
			case results[0].Flights[0].Entry != nil:
				entered.Add(1)
			}
		})
		if taken.Load() != 1 || entered.Load() != 0 {
			d.t.Fatalf("%d took the flight and %d saw an entry, want 1 and 0", taken.Load(), entered.Load())
		}
		counts := must(d.RunList(d.ctx(), store.RunFilter{TenantID: "acme"}, store.Page{}))(d.t)
		same(d.t, "runs stored", len(counts), len(runs))
	}},
	{name: "batches that cross each other all succeed", run: func(d *runDB) {
		const processes, rounds, keys = 4, 12, 10
		handles, owners := make([]*runDB, processes), manyNames("owner", processes)
		runs := make([]*rondo.Run, processes)
		for i := range handles {
			handles[i] = d.other()
			d.ok("heartbeat", d.Heartbeat(d.ctx(), owners[i], d.now, time.Hour))
			runs[i] = d.newRun()
			d.commitAs(owners[i], store.RunWrite{Run: runs[i], Insert: true})
		}
		var computed [keys]atomic.Int64
		together(processes, func(i int) {
			run := *runs[i]
			held := map[string]int64{}
			for round := range rounds {
				run.Seq++
				w := store.RunWrite{Run: &run, Fence: 1}
				for name, fence := range held {
					w.Landings = append(w.Landings, store.Landing{Name: digest(name), Fence: fence, Entry: d.newEntry(name)})
				}
				all := manyNames("k", keys)
				for n := range all { // every process in an order of its own
					name := all[(n*(2*i+1)+round)%keys]
					if _, mine := held[name]; !mine {
						w.Takeoffs = append(w.Takeoffs, d.takeoff(&run, name))
					}
				}
				results, err := handles[i].CommitRuns(d.ctx(), store.RunCommit{Owner: owners[i], At: d.now, Writes: []store.RunWrite{w}})
				if err != nil || results[0].Err != nil {
					d.t.Errorf("commit: %v %v", err, results)
					return
				}
				for n, ok := range results[0].Landed {
					if !ok {
						d.t.Errorf("landing %d of a flight that was held failed", n)
					}
				}
				clear(held)
				for n, flight := range results[0].Flights {
					if flight.Taken {
						name := w.Takeoffs[n].Step.StepID
						held[name] = flight.Fence
						computed[indexOf(manyNames("k", keys), name)].Add(1)
					}
				}
			}
		})
		for i := range computed {
			if n := computed[i].Load(); n != 1 {
				d.t.Errorf("key %d was computed %d times, want once", i, n)
			}
		}
	}},
	{name: "a dead holder's late writes are refused by the run's fence and by the flight's", run: func(d *runDB) {
		run := d.start(nil)
		w := d.next(run)
		w.Takeoffs = []store.Takeoff{d.takeoff(run, "a")}
		d.commitAs(ann, w)
		d.die(bob)
		late := d.other()
		d.ok("claim", claimedOne(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 1})))
		taken := store.RunWrite{Run: run, Fence: 2, Takeoffs: []store.Takeoff{d.takeoff(run, "a")}}
		taken.Takeoffs[0].Step.Attempt = 2
		d.wantTaken("bob", d.commitAs(bob, taken).Flights[0], 2, true)
		before := d.stepsOf(run)
		w = d.next(run)
		w.Steps = []rondo.RunStep{d.newAttempt(run, "a", 1, 9)}
		w.Landings = []store.Landing{{Name: digest("a"), Fence: 1, Entry: d.newEntry("a")}}
		d.wantLost("the late write", late.tryAs(ann, w)[0].Err)
		same(d.t, "steps", d.stepsOf(run), before)
		same(d.t, "cache", d.cached("a"), store.CacheLookup{Flying: true, Fence: 2})
	}},
	{name: "of two that resume a run one wins", run: func(d *runDB) {
		run := d.start(nil)
		d.end(run, rondo.RunFailed, d.now)
		handles := []*runDB{d, d.other()}
		var won atomic.Int64
		together(8, func(i int) {
			again := *run
			again.Status = rondo.RunRunning
			results, err := handles[i%2].CommitRuns(d.ctx(), store.RunCommit{Owner: bob, At: d.now, Writes: []store.RunWrite{{Run: &again, Resume: rondo.RunFailed}}})
			if err != nil {
				d.t.Errorf("commit: %v", err)
			} else if results[0].Err == nil {
				won.Add(1)
			}
		})
		if won.Load() != 1 {
			d.t.Fatalf("%d resumed it, want 1", won.Load())
		}
	}},
	{name: "of two runs with one id one is stored", run: func(d *runDB) {
		run := d.newRun()
		handles := []*runDB{d, d.other()}
		var won atomic.Int64
		together(8, func(i int) {
			results, err := handles[i%2].CommitRuns(d.ctx(), store.RunCommit{Owner: bob, At: d.now, Writes: []store.RunWrite{{Run: run, Insert: true}}})
			switch {
			case err != nil:
				d.t.Errorf("commit: %v", err)
			case results[0].Err == nil:
				won.Add(1)
			case rondo.CodeOf(results[0].Err) != rondo.CodeConflict:
				d.t.Errorf("the loser got %v, want a conflict", results[0].Err)
			}
		})
		if won.Load() != 1 {
			d.t.Fatalf("%d stored it, want 1", won.Load())
		}
	}},
}

func indexOf(all []string, name string) int {
	for i := range all {
		if all[i] == name {
			return i
		}
	}
	return -1
}
