package chat_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// thinks is an agent that answers after a time, or when its call ends.
func thinks(d time.Duration) func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
	return func(ctx context.Context, _ agent.Session, _ rondo.Activity) ([]agent.Chunk, error) {
		select {
		case <-time.After(d):
			return []agent.Chunk{text("at last", "")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func count(calls []string, name string) int {
	n := 0
	for _, c := range calls {
		if c == name {
			n++
		}
	}
	return n
}

func TestLeaseAndKeyAreRenewedWhileTheAgentThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.AgentTimeout = 5 * time.Minute })
		id := k.start()
		k.store.seen()
		k.agent.does(thinks(65 * time.Second))
		a, err := k.Do(t.Context(), alice, keyed(id, "k", "f"))
		if err != nil {
			t.Fatal(err)
		}
		var r rondo.WorkflowResponse
		k.into(&r)(a, err)
		if r.LatencyMs != 65_000 {
			t.Errorf("latency %d ms, want 65000", r.LatencyMs)
		}
		calls := k.store.seen()
		if n := count(calls, "Renew"); n != 19 { // every 10 s / 3
			t.Errorf("the lease was renewed %d times, want 19", n)
		}
		if n := count(calls, "RenewKey"); n != 6 { // every 30 s / 3
			t.Errorf("the key was renewed %d times, want 6", n)
		}
		if calls[len(calls)-1] != "Commit" {
			t.Errorf("the last call is %s: nothing must come after the commit", calls[len(calls)-1])
		}
	})
}

func TestATurnThatLosesItsLeaseStopsTheAgentAndWritesNothing(t *testing.T) {
	for name, lose := range map[string]func(call func() error) error{
		"taken over":      func(func() error) error { return store.ErrLeaseLost },
		"store away":      func(func() error) error { return errors.New("connection refused") },
		"store is silent": func(func() error) error { time.Sleep(3 * time.Second); return context.DeadlineExceeded },
	} {
		for _, renewal := range []string{"Renew", "RenewKey"} {
			t.Run(name+" "+renewal, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.KeyLease = c.Lease; c.AgentTimeout = time.Hour })
					id := k.start()
					k.store.hook(func(name string, call func() error) error {
						if name == renewal {
							return lose(call)
						}
						return call()
					})
					k.agent.does(thinks(time.Hour - time.Second))
					began := time.Now()
					k.refused(rondo.CodeLeaseLost, keyed(id, "k", "f"))
					life := 10 * time.Second
					if renewal == "RenewKey" {
						life = 30 * time.Second
					}
					if took := time.Since(began); took > life {
						t.Errorf("the agent was called for %v after losing the right to write", took)
					}
					if k.counts.lost != 1 {
						t.Errorf("%d lost leases were counted, want 1", k.counts.lost)
					}
					if n := count(k.store.seen(), "Commit"); n > 0 {
						t.Error("it was committed all the same")
					}
					k.store.hook(nil)
					if found := k.stored(id); found.State.Version != 1 || len(found.Turns) != 1 || len(found.History) != 1 {
						t.Errorf("something was written: %+v", found)
					}
					k.agent.says(text("well", ""))
					k.send(id, "the lease is free")
					k.into(&struct{}{})(k.Do(t.Context(), alice, keyed(id, "k", "f")))
				})
			})
		}
	}
}

// A process that sleeps past its lease wakes up, and commits: the fence refuses.
func TestACommitAfterTheLeaseRanOutWritesNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			// Meanwhile the lease is another's: released and taken again.
			if err := driver.Release(t.Context(), store.Lease{ID: id, Token: k.store.lastToken()}); err != nil {
				t.Error(err)
			}
			err := driver.Acquire(t.Context(), store.AcquireConversation{Owner: store.Owner{TenantID: "acme", UserID: "alice", ID: id}, Token: "theirs", At: k.now(), Lease: time.Minute})
			if err != nil {
				t.Error(err)
			}
			return []agent.Chunk{text("too late", "")}, nil
		})
		k.refused(rondo.CodeLeaseLost, keyed(id, "k", "f"))
		if found := k.stored(id); found.State.Version != 1 || len(found.Turns) != 1 || len(found.History) != 1 {
			t.Errorf("something was written: %+v", found)
		}
		// The release of the loser was harmless.
		k.refused(rondo.CodeConversationBusy, keyed(id, "k", "f"))
		if k.counts.lost != 1 {
			t.Errorf("%d lost leases were counted, want 1", k.counts.lost)
		}
		if err := driver.Release(t.Context(), store.Lease{ID: id, Token: "theirs"}); err != nil {
			t.Fatal(err)
		}
		k.agent.says(text("well", ""))
		k.into(&struct{}{})(k.Do(t.Context(), alice, keyed(id, "k", "f")))
	})
}

