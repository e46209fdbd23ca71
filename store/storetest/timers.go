package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var timerTests = []test{
	{name: "cases that are due are claimed, earliest first", run: func(d *db) {
		d.startAt(key("third"), epoch.Add(3*time.Minute))
		d.startAt(key("first"), epoch.Add(time.Minute))
		d.startAt(rondo.CaseKey{OrgID: "other", CaseID: "second"}, epoch.Add(2*time.Minute))
		d.startAt(key("later"), epoch.Add(3*time.Minute+time.Microsecond))
		d.start(key("never"))
		due := must(d.ClaimDue(d.ctx(), epoch.Add(3*time.Minute), time.Minute, 10))(d.t)
		same(d.t, "the due cases", due, []rondo.CaseKey{key("first"), {OrgID: "other", CaseID: "second"}, key("third")})
	}},
	{name: "no more are claimed than asked for", run: func(d *db) {
		for i := range 5 {
			d.startAt(key(fmt.Sprint(i)), epoch.Add(time.Duration(i)*time.Second))
		}
		now := epoch.Add(time.Minute)
		same(d.t, "the first claim", must(d.ClaimDue(d.ctx(), now, time.Minute, 2))(d.t), []rondo.CaseKey{key("0"), key("1")})
		same(d.t, "the second claim", must(d.ClaimDue(d.ctx(), now, time.Minute, 10))(d.t), []rondo.CaseKey{key("2"), key("3"), key("4")})
		same(d.t, "the third claim", must(d.ClaimDue(d.ctx(), now, time.Minute, 10))(d.t), []rondo.CaseKey{})
	}},
	{name: "a claim that leads to nothing comes again when its lease ends", run: func(d *db) {
		d.startAt(key("c-1"), epoch)
		lease := 30 * time.Second
		for round := range 3 {
			now := epoch.Add(time.Duration(round) * lease)
			same(d.t, "the due cases", must(d.ClaimDue(d.ctx(), now, lease, 10))(d.t), []rondo.CaseKey{key("c-1")})
			same(d.t, "the due cases before the lease ends",
				must(d.again().ClaimDue(d.ctx(), now.Add(lease-time.Microsecond), lease, 10))(d.t), []rondo.CaseKey{})
		}
	}},
	{name: "a claim changes the wake-up and nothing else", run: func(d *db) {
		want := *d.startAt(key("c-1"), epoch)
		must(d.ClaimDue(d.ctx(), epoch, time.Minute, 10))(d.t)
		want.WakeAt = epoch.Add(time.Minute)
		same(d.t, "the claimed instance", d.state(key("c-1")).Instance, &want)
	}},
	{name: "an update decided before a claim still commits", run: func(d *db) {
		instance := d.startAt(key("c-1"), epoch)
		must(d.ClaimDue(d.ctx(), epoch, time.Minute, 10))(d.t)
		next := change(instance, func(i *rondo.Instance) { i.WakeAt = epoch.Add(time.Hour) })
		d.commit(&store.Write{Instances: []store.InstanceWrite{next}})
		same(d.t, "the instance", d.state(key("c-1")).Instance, next.Instance)
		same(d.t, "the due cases after the lease", must(d.ClaimDue(d.ctx(), epoch.Add(30*time.Minute), time.Minute, 10))(d.t), []rondo.CaseKey{})
	}},
	{name: "a case whose wake-up is taken away is not due", run: func(d *db) {
		instance := d.startAt(key("c-1"), epoch)
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(instance, func(i *rondo.Instance) { i.WakeAt = time.Time{} })}})
		same(d.t, "the due cases", must(d.ClaimDue(d.ctx(), epoch.AddDate(10, 0, 0), time.Minute, 10))(d.t), []rondo.CaseKey{})
		if next := must(d.NextWake(d.ctx()))(d.t); !next.IsZero() {
			d.t.Fatalf("the next wake-up is %v, want none", next)
		}
	}},
	{name: "the next wake-up is the earliest, claims included", run: func(d *db) {
		if next := must(d.NextWake(d.ctx()))(d.t); !next.IsZero() {
			d.t.Fatalf("an empty store wakes at %v", next)
		}
		d.startAt(key("later"), epoch.Add(time.Hour))
		d.startAt(key("sooner"), epoch.Add(time.Minute))
		d.start(key("never"))
		same(d.t, "the next wake-up", must(d.NextWake(d.ctx()))(d.t), epoch.Add(time.Minute))
		must(d.ClaimDue(d.ctx(), epoch.Add(time.Minute), 10*time.Minute, 10))(d.t)
		same(d.t, "the next wake-up after a claim", must(d.NextWake(d.ctx()))(d.t), epoch.Add(11*time.Minute))
	}},
	{name: "pollers never get the same case and together get all", run: func(d *db) {
		const cases, pollers = 60, 4
		write := &store.Write{}
		for i := range cases {
			instance := d.newInstance(key(fmt.Sprintf("c-%03d", i)))
			instance.WakeAt = epoch.Add(time.Duration(i%7) * time.Second)
			write.Instances = append(write.Instances, store.InstanceWrite{Instance: instance})
		}
		d.commit(write)
		second := d.again()
		var mu sync.Mutex
		claims := map[rondo.CaseKey]int{}
		errs := make([]error, pollers)
		together(pollers, func(i int) {
			for {
				due, err := []*db{d, second}[i%2].ClaimDue(d.ctx(), epoch.Add(time.Minute), time.Hour, 5)
				if err != nil || len(due) == 0 {
					errs[i] = err
					return
				}
				mu.Lock()
				for _, at := range due {
					claims[at]++
				}
				mu.Unlock()
			}
		})
		if err := errors.Join(errs...); err != nil {
			d.t.Fatalf("claim: %v", err)
		}
		for at, n := range claims {
			if n != 1 {
				d.t.Fatalf("case %q was claimed %d times", at.CaseID, n)
			}
		}
		if len(claims) != cases {
			d.t.Fatalf("%d cases were claimed, want %d", len(claims), cases)
		}
	}},
	{name: "an instance that nothing would wake is found", run: func(d *db) {
		add := func(caseID string, edit func(*rondo.Instance)) {
			instance := d.newInstance(key(caseID))
			edit(instance)
			d.commit(&store.Write{Instances: []store.InstanceWrite{{Instance: instance}}})
		}
		add("armed", func(i *rondo.Instance) { i.WakeAt = epoch })
		add("halted and armed", func(i *rondo.Instance) { i.Status, i.WakeAt = rondo.StatusHalted, epoch })
		add("halted past its deadline", func(i *rondo.Instance) { i.Status, i.DeadlineExceeded = rondo.StatusHalted, true })
		add("completed", func(i *rondo.Instance) { i.Status, i.CompletedAt = rondo.StatusCompleted, epoch })
		add("cancelled", cancel)
		same(d.t, "the unarmed cases of a sound database", must(d.Unarmed(d.ctx(), 10))(d.t), []rondo.CaseKey{})
		add("running", func(*rondo.Instance) {})
		add("late", func(i *rondo.Instance) { i.DeadlineExceeded = true })
		add("halted", func(i *rondo.Instance) { i.Status = rondo.StatusHalted })
		d.start(rondo.CaseKey{OrgID: "other", CaseID: "running"})
		same(d.t, "the unarmed cases", must(d.Unarmed(d.ctx(), 10))(d.t),
			[]rondo.CaseKey{key("running"), key("late"), key("halted"), {OrgID: "other", CaseID: "running"}})
		same(d.t, "the first unarmed cases", must(d.Unarmed(d.ctx(), 2))(d.t), []rondo.CaseKey{key("running"), key("late")})
	}},
	{name: "an instance that is armed again, or ends, is not unarmed any more", run: func(d *db) {
		first, second := d.start(key("c-1")), d.start(key("c-2"))
		d.commit(&store.Write{Instances: []store.InstanceWrite{
			change(first, func(i *rondo.Instance) { i.WakeAt = epoch.Add(time.Hour) }), change(second, cancel),
		}})
		same(d.t, "the unarmed cases", must(d.Unarmed(d.ctx(), 10))(d.t), []rondo.CaseKey{})
		armed := d.state(key("c-1")).Instance
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(armed, func(i *rondo.Instance) { i.WakeAt = time.Time{} })}})
		same(d.t, "the unarmed cases after", must(d.again().Unarmed(d.ctx(), 10))(d.t), []rondo.CaseKey{key("c-1")})
	}},
	{name: "events that are parked in cases without an instance are found when they are old", run: func(d *db) {
		park := func(at rondo.CaseKey, received time.Time) rondo.EventRecord {
			event := d.newParked(at)
			event.ReceivedAt = received
			d.commit(&store.Write{Events: []rondo.EventRecord{event}})
			return event
		}
		hour := epoch.Add(time.Hour)
		other := rondo.CaseKey{OrgID: "other", CaseID: "a"}
		park(key("young"), hour.Add(time.Microsecond))
		park(key("old"), hour)
		park(key("old"), epoch)
		park(key("Old"), hour)
		park(other, epoch)
		d.start(key("begun"))
		park(key("begun"), epoch)
		d.commit(&store.Write{Instances: []store.InstanceWrite{change(d.start(key("cancelled")), cancel)}})
		park(key("cancelled"), epoch)
		judged := d.judged(key("judged"), rondo.OutcomeUnmatched, "lab.completed")
		judged.ReceivedAt = epoch
		d.commit(&store.Write{Events: []rondo.EventRecord{judged}})
		found := func(limit int) []rondo.CaseKey { return must(d.ParkedAlone(d.ctx(), hour, limit))(d.t) }
		same(d.t, "the cases", found(10), []rondo.CaseKey{key("Old"), key("old"), other})
		same(d.t, "the first cases", found(2), []rondo.CaseKey{key("Old"), key("old")})
		same(d.t, "no cases", found(0), []rondo.CaseKey{})
		for _, event := range d.state(key("old")).Parked {
			event.Outcome, event.Processed = rondo.OutcomeUnmatched, true
			d.commit(&store.Write{Rejudged: []rondo.EventRecord{event}})
		}
		d.start(other)
		same(d.t, "the cases after", must(d.again().ParkedAlone(d.ctx(), hour, 10))(d.t), []rondo.CaseKey{key("Old")})
	}},
}
