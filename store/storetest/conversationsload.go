package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkLoadTests = []talkTest{
	{"of 100 who want one conversation at once exactly one gets it", func(c *talk) {
		c.create(owner("a"))
		asks := make([]store.AcquireConversation, 100)
		for i := range asks {
			asks[i] = c.ask(owner("a"))
		}
		var won atomic.Int32
		var lease atomic.Value
		together(len(asks), func(i int) {
			err := c.Acquire(c.ctx(), asks[i])
			if err == nil {
				won.Add(1)
				lease.Store(store.Lease{ID: "a", Token: asks[i].Token})
				return
			}
			if _, busy := errors.AsType[*store.BusyError](err); !busy {
				c.t.Errorf("one of them: %v, want a BusyError", err)
			}
		})
		if won.Load() != 1 {
			c.t.Fatalf("%d won", won.Load())
		}
		held, _ := lease.Load().(store.Lease)
		c.ok("the winner's renewal", c.Renew(c.ctx(), held, c.now, leaseTime))
	}},
	{"of 50 who claim one key at once exactly one gets it", func(c *talk) {
		claims := make([]store.KeyClaim, 50)
		for i := range claims {
			claims[i] = c.claim("k", "a")
		}
		var won atomic.Int32
		together(len(claims), func(i int) {
			state, err := c.BeginKey(c.ctx(), claims[i])
			if err != nil {
				c.t.Errorf("claim: %v", err)
			}
			if state.Ours {
				won.Add(1)
			}
		})
		if won.Load() != 1 {
			c.t.Fatalf("%d won", won.Load())
		}
	}},
	{"of 20 who create one id at once exactly one does", func(c *talk) {
		var won atomic.Int32
		writes := make([]*store.ConversationWrite, 20)
		for i := range writes {
			writes[i] = c.first(owner("a"))
		}
		together(len(writes), func(i int) {
			switch err := c.Create(c.ctx(), writes[i]); {
			case err == nil:
				won.Add(1)
			case rondo.CodeOf(err) != rondo.CodeConflict:
				c.t.Errorf("one of them: %v, want a conflict", err)
			}
		})
		got, _ := c.all(owner("a"))
		if won.Load() != 1 || len(got.Messages) != 2 || len(got.Turns) != 1 {
			c.t.Fatalf("%d won; %d messages and %d turns, want 2 and 1", won.Load(), len(got.Messages), len(got.Turns))
		}
	}},
	{"turns of different conversations at once lose nothing", func(c *talk) {
		const conversations, turns = 30, 4
		for i := range conversations {
			c.create(owner(fmt.Sprint("c-", i)))
		}
		together(conversations, func(i int) {
			o := owner(fmt.Sprint("c-", i))
			for n := range turns {
				lease := store.Lease{ID: o.ID, Token: fmt.Sprint("own-", i, "-", n)}
				err := c.Acquire(c.ctx(), store.AcquireConversation{Owner: o, Token: lease.Token, At: c.now, Lease: leaseTime, ExpiresAt: c.now.Add(lifetime)})
				if err != nil {
					c.t.Errorf("acquire %s: %v", o.ID, err)
					return
				}
				stored, err := c.Load(c.ctx(), o.ID, c.now)
				if err != nil {
					c.t.Errorf("load %s: %v", o.ID, err)
					return
				}
				if err := c.Commit(c.ctx(), c.next(stored, lease)); err != nil {
					c.t.Errorf("commit %s: %v", o.ID, err)
					return
				}
			}
		})
		for i := range conversations {
			id := fmt.Sprint("c-", i)
			stored := c.load(id)
			messages, first, err := c.History(c.ctx(), id, c.now, 0, 1000)
			c.ok("history", err)
			records := must(c.Turns(c.ctx(), id, c.now, 0, 1000))(c.t)
			if stored.State.Version != turns+1 || len(messages) != 2*(turns+1) || first != 1 || len(records) != turns+1 {
				c.t.Fatalf("%s is at version %d with %d messages and %d turns, want %d, %d and %d",
					id, stored.State.Version, len(messages), len(records), turns+1, 2*(turns+1), turns+1)
			}
		}
		if list := must(c.ConversationList(c.ctx(), "acme", "alice", c.now, store.ConversationPage{Limit: 100}))(c.t); len(list) != conversations {
			c.t.Fatalf("%d are listed, want %d", len(list), conversations)
		}
	}},
	{"a refusal in a crowd hurts nobody else", func(c *talk) {
		const n = 40
		writes := make([]*store.ConversationWrite, n)
		for i := range writes {
			o := owner(fmt.Sprint("c-", i))
			c.create(o)
			writes[i] = c.next(c.load(o.ID), c.acquire(o))
			switch i % 4 {
			case 1:
				writes[i].Lease.Token = "another"
			case 2:
				writes[i].Previous, writes[i].State.Version = 7, 8
			case 3:
				writes[i].Key = c.result(c.claim("unclaimed", o.ID))
			}
		}
		together(n, func(i int) {
			err := c.Commit(c.ctx(), writes[i])
			want := []error{nil, store.ErrLeaseLost, store.ErrConflict, store.ErrLeaseLost}[i%4]
			if !errors.Is(err, want) {
				c.t.Errorf("commit %d: %v, want %v", i, err, want)
			}
		})
		for i := range writes {
			want := int64(1)
			if i%4 == 0 {
				want = 2
			}
			id := fmt.Sprint("c-", i)
			messages, _, err := c.History(c.ctx(), id, c.now, 0, 100)
			c.ok("history", err)
			if got := c.load(id).State.Version; got != want || len(messages) != int(2*want) {
				c.t.Fatalf("%s is at version %d with %d messages, want %d and %d", id, got, len(messages), want, 2*want)
			}
		}
	}},
	{"what a turn costs does not depend on the length of the history", func(c *talk) {
		const length, part = 5000, 500
		long := owner("long")
		c.create(owner("short"))
		c.create(long)
		for n := 0; n < length; n += part {
			c.turn(long, func(w *store.ConversationWrite) {
				w.Messages = make([]rondo.NormalizedMessage, part)
				for i := range w.Messages {
					w.Messages[i] = rondo.NormalizedMessage{ID: fmt.Sprint(n + i), Role: rondo.RoleUser, Kind: rondo.MessageText, Text: strings.Repeat("text ", 40)}
				}
			})
		}
		short, full := c.turnBytes(owner("short")), c.turnBytes(long)
		if full > short+length*50 {
			c.t.Fatalf("a turn allocates %d bytes after 2 messages and %d after %d: it handles the history", short, full, length)
		}
		messages, first, err := c.History(c.ctx(), "long", c.now, length, 3)
		c.ok("history", err)
		if len(messages) != 3 || first != length-3 {
			c.t.Fatalf("%d messages from %d, want 3 from %d", len(messages), first, length-3)
		}
	}},
}

// turnBytes is the least that a whole turn allocates, of several.
func (c *talk) turnBytes(o store.Owner) uint64 {
	c.t.Helper()
	least := ^uint64(0)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.turn(o, nil)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