func TestOurOwnDeadlineEndsAnAgentThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), nil)
		id := k.start()
		k.agent.does(thinks(time.Hour))
		began := time.Now()
		k.refused(rondo.CodeAgentTimeout, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it took %v, want the 30s of the default", took)
		}
		// An agent that yields after its time is not believed.
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			time.Sleep(time.Minute)
			return []agent.Chunk{text("late", "")}, nil
		})
		k.refused(rondo.CodeAgentTimeout, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
		if found := k.stored(id); found.State.Version != 1 {
			t.Errorf("something was written: %+v", found.State)
		}
	})
}

func TestAPatientDefinitionWaitsForABusyConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t, memory.Open(memory.Options{}), func(c *chat.Config) { c.DefaultDefinition = "patient" })
		id := k.start()
		for _, c := range []struct {
			busy time.Duration
			want rondo.Code
		}{{1500 * time.Millisecond, ""}, {5 * time.Second, rondo.CodeConversationBusy}} {
			k.agent.does(thinks(c.busy))
			var first sync.WaitGroup
			first.Go(func() { k.send(id, "slow") })
			synctest.Wait()
			began := time.Now()
			k.agent.says(text("quick", ""))
			_, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"})
			took := time.Since(began)
			if got := rondo.CodeOf(err); got != c.want {
				t.Errorf("busy for %v: %v, want code %q", c.busy, err, c.want)
			}
			if took > 2*time.Second {
				t.Errorf("it waited %v, want at most the definition's 2s", took)
			}
			first.Wait()
			if c.want == "" {
				turns := k.stored(id).Turns
				if waited := turns[len(turns)-1].LeaseWaitMs; waited < 1500 || waited > 1750 {
					t.Errorf("recorded a wait of %d ms", waited)
				}
			}
		}
		// Who goes away while waiting waits no longer.
		k.agent.does(thinks(5 * time.Second))
		var first sync.WaitGroup
		first.Go(func() { k.send(id, "slow") })
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		began := time.Now()
		if _, err := k.Do(ctx, alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "hi"}); rondo.CodeOf(err) != rondo.CodeConversationBusy || time.Since(began) > 200*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		first.Wait()
	})
}

func TestOfAHundredSendsAtOnceOneWinsAndNoneIsLost(t *testing.T) {
	onEveryStore(t, func(t *testing.T, driver store.Conversations) {
		k := newKit(t, driver, nil)
		id := k.start()
		const callers = 100
		answer := make(chan struct{})
		k.agent.does(func(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
			<-answer
			return []agent.Chunk{text("well", "")}, nil
		})
		results := make(chan error, callers)
		for range callers {
			go func() {
				_, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: "first"})
				results <- err
			}()
		}
		for range callers - 1 {
			if err := <-results; rondo.CodeOf(err) != rondo.CodeConversationBusy {
				t.Errorf("%v, want busy", err)
			}
		}
		close(answer)
		if err := <-results; err != nil {
			t.Errorf("the winner: %v", err)
		}
		// Retrying, everybody gets through.
		waiting := make(chan string, callers)
		for n := range callers - 1 {
			waiting <- fmt.Sprintf("again %d", n)
		}
		close(waiting)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for words := range waiting {
					for busy := true; busy; {
						_, err := k.Do(t.Context(), alice, chat.Request{Kind: chat.KindSend, ConversationID: id, Text: words})
						if busy = rondo.CodeOf(err) == rondo.CodeConversationBusy; err != nil && !busy {
							t.Errorf("%v, want busy or nothing", err)
						}
					}
				}
			})
		}
		all.Wait()
		found := k.stored(id)
		if found.State.TurnCount != callers || len(found.History) != 1+2*callers || len(found.Turns) != 1+callers {
			t.Errorf("%d turns, %d messages, %d records", found.State.TurnCount, len(found.History), len(found.Turns))
		}
		for i, record := range found.Turns {
			if record.Number != i {
				t.Fatalf("record %d has number %d", i, record.Number)
			}
		}
		checkWhole(t, found)
	})
}
