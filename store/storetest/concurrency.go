package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var concurrencyTests = []test{
	{name: "overlapping batches in any order lose no update and never deadlock", run: testNoLostUpdate},
	{name: "of many that start one case at once, one does", run: func(d *db) {
		const starters = 12
		second := d.again()
		var started atomic.Int64
		errs := make([]error, starters)
		together(starters, func(i int) {
			var mine bool
			_, errs[i] = []*db{d, second}[i%2].Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{key("c-1")}},
				func(loaded *store.Loaded) (*store.Write, error) {
					mine = loaded.Cases[key("c-1")].Instance == nil
					if !mine {
						return nil, nil
					}
					return &store.Write{Instances: []store.InstanceWrite{{Instance: d.newInstance(key("c-1"))}}}, nil
				})
			if mine && errs[i] == nil {
				started.Add(1)
			}
		})
		if err := errors.Join(errs...); err != nil || started.Load() != 1 {
			d.t.Fatalf("%d starters made an instance (%v), want 1", started.Load(), err)
		}
	}},
	{name: "an event that arrives many times at once has one row and an exact count", run: func(d *db) {
		const arrivals = 12
		second := d.again()
		event := d.newEvent(key("c-1"), "case.created")
		load := store.Load{Cases: []rondo.CaseKey{key("c-1")}, Events: []rondo.EventKey{eventKey(event)}}
		errs := make([]error, arrivals)
		together(arrivals, func(i int) {
			_, errs[i] = []*db{d, second}[i%2].Update(d.ctx(), load, func(loaded *store.Loaded) (*store.Write, error) {
				if _, seen := loaded.Seen[eventKey(event)]; seen {
					return &store.Write{Duplicates: []rondo.EventKey{eventKey(event)}}, nil
				}
				row := event
				row.ID = d.ids.New()
				return &store.Write{Events: []rondo.EventRecord{row}}, nil
			})
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("update: %v", err)
		}
		if got := must(d.Event(d.ctx(), "acme", event.EventID))(d.t).Duplicates; got != arrivals-1 {
			d.t.Fatalf("the row counts %d duplicates, want %d", got, arrivals-1)
		}
	}},
	{name: "timer claims do not disturb updates", run: func(d *db) {
		const cases, rounds = 4, 15
		for i := range cases {
			d.startAt(key(strconv.Itoa(i)), epoch)
		}
		second := d.again()
		errs := make([]error, cases+2)
		together(cases+2, func(i int) {
			if i >= cases {
				for round := range 2 * rounds {
					if _, err := second.ClaimDue(d.ctx(), epoch.Add(time.Duration(round)*time.Hour), time.Minute, 3); err != nil {
						errs[i] = err
						return
					}
				}
				return
			}
			for range rounds {
				if _, err := d.bump([]rondo.CaseKey{key(strconv.Itoa(i))}); err != nil {
					errs[i] = err
					return
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("updates and claims at once: %v", err)
		}
		for i := range cases {
			if got := d.state(key(strconv.Itoa(i))).Instance.Version; got != rounds+1 {
				d.t.Fatalf("case %d is at version %d, want %d", i, got, rounds+1)
			}
		}
	}},
	{name: "definitions are published while cases start", run: func(d *db) {
		const publishers, starters, rounds = 2, 4, 5
		d.published("acme", "derma", "hash-0")
		second := d.again()
		errs := make([]error, publishers+starters)
		together(publishers+starters, func(i int) {
			for round := range rounds {
				if errs[i] != nil {
					return
				}
				if i < publishers {
					errs[i] = second.tryPublish("acme", "derma", fmt.Sprintf("hash-%d-%d", i, round))
				} else {
					errs[i] = d.tryStart(key(fmt.Sprintf("c-%d-%d", i, round)), "derma")
				}
			}
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("publish and start at once: %v", err)
		}
		if list := must(d.Instances(d.ctx(), store.InstanceFilter{OrgID: "acme"}, store.Page{}))(d.t); len(list) != starters*rounds {
			d.t.Fatalf("%d cases were started, want %d", len(list), starters*rounds)
		}
	}},
	{name: "an update that lost its race sees the winner's state", run: func(d *db) {
		d.start(key("c-1"))
		const writers = 8
		seen := make([]int64, writers)
		errs := make([]error, writers)
		together(writers, func(i int) {
			_, errs[i] = d.Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{key("c-1")}}, func(loaded *store.Loaded) (*store.Write, error) {
				instance := loaded.Cases[key("c-1")].Instance
				seen[i] = instance.Version
				return &store.Write{Instances: []store.InstanceWrite{change(instance, func(*rondo.Instance) {})}}, nil
			})
		})
		versions := make([]int, writers)
		for i, version := range seen {
			versions[i] = int(version)
		}
		wantOneToN(d.t, "versions seen", versions, errs)
	}},
}

// testNoLostUpdate counts, in the version and in the context of every case, how
// often it was changed, while two handles change overlapping sets of them.
func testNoLostUpdate(d *db) {
	const workers, rounds, cases = 8, 12, 6
	second := d.again()
	var changes atomic.Int64
	errs := make([]error, workers)
	together(workers, func(worker int) {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		handle := []*db{d, second}[worker%2]
		for range rounds {
			var batch []rondo.CaseKey
			for range 1 + random.IntN(2*cases) { // with repeats, in no order
				n := random.IntN(cases)
				batch = append(batch, rondo.CaseKey{OrgID: []string{"acme", "other"}[n%2], CaseID: fmt.Sprintf("c-%d", n)})
			}
			changed, err := handle.bump(batch)
			if err != nil {
				errs[worker] = err
				return
			}
			changes.Add(changed)
		}
	})
	if err := errors.Join(errs...); err != nil {
		d.t.Fatalf("update: %v", err)
	}
	var versions, counted int64
	for _, instance := range must(d.Instances(d.ctx(), store.InstanceFilter{}, store.Page{}))(d.t) {
		versions += instance.Version
		var n int64
		must(0, json.Unmarshal(instance.Context["count"], &n))(d.t)
		counted += n
	}
	if versions != changes.Load() || counted != changes.Load() {
		d.t.Fatalf("versions sum to %d and counts to %d after %d changes", versions, counted, changes.Load())
	}
}

// bump raises the version and the count of every case named, starting those
// that have no instance, in one batch. It returns how many cases it changed.
func (d *db) bump(batch []rondo.CaseKey) (changed int64, err error) {
	_, err = d.Update(d.ctx(), store.Load{Cases: batch}, func(loaded *store.Loaded) (*store.Write, error) {
		write := &store.Write{}
		for at, state := range loaded.Cases {
			next := store.InstanceWrite{Instance: d.newInstance(at)}
			if state.Instance != nil {
				next = change(state.Instance, func(*rondo.Instance) {})
			}
			next.Instance.Context = rondo.Context{"count": json.RawMessage(strconv.FormatInt(next.Instance.Version, 10))}
			if previous := state.Instance; previous != nil && previous.Context["count"] != nil {
				var n int64
				if err := json.Unmarshal(previous.Context["count"], &n); err != nil {
					return nil, err
				}
				next.Instance.Context["count"] = json.RawMessage(strconv.FormatInt(n+1, 10))
			}
			write.Instances = append(write.Instances, next)
		}
		changed = int64(len(write.Instances))
		return write, nil
	})
	return changed, err
}

// tryPublish creates and publishes a definition; unlike publish it may be called
// from any goroutine.
func (d *db) tryPublish(org, product, hash string) error {
	draft := d.newDefinition(org, product)
	if _, err := d.CreateDefinition(d.ctx(), draft, d.newRevision(draft, "created")); err != nil {
		return err
	}
	rev := d.newRevision(draft, "published")
	_, err := d.ChangeDefinition(d.ctx(), org, draft.ID, func(now rondo.Definition) (store.DefinitionChange, error) {
		now.Status, now.SnapshotHash = rondo.DefinitionActive, hash
		return store.DefinitionChange{Definition: now, Revision: rev, Snapshot: []byte(`{}`)}, nil
	})
	return err
}

// tryStart starts a case on whatever definition is active then: there must be
// one at any time.
func (d *db) tryStart(at rondo.CaseKey, product string) error {
	start := store.StartKey{OrgID: at.OrgID, ProductID: product}
	_, err := d.Update(d.ctx(), store.Load{Cases: []rondo.CaseKey{at}, Starts: []store.StartKey{start}},
		func(loaded *store.Loaded) (*store.Write, error) {
			active, ok := loaded.Active[start]
			if !ok {
				return nil, errors.New("no definition is active while one replaces another")
			}
			instance := d.newInstance(at)
			instance.DefinitionID, instance.SnapshotHash = active.DefinitionID, active.SnapshotHash
			return &store.Write{Instances: []store.InstanceWrite{{Instance: instance}}}, nil
		})
	return err
}
