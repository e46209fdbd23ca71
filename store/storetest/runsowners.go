package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var runOwnerTests = []runTest{
	{name: "a heartbeat prolongs, again and again", run: func(d *runDB) {
		for range 5 {
			d.now = d.now.Add(10 * time.Second)
			d.ok("heartbeat", d.Heartbeat(d.ctx(), ann, d.now, heartbeat))
			d.ok("the same heartbeat again", d.Heartbeat(d.ctx(), ann, d.now, heartbeat))
		}
	}},
	{name: "a name that lapsed is not revived", run: func(d *runDB) {
		d.now = d.now.Add(heartbeat)
		d.wantLost("heartbeat at the very end", d.Heartbeat(d.ctx(), ann, d.now, heartbeat))
		d.wantLost("heartbeat later", d.Heartbeat(d.ctx(), ann, d.now.Add(time.Hour), heartbeat))
		d.wantLost("heartbeat of another process under that name", d.other().Heartbeat(d.ctx(), ann, d.now, heartbeat))
		d.ok("a new name", d.Heartbeat(d.ctx(), "ann-2", d.now, heartbeat))
	}},
	{name: "who leaves is gone at once, and does not come back", run: func(d *runDB) {
		run := d.start(nil)
		d.flyKey(ann, "a")
		d.ok("leave", d.LeaveRuns(d.ctx(), ann))
		d.ok("leave again", d.LeaveRuns(d.ctx(), ann))
		d.ok("leave without ever having been there", d.LeaveRuns(d.ctx(), "nobody"))
		d.wantLost("heartbeat", d.Heartbeat(d.ctx(), ann, d.now, heartbeat))
		if flight := d.flyKey(bob, "a"); !flight.Taken || !flight.TookOver || flight.Fence != 2 {
			d.t.Fatalf("flight of one who left: %+v, want it taken over", flight)
		}
		claimed := must(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 1}))(d.t)
		if len(claimed) != 1 || claimed[0].Run.ID != run.ID || claimed[0].Fence != 2 {
			d.t.Fatalf("claimed %+v, want the run of the one who left", claimed)
		}
	}},
	{name: "one heartbeat holds runs and flights alike", run: func(d *runDB) {
		d.start(nil)
		d.flyKey(ann, "a")
		d.die(ann, bob)
		if flight := d.flyKey(bob, "a"); flight.Taken || flight.Entry != nil {
			d.t.Fatalf("flight of one alive: %+v, want it held", flight)
		}
		same(d.t, "claimed", must(d.ClaimRuns(d.ctx(), "third", d.now, store.Claim{Limit: 10}))(d.t), []store.OwnedRun(nil))
	}},
}

