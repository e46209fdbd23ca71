package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/store/memory"
)

var module = of("acme", rondo.ScopeEvents)

func consume(t *testing.T, e *engine.Engine, p rondo.Principal, group string, types ...string) rondo.EventFeed {
	t.Helper()
	feed, err := e.ConsumeEvents(t.Context(), p, group, types)
	if err != nil {
		t.Fatal(err)
	}
	return feed
}

// next returns the events of one Next, none when nothing comes for two minutes.
func next(t *testing.T, feed rondo.EventFeed) []rondo.Delivered {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	events, err := feed.Next(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("next: %v", err)
	}
	return events
}

// collect gets n events.
func collect(t *testing.T, feed rondo.EventFeed, n int) []rondo.Delivered {
	t.Helper()
	var all []rondo.Delivered
	for len(all) < n {
		events := next(t, feed)
		if len(events) == 0 {
			t.Fatalf("%d events came, want %d", len(all), n)
		}
		all = append(all, events...)
	}
	return all
}

func ackAll(t *testing.T, e *engine.Engine, p rondo.Principal, group string, events []rondo.Delivered) (int, []rondo.ID) {
	t.Helper()
	var ids []rondo.ID
	for _, d := range events {
		ids = append(ids, d.EventID)
	}
	acked, unknown, err := e.AckEvents(t.Context(), p, group, ids)
	if err != nil {
		t.Fatal(err)
	}
	return acked, unknown
}

// bubble runs an engine where waiting costs no time.
func bubble(t *testing.T, test func(t *testing.T, e *engine.Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(engine.Config{Store: memory.Open(memory.Options{Embedded: true})})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer e.Stop(context.WithoutCancel(t.Context()))
		test(t, e)
	})
}

func start(t *testing.T, e *engine.Engine, org string, cases ...string) {
	t.Helper()
	for _, c := range cases {
		raw := []byte(strings.Replace(string(caseCreated(c)), `"acme"`, `"`+org+`"`, 1))
		if _, err := e.PublishEvent(t.Context(), user(), raw); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAModuleGetsTheEventsOfItsOrganisationOnly(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed, other := consume(t, e, module, "g", "case.created"), consume(t, e, of("other", rondo.ScopeEvents), "g", "case.created")
		defer feed.Close()
		defer other.Close()
		start(t, e, "other", "theirs")
		start(t, e, "acme", "ours")
		start(t, e, "third", "nobody's")
		for _, test := range []struct {
			feed rondo.EventFeed
			want string
		}{{feed, "ours"}, {other, "theirs"}} {
			got := collect(t, test.feed, 1)
			envelope, err := event.Parse(got[0].Envelope)
			if err != nil || envelope.CaseID != test.want || got[0].Type != "case.created" || got[0].EventID != envelope.EventID {
				t.Errorf("got %+v (%v), want %s", got[0], err, test.want)
			}
		}
		if acked, unknown := ackAll(t, e, of("other", rondo.ScopeEvents), "g", collect(t, feed, 1)); acked != 0 || len(unknown) != 1 {
			t.Errorf("another organisation acked %d, %v unknown", acked, unknown)
		}
	})
}

func TestAnUnackedEventComesAgainAfterAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed := consume(t, e, module, "g", "case.created")
		defer feed.Close()
		start(t, e, "acme", "c1", "c2")
		first, began := collect(t, feed, 2), time.Now()
		if acked, unknown := ackAll(t, e, module, "g", first[:1]); acked != 1 || len(unknown) != 0 {
			t.Fatalf("acked %d, unknown %v", acked, unknown)
		}
		again := collect(t, feed, 1)
		if waited := time.Since(began); waited < time.Minute || waited > 65*time.Second {
			t.Errorf("it came again after %v, want a minute", waited)
		}
		if again[0].EventID != first[1].EventID || again[0].Attempt != 2 {
			t.Errorf("what came again is %+v, want attempt 2 of %v", again[0], first[1].EventID)
		}
		if acked, _ := ackAll(t, e, module, "g", again); acked != 1 {
			t.Error("the repeat cannot be acked")
		}
		if more := next(t, feed); len(more) != 0 {
			t.Errorf("acked events came again: %+v", more)
		}
		if acked, unknown := ackAll(t, e, module, "g", first); acked != 0 || len(unknown) != 2 {
			t.Errorf("acking again: %d acked, %v unknown", acked, unknown)
		}
	})
}

