package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/store"
)

var systemTests = []test{
	{name: "migrating again changes nothing", run: func(d *db) {
		write, instance := d.fullWrite(key("c-1"))
		d.commit(write)
		for range 2 {
			must(0, d.Migrate(d.ctx()))(d.t)
		}
		d.wantWritten(write, instance)
	}},
	{name: "replicas may migrate an empty database at once", run: func(d *db) {
		first := openEmpty(d.t, d.harness, Options{})
		handles := []*db{first, first.again(), first.again()}
		errs := make([]error, len(handles))
		together(len(handles), func(i int) { errs[i] = handles[i].Migrate(d.ctx()) })
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("migrate: %v", err)
		}
		for _, handle := range handles {
			must(0, handle.Check(d.ctx()))(d.t)
		}
		write, instance := first.fullWrite(key("c-1"))
		first.commit(write)
		handles[1].wantWritten(write, instance)
	}},
	{name: "a migrated database checks out", run: func(d *db) { must(0, d.Check(d.ctx()))(d.t) }},
	{name: "the first launch is stored once", run: func(d *db) {
		first := must(d.Launched(d.ctx(), epoch))(d.t)
		later := must(d.again().Launched(d.ctx(), epoch.Add(time.Hour)))(d.t)
		same(d.t, "the launch", []time.Time{first, later}, []time.Time{epoch, epoch})
	}},
	{name: "replicas that launch at once agree on one time", run: func(d *db) {
		const replicas = 6
		second := d.again()
		times := make([]time.Time, replicas)
		errs := make([]error, replicas)
		together(replicas, func(i int) {
			times[i], errs[i] = []*db{d, second}[i%2].Launched(d.ctx(), epoch.Add(time.Duration(i)*time.Minute))
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("launch: %v", err)
		}
		for _, at := range times {
			same(d.t, "the launch", at, times[0])
		}
	}},
	{name: "an empty store answers every question", run: func(d *db) {
		if head := must(d.LogHead(d.ctx()))(d.t); head != 0 {
			d.t.Fatalf("the head of an empty log is %d", head)
		}
		if due := must(d.ClaimDue(d.ctx(), epoch, time.Minute, 10))(d.t); len(due) != 0 {
			d.t.Fatalf("due in an empty store: %v", due)
		}
		if rows := must(d.ClaimUnsent(d.ctx(), epoch, epoch, time.Minute, 10, store.Streams{}))(d.t); len(rows) != 0 {
			d.t.Fatalf("unsent in an empty store: %v", rows)
		}
		if list := must(d.Instances(d.ctx(), store.InstanceFilter{}, store.Page{Limit: 10}))(d.t); len(list) != 0 {
			d.t.Fatalf("instances in an empty store: %v", list)
		}
	}},
}

// wantOneToN checks that numbers given out at the same time are 1, 2, 3 … n.
func wantOneToN(t *testing.T, what string, got []int, errs []error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	want := make([]int, len(got))
	for i := range want {
		want[i] = i + 1
	}
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
		t.Fatalf("%s are %v, want %v", what, sorted, want)
	}
}