var runClaimTests = []runTest{
	{name: "runs without an owner that is alive are claimed, oldest first", run: func(d *runDB) {
		var runs []*rondo.Run
		for _, status := range []rondo.RunStatus{rondo.RunQueued, rondo.RunRunning, rondo.RunRunning} {
			runs = append(runs, d.start(func(run *rondo.Run) { run.Status = status }))
		}
		held := d.newRun()
		d.commitAs(bob, store.RunWrite{Run: held, Insert: true})
		d.ok("third", d.Heartbeat(d.ctx(), "third", d.now, time.Hour))
		same(d.t, "claimed while all are alive", must(d.ClaimRuns(d.ctx(), "third", d.now, store.Claim{Limit: 10}))(d.t), []store.OwnedRun(nil))
		d.die(bob)
		same(d.t, "claimed with a limit", must(d.ClaimRuns(d.ctx(), "third", d.now, store.Claim{Limit: 2}))(d.t), []store.OwnedRun{{Run: *runs[0], Fence: 2}, {Run: *runs[1], Fence: 2}})
		same(d.t, "claimed next", must(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 10}))(d.t), []store.OwnedRun{{Run: *runs[2], Fence: 2}})
		same(d.t, "claimed when nothing is left", must(d.ClaimRuns(d.ctx(), "third", d.now, store.Claim{Limit: 10}))(d.t), []store.OwnedRun(nil))
		same(d.t, "claimed with no limit at all", must(d.ClaimRuns(d.ctx(), "third", d.now.Add(2*time.Hour), store.Claim{Limit: 0}))(d.t), []store.OwnedRun(nil))
	}},
	{name: "tenants take turns, and of each the run created first is first", run: func(d *runDB) {
		var ids []rondo.ID
		for i, tenant := range []string{"acme", "acme", "acme", "globex", "globex", "initech"} {
			run := d.start(func(run *rondo.Run) {
				run.TenantID, run.CreatedAt = tenant, d.now.Add(-time.Duration(i)*time.Minute) // ids rise, ages too
			})
			ids = append(ids, run.ID)
		}
		d.die(bob)
		claim := func(what string, want store.Claim, places ...int) {
			d.t.Helper()
			var got, expected []rondo.ID
			for _, owned := range must(d.ClaimRuns(d.ctx(), bob, d.now, want))(d.t) {
				got = append(got, owned.Run.ID)
			}
			for _, place := range places {
				expected = append(expected, ids[place])
			}
			same(d.t, what, got, expected)
		}
		claim("of full tenants", store.Claim{Limit: 10, PerTenant: 1, Taken: map[string]int{"acme": 1, "globex": 2, "initech": 1}})
		claim("one by its id", store.Claim{Limit: 10, Run: ids[1]}, 1)
		claim("one that is held", store.Claim{Limit: 10, Run: ids[1]})
		claim("one that is not there", store.Claim{Limit: 10, Run: d.ids.New()})
		claim("in turn", store.Claim{Limit: 4}, 5, 4, 2, 3)
		claim("what is left", store.Claim{Limit: 4}, 0)
	}},
	{name: "the fence rises with every claim, and the one before is refused", run: func(d *runDB) {
		run := d.start(nil)
		d.die(bob)
		d.ok("third", d.Heartbeat(d.ctx(), "third", d.now, time.Hour))
		d.ok("claim", claimedOne(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 1})))
		d.wantLost("a write of the first owner", d.tryAs(ann, d.next(run))[0].Err)
		d.die()
		claimed := must(d.ClaimRuns(d.ctx(), "third", d.now, store.Claim{Limit: 1}))(d.t)
		if len(claimed) != 1 || claimed[0].Fence != 3 {
			d.t.Fatalf("claimed %+v, want fence 3", claimed)
		}
		w := d.next(run)
		w.Fence = 2
		d.wantLost("a write of the second owner", d.tryAs(bob, w)[0].Err)
		w.Fence = 3
		d.commitAs("third", w)
	}},
	{name: "a run that ended is nobody's", run: func(d *runDB) {
		for _, status := range []rondo.RunStatus{rondo.RunCompleted, rondo.RunFailed, rondo.RunCancelled} {
			d.end(d.start(nil), status, d.now)
		}
		d.die(bob)
		same(d.t, "claimed", must(d.ClaimRuns(d.ctx(), bob, d.now, store.Claim{Limit: 10}))(d.t), []store.OwnedRun(nil))
	}},
	{name: "two processes never claim the same run", run: func(d *runDB) {
		const runs, claimers = 40, 4
		for range runs {
			d.start(nil)
		}
		d.die(bob)
		handles := make([]*runDB, claimers)
		for i := range handles {
			handles[i] = d.other()
			d.ok("heartbeat", d.Heartbeat(d.ctx(), manyNames("claimer", claimers)[i], d.now, time.Hour))
		}
		claims := make([][]store.OwnedRun, claimers)
		together(claimers, func(i int) {
			for range 2 * runs {
				found, err := handles[i].ClaimRuns(d.ctx(), manyNames("claimer", claimers)[i], d.now, store.Claim{Limit: 3})
				if err != nil {
					d.t.Errorf("claim: %v", err)
					return
				}
				claims[i] = append(claims[i], found...)
			}
		})
		seen := map[rondo.ID]bool{}
		for _, claimed := range claims {
			for _, c := range claimed {
				if seen[c.Run.ID] || c.Fence != 2 {
					d.t.Fatalf("run %s was claimed twice, or its fence is %d and not 2", c.Run.ID, c.Fence)
				}
				seen[c.Run.ID] = true
			}
		}
		if len(seen) != runs {
			d.t.Fatalf("%d of %d runs were claimed", len(seen), runs)
		}
	}},
}

func claimedOne(claimed []store.OwnedRun, err error) error {
	if err == nil && len(claimed) != 1 {
		err = rondo.WrongState("nothing was claimed")
	}
	return err
}