func TestStreamsOfAGroupShareItsEventsAndAClosedOnesComeAgain(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		one, two := consume(t, e, module, "g", "case.created"), consume(t, e, module, "g", "case.created")
		defer two.Close()
		start(t, e, "acme", "c1")
		got := collect(t, one, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if more, err := two.Next(ctx); err == nil {
			t.Fatalf("both streams got %+v", more)
		}
		cancel()
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		again := collect(t, two, 1)
		if waited := time.Since(began); again[0].EventID != got[0].EventID || waited < 29*time.Second || waited > 35*time.Second {
			t.Errorf("after %v the other stream got %+v, want it when its minute is over", waited, again)
		}
		if acked, _ := ackAll(t, e, module, "g", again); acked != 1 {
			t.Error("what was handed over cannot be acked")
		}
		_, err := one.Next(t.Context())
		wantCode(t, "next of a closed stream", err, rondo.CodeUnavailable)
	})
}

// A module that reads, hangs up, works and then acks makes progress.
func TestAcksCountForAMinuteAfterTheStreamHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed := consume(t, e, module, "g", "case.created")
		start(t, e, "acme", "c1", "c2", "c3")
		given, began := collect(t, feed, 3), time.Now()
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		if acked, unknown := ackAll(t, e, of("other", rondo.ScopeEvents), "g", given); acked != 0 || len(unknown) != 3 {
			t.Errorf("another organisation acked %d, %v unknown", acked, unknown)
		}
		if acked, unknown := ackAll(t, e, module, "g", given[:2]); acked != 2 || len(unknown) != 0 {
			t.Errorf("after the stream, %d were acked, %v unknown", acked, unknown)
		}
		feed = consume(t, e, module, "g", "case.created")
		again := collect(t, feed, 1)
		if waited := time.Since(began); again[0].EventID != given[2].EventID || waited < time.Minute || waited > 65*time.Second {
			t.Errorf("after %v came %+v, want what was not acked, when its minute was over", waited, again)
		}
		ackAll(t, e, module, "g", again)
		if more := next(t, feed); len(more) != 0 {
			t.Errorf("acked events came again: %+v", more)
		}
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
		if acked, unknown := ackAll(t, e, module, "g", given); acked != 0 || len(unknown) != 3 {
			t.Errorf("long after, %d were acked, %v unknown", acked, unknown)
		}
	})
}

// What is unacked goes to other members when its minute is over, and the place in
// the group is given up then.
func TestAnEndedStreamGivesItsPlaceUpAfterAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed := consume(t, e, module, "g", "case.created", "workflow.halted")
		start(t, e, "acme", "c1")
		given := collect(t, feed, 1)
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
		const name = "http:acme:g"
		err := e.RetireGroup(t.Context(), user(), name)
		wantCode(t, "retire a group with events out", err, rondo.CodeWrongState)
		time.Sleep(61 * time.Second)
		if acked, unknown := ackAll(t, e, module, "g", given); acked != 0 || len(unknown) != 1 {
			t.Errorf("after a minute %d were acked, %v unknown", acked, unknown)
		}
		if err := e.RetireGroup(t.Context(), user(), name); err != nil {
			t.Errorf("after a minute the group is read still: %v", err)
		}
	})
}

// Ended streams do not add up: the oldest that rests makes room.
func TestEndedStreamsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		const groups = 40
		given := make([][]rondo.Delivered, groups)
		feeds := make([]rondo.EventFeed, groups)
		for i := range groups {
			feeds[i] = consume(t, e, module, fmt.Sprint("g", i), "case.created")
			start(t, e, "acme", fmt.Sprint("c", i))
			given[i] = collect(t, feeds[i], 1)
			if err := feeds[i].Close(); err != nil {
				t.Fatal(err)
			}
		}
		var known []int
		for i := range groups {
			if acked, _ := ackAll(t, e, module, fmt.Sprint("g", i), given[i]); acked > 0 {
				known = append(known, i)
			}
		}
		if len(known) != 32 || known[0] != groups-32 {
			t.Errorf("acks count for %v, want the newest 32", known)
		}
	})
}

func TestAStreamWaitsForAcksWhenTooMuchIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed := consume(t, e, module, "g", "case.created")
		defer feed.Close()
		var cases []string
		for i := range 300 {
			cases = append(cases, fmt.Sprint("c", i))
		}
		start(t, e, "acme", cases...)
		given := collect(t, feed, 256)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if more, err := feed.Next(ctx); err == nil {
			t.Fatalf("with 256 unacked, %d more came", len(more))
		}
		cancel()
		ackAll(t, e, module, "g", given[:10])
		if more := collect(t, feed, 10); len(more) != 10 {
			t.Errorf("after 10 acks %d came", len(more))
		}
		seen := map[rondo.ID]bool{}
		for range 1000 { // and in the end everything comes, however often
			events := next(t, feed)
			for _, d := range events {
				seen[d.EventID] = true
			}
			ackAll(t, e, module, "g", events)
			if len(events) == 0 {
				break
			}
		}
		if len(seen) != 290 {
			t.Errorf("%d of the 290 unacked events came", len(seen))
		}
	})
}

