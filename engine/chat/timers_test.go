package chat_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

func TestADueTimerMovesTheConversationByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		k.Start()
		id := k.start()
		time.Sleep(59 * time.Second)
		if step := k.stored(id).State.Step; step != "asking" {
			t.Fatalf("step %s before the timer is due", step)
		}
		time.Sleep(3 * time.Second)
		found := k.stored(id)
		if found.State.Step != "waiting" || len(found.State.Timers) > 0 || found.State.TurnCount != 0 || found.State.TurnNumber != 1 {
			t.Errorf("state %+v", found.State)
		}
		if last := found.Turns[len(found.Turns)-1]; last.Kind != rondo.TurnByTimer || last.Input.TimerID == "" || last.From != "asking" || last.To != "waiting" {
			t.Errorf("record %+v", last)
		}
		if len(k.counts.late) != 1 || k.counts.late[0] > time.Second {
			t.Errorf("fired %v late, want once, within the poll", k.counts.late)
		}
		// The next turn goes on from there, under the number that it can be fetched by.
		r := k.send(id, "hi")
		if r.WorkflowState.TurnCount != 1 || r.TurnMeta.TurnNumber != 2 || r.WorkflowState.Step != "waiting" {
			t.Errorf("turn %+v, state %+v", r.TurnMeta, r.WorkflowState)
		}
		if record, err := k.Turn(t.Context(), alice, id, r.TurnMeta.TurnNumber); err != nil || record.Kind != rondo.TurnByText {
			t.Errorf("turn %d: %+v %v", r.TurnMeta.TurnNumber, record, err)
		}
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestATimerWaitsForATurnAndATurnForATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		id := k.start()
		time.Sleep(55 * time.Second)
		k.agent.does(thinks(10 * time.Second))
		var turn sync.WaitGroup
		turn.Go(func() { k.send(id, "hi") })
		time.Sleep(6 * time.Second) // now it is due, under the turn
		k.sweep()
		if step := k.stored(id).State.Step; step != "asking" {
			t.Errorf("step %s: the timer fired under a turn", step)
		}
		turn.Wait()
		time.Sleep(time.Second)
		k.sweep()
		if step := k.stored(id).State.Step; step != "waiting" {
			t.Errorf("step %s: the timer was forgotten", step)
		}

		// While a timer of this process holds the conversation, a turn waits.
		other := k.start()
		time.Sleep(time.Minute)
		k.store.hook(func(name string, call func() error) error {
			if name == "Commit" {
				time.Sleep(time.Second)
			}
			return call()
		})
		var timer sync.WaitGroup
		timer.Go(k.sweep)
		synctest.Wait()
		k.agent.says(text("well", ""))
		if r := k.send(other, "hi"); r.WorkflowState.Step != "waiting" {
			t.Errorf("step %s, want the timer's", r.WorkflowState.Step)
		}
		timer.Wait()
	})
}

// sweep looks once after what is due.
func (k *kit) sweep() {
	k.t.Helper()
	if _, err := k.Sweep(k.t.Context()); err != nil {
		k.t.Error(err)
	}
}

// A hint that has nothing to it any more is dropped under the lease: what a turn
// of another replica leaves right behind it is not dropped with it.
func TestAHintIsNotDroppedWithWhatCameAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := memory.Open(memory.Options{})
		k := newKit(t, driver, nil)
		k.cfg.Relay = k.relay
		k.restart()
		id := k.start()
		k.agent.says(text("sure?", `{"action":"confirm","data":{"case":"case-1"}}`))
		k.send(id, "Rome")
		if err := driver.PutOff(t.Context(), id, time.Now()); err != nil { // a hint of before the turn
			t.Fatal(err)
		}

		other := newKit(t, driver, nil)
		other.agent.says(text("booked", `{"action":"research"}`))
		var once sync.Once
		k.store.hook(func(name string, call func() error) error {
			err := call()
			if name == "Release" {
				once.Do(func() { other.send(id, "book it") })
			}
			return err
		})
		k.sweep()
		if pending := k.stored(id).State.Pending; len(pending) != 1 {
			t.Fatalf("pending %+v, want what the turn raised", pending)
		}
		k.sweep()
		if events := k.relay.all(); len(events) != 1 {
			t.Errorf("relayed %+v, want what the turn raised", events)
		}
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A machine whose timers set each other off must not keep a server busy.
func TestTimersThatNeverEndAreFiredAtAMeasuredPace(t *testing.T) {
	const endless = `{"name":"endless","steps":["tick","tock"],"machine":{"initial":"tick","states":{"tick":{"after":{"0":"tock"}},"tock":{"after":{"0":"tick"}}}}}`
	synctest.Test(t, func(t *testing.T) {
		d, problems := turn.Compile([]byte(endless))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) {
			c.Definitions, c.DefaultDefinition = shelf{"endless": d}, "endless"
		})
		k.Start()
		id := k.start()
		time.Sleep(10 * time.Minute)
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if fired := k.stored(id).State.TurnNumber; fired < 100 || fired > 300 {
			t.Errorf("%d timers were fired in ten minutes, want some twenty a minute", fired)
		}
	})
}

func TestTwoReplicasFireATimerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := memory.Open(memory.Options{})
		k, other := newKit(t, driver, nil), newKit(t, driver, nil)
		var ids []string
		for range 50 {
			ids = append(ids, k.start())
		}
		time.Sleep(61 * time.Second)
		for range 3 {
			var both sync.WaitGroup
			both.Go(k.sweep)
			both.Go(other.sweep)
			both.Wait()
			time.Sleep(2 * time.Second)
		}
		for _, id := range ids {
			if found := k.stored(id); found.State.Step != "waiting" || found.State.TurnNumber != 1 {
				t.Errorf("%s: step %s after %d records", id, found.State.Step, found.State.TurnNumber)
			}
		}
		if n := len(k.counts.late) + len(other.counts.late); n != len(ids) {
			t.Errorf("%d timers fired, want %d", n, len(ids))
		}
	})
}

func TestTheLoopForgetsConversationsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := memory.Open(memory.Options{})
		k := newKit(t, driver, func(c *chat.Config) { c.TTL = time.Hour })
		k.start()
		// A timer is never outlived by its conversation: only a sweep that comes far
		// too late meets one that has gone.
		time.Sleep(3 * time.Hour)
		k.sweep()
		if due, err := driver.DueConversations(t.Context(), time.Now(), 10); err != nil || len(due) > 0 {
			t.Errorf("still due: %v %v", due, err)
		}
		k.Start()
		time.Sleep(time.Second)
		if left, err := driver.ExpireConversations(t.Context(), time.Now(), 10); err != nil || left > 0 {
			t.Errorf("the loop left %d expired things (%v)", left, err)
		}
		if err := k.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAConversationOutlivesItsLastTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.TTL = 10 * time.Second })
		id := k.start()
		if expires, due := k.stored(id).Expires, k.stored(id).State.Timers[0].DueAt; expires.Before(due.Add(10 * time.Second)) {
			t.Errorf("it expires at %v, its timer is due at %v", expires, due)
		}
		time.Sleep(61 * time.Second)
		k.sweep()
		if step := k.stored(id).State.Step; step != "waiting" {
			t.Errorf("step %s", step)
		}
	})
}

// historian is an agent that must be told what was said before.
type historian struct{ *puppet }

func (historian) Remembers() int { return 3 }

func TestAnAgentThatAsksForHistoryGetsTheNewestMessages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		k.cfg.Agents = map[string]agent.Agent{"puppet": historian{k.agent}}
		k.restart()
		said := func() (words []string) {
			for _, m := range k.agent.lastSession().History {
				words = append(words, m.Text)
			}
			return words
		}
		var r rondo.WorkflowResponse
		k.into(&r)(k.Do(t.Context(), alice, chat.Request{Kind: chat.KindOrchestrate, Text: "one"}))
		if got := said(); len(got) != 1 || got[0] != "hello" {
			t.Errorf("first turn: told %v", got)
		}
		k.send(r.ConversationID, "two")
		if got := said(); len(got) != 3 || got[0] != "hello" || got[1] != "one" || got[2] != "well" {
			t.Errorf("second turn: told %v", got)
		}
		k.send(r.ConversationID, "three")
		if got := said(); len(got) != 3 || got[0] != "well" || got[1] != "two" {
			t.Errorf("third turn: told %v", got)
		}
	})
}
