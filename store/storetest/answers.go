package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
)

func reservedAnswer(org, key string) rondo.Answer {
	return rondo.Answer{OrgID: org, Key: key, Request: "digest of " + key, CreatedAt: epoch}
}

// reserve stores a key as being worked on.
func (d *db) reserve(a rondo.Answer) {
	d.t.Helper()
	if _, fresh, err := d.ReserveAnswer(d.ctx(), a); err != nil || !fresh {
		d.t.Fatalf("reserve %s: fresh %v, %v", a.Key, fresh, err)
	}
}

var answerTests = []test{
	{name: "a key is fresh once, and what was answered comes back", run: func(d *db) {
		want := reservedAnswer("acme", "k1")
		if got, fresh, err := d.ReserveAnswer(d.ctx(), want); err != nil || !fresh || got.Status != 0 {
			d.t.Fatalf("first: %+v, fresh %v, %v", got, fresh, err)
		}
		if got, fresh, err := d.ReserveAnswer(d.ctx(), reservedAnswer("acme", "k1")); err != nil || fresh || got.Status != 0 || got.Request != want.Request {
			d.t.Fatalf("while worked on: %+v, fresh %v, %v", got, fresh, err)
		}
		want.Status, want.Header, want.Body = 201, json.RawMessage(`{"ETag":"\"1\""}`), []byte(`{"id":"x"}`)
		must(0, d.KeepAnswer(d.ctx(), want))(d.t)
		got, fresh, err := d.ReserveAnswer(d.ctx(), reservedAnswer("acme", "k1"))
		if err != nil || fresh {
			d.t.Fatalf("afterwards: fresh %v, %v", fresh, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			d.t.Errorf("answer (-want +got):\n%s", diff)
		}
	}},
	{name: "keys of organisations and keys in another case are apart", run: func(d *db) {
		for _, a := range []rondo.Answer{reservedAnswer("acme", "k"), reservedAnswer("beta", "k"), reservedAnswer("acme", "K")} {
			if _, fresh, err := d.ReserveAnswer(d.ctx(), a); err != nil || !fresh {
				d.t.Errorf("%s %s: fresh %v, %v", a.OrgID, a.Key, fresh, err)
			}
		}
	}},
	{name: "a dropped key is fresh again, an answered one cannot be dropped", run: func(d *db) {
		a := reservedAnswer("acme", "k")
		d.reserve(a)
		must(0, d.DropAnswer(d.ctx(), "acme", "k"))(d.t)
		if _, fresh, err := d.ReserveAnswer(d.ctx(), a); err != nil || !fresh {
			d.t.Errorf("after dropping: fresh %v, %v", fresh, err)
		}
		a.Status = 200
		must(0, d.KeepAnswer(d.ctx(), a))(d.t)
		must(0, d.DropAnswer(d.ctx(), "acme", "k"))(d.t)
		if _, fresh, err := d.ReserveAnswer(d.ctx(), a); err != nil || fresh {
			d.t.Errorf("after an answer: fresh %v, %v", fresh, err)
		}
	}},
	{name: "keeping the answer of a key that is gone brings nothing back", run: func(d *db) {
		a := reservedAnswer("acme", "k")
		a.Status = 200
		must(0, d.KeepAnswer(d.ctx(), a))(d.t)
		if _, fresh, err := d.ReserveAnswer(d.ctx(), a); err != nil || !fresh {
			d.t.Errorf("fresh %v, %v", fresh, err)
		}
	}},
	{name: "old keys are forgotten, oldest first, some at a time", run: func(d *db) {
		for i := range 5 {
			a := reservedAnswer("acme", fmt.Sprintf("k%d", i))
			a.CreatedAt = epoch.Add(time.Duration(i) * time.Hour)
			d.reserve(a)
		}
		for _, want := range []int{2, 1, 0} {
			if n, err := d.ForgetAnswers(d.ctx(), epoch.Add(3*time.Hour), 2); err != nil || n != want {
				d.t.Errorf("forgot %d, %v; want %d", n, err, want)
			}
		}
		for i, want := range []bool{true, true, true, false, false} {
			if _, fresh, err := d.ReserveAnswer(d.ctx(), reservedAnswer("acme", fmt.Sprintf("k%d", i))); err != nil || fresh != want {
				d.t.Errorf("k%d: fresh %v, %v; want %v", i, fresh, err, want)
			}
		}
	}},
	{name: "of many who reserve a key at once, one gets it", run: func(d *db) {
		var fresh atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, mine, err := d.ReserveAnswer(d.ctx(), reservedAnswer("acme", "k"))
				if err != nil {
					d.t.Error(err)
				}
				if mine {
					fresh.Add(1)
				}
			})
		}
		all.Wait()
		if n := fresh.Load(); n != 1 {
			d.t.Errorf("%d got it", n)
		}
	}},
}
