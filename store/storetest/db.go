package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// epoch is when every test begins.
var epoch = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)

// db is a migrated store under test with the few verbs that tests need.
type db struct {
	store.Store
	t       *testing.T
	ids     *rondo.IDs
	harness Harness
}

func open(t *testing.T, h Harness, opts Options) *db {
	t.Helper()
	d := openEmpty(t, h, opts)
	if err := d.Migrate(d.ctx()); err != nil {
		t.Fatalf("migrate an empty database: %v", err)
	}
	return d
}

func openEmpty(t *testing.T, h Harness, opts Options) *db {
	t.Helper()
	return &db{
		Store:   h.Open(t, opts),
		t:       t,
		ids:     rondo.NewIDs(func() time.Time { return epoch }),
		harness: h,
	}
}

// ctx bounds every call by the test's life.
func (d *db) ctx() context.Context { return d.t.Context() }

// again is the same database through another handle.
func (d *db) again() *db {
	d.t.Helper()
	second := *d
	if d.harness.Again != nil {
		second.Store = d.harness.Again(d.t, d.Store)
	}
	return &second
}

// try commits a write, with the locks that it needs.
func (d *db) try(write *store.Write) (store.Committed, error) {
	return d.Update(d.ctx(), loadFor(write), func(*store.Loaded) (*store.Write, error) { return write, nil })
}

// commit is try for writes that must succeed.
func (d *db) commit(write *store.Write) store.Committed {
	d.t.Helper()
	committed, err := d.try(write)
	if err != nil {
		d.t.Fatalf("update: %v", err)
	}
	return committed
}

// refused is try for writes that must fail as the data model says.
func (d *db) refused(write *store.Write) {
	d.t.Helper()
	_, err := d.try(write)
	wantCode(d.t, err, rondo.CodeConflict)
}

// load shows what a batch would see, and writes nothing.
func (d *db) load(load store.Load) *store.Loaded {
	d.t.Helper()
	var seen *store.Loaded
	_, err := d.Update(d.ctx(), load, func(loaded *store.Loaded) (*store.Write, error) {
		seen = loaded
		return nil, nil
	})
	if err != nil {
		d.t.Fatalf("update that only loads: %v", err)
	}
	return seen
}

// state is what a batch would see of one case.
func (d *db) state(key rondo.CaseKey) store.CaseState {
	d.t.Helper()
	return d.load(store.Load{Cases: []rondo.CaseKey{key}}).Cases[key]
}

// start commits a new instance of a case and returns it.
func (d *db) start(key rondo.CaseKey) *rondo.Instance {
	d.t.Helper()
	instance := d.newInstance(key)
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}})
	return instance
}

// startAt is start with a wake-up.
func (d *db) startAt(key rondo.CaseKey, wake time.Time) *rondo.Instance {
	d.t.Helper()
	instance := d.newInstance(key)
	instance.WakeAt = wake
	d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}})
	return instance
}

// loadFor names the cases that a write is about, so that they are locked.
func loadFor(write *store.Write) store.Load {
	var load store.Load
	for _, w := range write.Instances {
		load.Cases = append(load.Cases, w.Instance.Key())
	}
	for _, event := range append(append([]rondo.EventRecord(nil), write.Events...), write.Rejudged...) {
		load.Cases = append(load.Cases, rondo.CaseKey{OrgID: event.OrgID, CaseID: event.CaseID})
	}
	return load
}

// change replaces an instance by an edited copy whose version is one higher.
func change(instance *rondo.Instance, edit func(*rondo.Instance)) store.InstanceWrite {
	next := *instance
	next.Version++
	edit(&next)
	return store.InstanceWrite{Instance: &next, Previous: instance.Version}
}

// together runs work in n goroutines at once and waits for all of them.
func together(n int, work func(i int)) {
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-begin
			work(i)
		})
	}
	close(begin)
	group.Wait()
}

// must is for calls that cannot fail here: must(call())(t) is their value.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return value
	}
}

func wantCode(t *testing.T, err error, want rondo.Code) {
	t.Helper()
	if err == nil {
		t.Fatalf("it succeeded; want an error with code %q", want)
	}
	if found, ok := errors.AsType[*rondo.Error](err); !ok || found.Code != want {
		t.Fatalf("error %q has code %q, want %q", err, rondo.CodeOf(err), want)
	}
}