func TestStreamsAreBoundedAndEndWithTheEngine(t *testing.T) {
	e, _ := eventEngine(t)
	var feeds []rondo.EventFeed
	for range 32 {
		feeds = append(feeds, consume(t, e, module, "g", "case.created"))
	}
	_, err := e.ConsumeEvents(t.Context(), module, "g", []string{"case.created"})
	wantCode(t, "one stream too many", err, rondo.CodeOverloaded)
	consume(t, e, of("other", rondo.ScopeEvents), "g", "case.created")
	if err := feeds[0].Close(); err != nil {
		t.Fatal(err)
	}
	consume(t, e, module, "g", "case.created")
	waiting := make(chan error)
	go func() {
		_, err := feeds[1].Next(context.WithoutCancel(t.Context()))
		waiting <- err
	}()
	e.Stop(t.Context())
	wantCode(t, "a stream of a stopped engine", <-waiting, rondo.CodeUnavailable)
	_, err = e.ConsumeEvents(t.Context(), module, "g", []string{"case.created"})
	wantCode(t, "a stream after the end", err, rondo.CodeUnavailable)
}

func TestOnlyEventTypesOfTheOrganisationCanBeConsumed(t *testing.T) {
	e, _ := eventEngine(t)
	if _, err := e.PutStepKind(t.Context(), user(), "weigh", []byte(weighing)); err != nil {
		t.Fatal(err)
	}
	consume(t, e, module, "g", "ext.weigh.requested", "workflow.halted", "ai_review.requested")
	_, err := e.ConsumeEvents(t.Context(), module, "g", []string{"case.created", "ext.nobody.requested"})
	if !strings.Contains(fmt.Sprint(err), "ext.nobody.requested") || strings.Contains(fmt.Sprint(err), "case.created") {
		t.Errorf("the error does not name the type: %v", err)
	}
	wantCode(t, "an unknown type", err, rondo.CodeInvalid)
	_, err = e.ConsumeEvents(t.Context(), of("other", rondo.ScopeEvents), "g", []string{"ext.weigh.requested"})
	wantCode(t, "another organisation's type", err, rondo.CodeInvalid)
}

func TestGroupsThatNobodyReadsCanBeRetired(t *testing.T) {
	bubble(t, func(t *testing.T, e *engine.Engine) {
		feed := consume(t, e, module, "my group/1", "case.created")
		start(t, e, "acme", "c1", "c2")
		collect(t, feed, 2)
		const name = "http:acme:my+group%2F1"
		err := e.RetireGroup(t.Context(), user(), name)
		wantCode(t, "retire a group that is read", err, rondo.CodeWrongState)
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Second) // what is out can be acked until then
		groups, err := e.ConsumerGroups(t.Context(), user())
		at := slices.IndexFunc(groups, func(g rondo.ConsumerGroup) bool { return g.Name == name })
		if err != nil || at < 0 || len(groups[at].Streams) != 1 || groups[at].Streams[0].Unread != 2 {
			t.Fatalf("the groups are %+v (%v), want %s two behind", groups, err, name)
		}
		if err := e.RetireGroup(t.Context(), user(), name); err != nil {
			t.Fatal(err)
		}
		if groups, err = e.ConsumerGroups(t.Context(), user()); err != nil || len(groups) != 0 {
			t.Errorf("the groups are %+v (%v), want none", groups, err)
		}
		err = e.RetireGroup(t.Context(), user(), name)
		wantCode(t, "retire it again", err, rondo.CodeNotFound)
		err = e.RetireGroup(t.Context(), user(), engine.Group)
		wantCode(t, "retire the orchestrator", err, rondo.CodeWrongState)
	})
}

func TestGroupsOfDifferentOrganisationsNeverShareAName(t *testing.T) {
	e, _ := eventEngine(t)
	long := strings.Repeat("ü", 64)
	for _, pair := range [][2]string{{"a", "b:c"}, {"a:b", "c"}, {"a%3Ab", "c"}, {long, "x"}, {long, "y"}} {
		consume(t, e, of(pair[0], rondo.ScopeEvents), pair[1], "case.created")
	}
	groups, err := e.ConsumerGroups(t.Context(), user())
	if err != nil || len(groups) != 5 {
		t.Errorf("five pairs became the groups %+v (%v)", groups, err)
	}
	for _, g := range groups {
		if len(g.Name) > 255 {
			t.Errorf("a group's name has %d bytes, more than stores take", len(g.Name))
		}
	}
}
