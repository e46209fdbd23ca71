package caseloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/caseloop"
)

var errAway = &rondo.Error{Code: rondo.CodeUnavailable, Message: "the store is away"}

// intake is an Inbound whose inputs are answered by hand.
type intake struct {
	*caseloop.Inbound
	queued  []*caseloop.Input
	acked   []string
	letters []rondo.DeadLetter
	ids     *rondo.IDs
}

func newIntake() *intake {
	k := &intake{ids: rondo.NewIDs(time.Now)}
	k.Inbound = caseloop.NewInbound(ackLog{k}, func(_ context.Context, in *caseloop.Input) error {
		k.queued = append(k.queued, in)
		return nil
	})
	k.Now, k.NewID = time.Now, k.ids.New
	k.Bury = func(_ context.Context, letters []rondo.DeadLetter) error {
		k.letters = append(k.letters, letters...)
		return nil
	}
	return k
}

type ackLog struct{ k *intake }

func (a ackLog) Fetch(context.Context, int) ([]bus.Delivery, error) { return nil, nil }
func (a ackLog) Close() error                                       { return nil }
func (a ackLog) Ack(_ context.Context, deliveries []bus.Delivery) error {
	for _, d := range deliveries {
		a.k.acked = append(a.k.acked, d.EntryID)
	}
	return nil
}

func (k *intake) delivery(n int) bus.Delivery {
	e := event.Envelope{
		EventID: k.ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: "x", CaseID: fmt.Sprint("case-", n), OrgID: "acme", ProductID: "p", Payload: json.RawMessage(`{}`),
	}
	return bus.Delivery{Stream: e.Type, EntryID: fmt.Sprint(n), Envelope: e.Encode(), Attempt: 1}
}

// answer gives every queued input the same result.
func (k *intake) answer(err error) int {
	queued := k.queued
	k.queued = nil
	for _, in := range queued {
		in.Done(caseloop.Result{Err: err})
	}
	return len(queued)
}

func TestAnEntryInHandIsNotTakenTwice(t *testing.T) {
	k := newIntake()
	d := k.delivery(1)
	for range 3 { // the bus gives it out again while the store is away
		if err := k.Deliver(t.Context(), []bus.Delivery{d}); err != nil {
			t.Fatal(err)
		}
	}
	if n := k.answer(errAway); n != 1 {
		t.Fatalf("%d inputs were queued for one entry", n)
	}
	if err := k.Retry(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("retry says %v, want why it failed", err)
	}
	_ = k.Deliver(t.Context(), []bus.Delivery{d})
	if n := k.answer(nil); n != 1 {
		t.Fatalf("%d inputs were queued for one entry", n)
	}
	if err := k.Ack(t.Context()); err != nil || len(k.acked) != 1 {
		t.Errorf("acked %v (%v), want the entry once", k.acked, err)
	}
}

func TestNothingMoreIsTakenWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newIntake()
		_ = k.Deliver(t.Context(), []bus.Delivery{k.delivery(1)})
		k.answer(errAway)
		waited := make(chan struct{})
		go func() {
			k.Wait(t.Context())
			close(waited)
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("there was room although an entry could not be applied")
		default:
		}
		_ = k.Retry(t.Context())
		k.answer(nil)
		<-waited
	})
}

func TestAnEventThatFailsForReasonsOfItsOwnBecomesADeadLetter(t *testing.T) {
	tests := map[string]error{
		"the error says so":                rondo.Invalid("cannot be stored"),
		"others are committed meanwhile":   errAway,
		"a mistake of the machine, always": errors.New("boom"),
	}
	for name, failure := range tests {
		t.Run(name, func(t *testing.T) {
			k := newIntake()
			_ = k.Deliver(t.Context(), []bus.Delivery{k.delivery(0)})
			for round := 1; round < 20 && len(k.letters) == 0; round++ {
				k.answer(failure)
				_ = k.Deliver(t.Context(), []bus.Delivery{k.delivery(round)})
				k.answer(nil)
				_ = k.Retry(t.Context())
			}
			if len(k.letters) != 1 || k.letters[0].OrgID != "acme" || k.letters[0].EntryID != "0" {
				t.Fatalf("dead letters are %+v, want entry 0 of acme", k.letters)
			}
			_ = k.Ack(t.Context())
			if len(k.acked) < 2 {
				t.Errorf("acked %v, want the dead letter and the others", k.acked)
			}
		})
	}
}

func TestAnOutageAloneMakesNoDeadLetters(t *testing.T) {
	k := newIntake()
	_ = k.Deliver(t.Context(), []bus.Delivery{k.delivery(1), k.delivery(2)})
	for range 50 {
		k.answer(errAway)
		_ = k.Retry(t.Context())
	}
	if len(k.letters) != 0 {
		t.Errorf("an outage made dead letters: %+v", k.letters)
	}
	if n := k.answer(nil); n != 2 {
		t.Errorf("%d entries are left of two", n)
	}
}

func TestRondosOwnEventsAreAckedAndNotApplied(t *testing.T) {
	k := newIntake()
	own, other := k.delivery(1), k.delivery(2)
	own.Own = true
	if err := k.Deliver(t.Context(), []bus.Delivery{own, other}); err != nil {
		t.Fatal(err)
	}
	if len(k.queued) != 1 || k.queued[0].Key.CaseID != "case-2" {
		t.Fatalf("%d inputs were submitted", len(k.queued))
	}
	if err := k.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(k.acked) != "[1]" {
		t.Errorf("acked %v, want its own", k.acked)
	}
}
