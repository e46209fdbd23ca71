package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkCreateTests = []talkTest{
	{"what is created is there, whole", func(c *talk) {
		w := c.create(owner("a"))
		got, expires := c.all(owner("a"))
		same(c.t, "conversation", got.Conversation, w.Conversation)
		same(c.t, "state", got.State, w.State)
		same(c.t, "messages", got.Messages, w.Messages)
		same(c.t, "turns", got.Turns, []rondo.TurnRecord{*w.Turn})
		same(c.t, "card", got.Cards[1], &w.Cards[0])
		same(c.t, "list", got.List, []rondo.Conversation{w.Conversation})
		same(c.t, "number of the first message", got.First, 1)
		c.near("expiry", expires, w.ExpiresAt)
		same(c.t, "what Load reads", c.load("a").State, w.State)
	}},
	{"a taken id is a conflict and leaves everything as it was", func(c *talk) {
		c.create(owner("a"))
		before, _ := c.all(owner("a"))
		second := c.first(store.Owner{TenantID: "other", UserID: "bob", ID: "a"})
		second.Attention = c.now
		wantCode(c.t, c.Create(c.ctx(), second), rondo.CodeConflict)
		after, _ := c.all(owner("a"))
		same(c.t, "the first one", after, before)
		if list := must(c.ConversationList(c.ctx(), "other", "bob", c.now, store.ConversationPage{Limit: 10}))(c.t); len(list) != 0 {
			c.t.Fatalf("the refused one is listed: %+v", list)
		}
	}},
	{"an id whose conversation expired is free, and nothing of the old one shines through", func(c *talk) {
		c.create(owner("a"))
		c.turn(owner("a"), nil)
		c.pass(lifetime + time.Minute)
		bob := store.Owner{TenantID: "acme", UserID: "bob", ID: "a"}
		w := c.first(bob)
		w.Cards = nil
		c.ok("create again", c.Create(c.ctx(), w))
		got, _ := c.all(bob)
		same(c.t, "messages", got.Messages, w.Messages)
		same(c.t, "turns", got.Turns, []rondo.TurnRecord{*w.Turn})
		same(c.t, "cards", got.Cards, make([]*rondo.Card, 10))
		c.wantUnknown(c.Acquire(c.ctx(), c.ask(owner("a"))))
	}},
	{"a new conversation is not leased", func(c *talk) {
		c.create(owner("a"))
		c.acquire(owner("a"))
	}},
	{"a state of earlier versions loads", func(c *talk) {
		if c.harness.Older == nil {
			c.t.Skip("this driver never had earlier records")
		}
		c.harness.Older("old", "acme", "alice")
		lease := c.acquire(owner("old"))
		stored := c.load("old")
		if s := stored.State; s.Step != "gather_info" || s.TurnCount != 2 || s.Status != rondo.WorkflowActive || string(s.CollectedData["name"]) != `"Alice"` || s.Machine != nil {
			c.t.Fatalf("state came back as %+v", s)
		}
		texts := func(want ...string) {
			c.t.Helper()
			messages, first, err := c.History(c.ctx(), "old", c.now, 0, 100)
			c.ok("history", err)
			if first != 1 || len(messages) < 2 || len(messages) != len(want) {
				c.t.Fatalf("%d messages from number %d, want %d", len(messages), first, len(want))
			}
			for i, text := range want {
				same(c.t, "text of a message", messages[i].Text, text)
			}
		}
		texts("hello", "hi")
		w := c.next(stored, lease)
		w.Messages = w.Messages[:1]
		c.ok("commit", c.Commit(c.ctx(), w))
		texts("hello", "hi", w.Messages[0].Text)
		same(c.t, "state", c.load("old").State, w.State)
	}},
	{"a state that cannot be read is corrupt, not missing", func(c *talk) {
		if c.harness.Corrupt == nil {
			c.t.Skip("nothing can be damaged here")
		}
		c.create(owner("a"))
		c.harness.Corrupt("a")
		c.acquire(owner("a"))
		_, err := c.Load(c.ctx(), "a", c.now)
		wantCode(c.t, err, rondo.CodeStateCorrupt)
		_, err = c.Conversation(c.ctx(), owner("a"), c.now)
		wantCode(c.t, err, rondo.CodeStateCorrupt)
		wantCode(c.t, c.Create(c.ctx(), c.first(owner("a"))), rondo.CodeConflict)
	}},
}

// strangers are owners that a conversation "a" of alice is not there for.
var strangers = []store.Owner{
	{TenantID: "acme", UserID: "bob", ID: "a"},
	{TenantID: "other", UserID: "alice", ID: "a"},
	{TenantID: "ACME", UserID: "alice", ID: "a"},
	{TenantID: "acme", UserID: "alice ", ID: "a"},
	{TenantID: "acme", UserID: "", ID: "a"},
	{TenantID: "acme", UserID: "alice", ID: "A"},
	{TenantID: "acme", UserID: "alice", ID: "absent"},
}

var talkLeaseTests = []talkTest{
	{"foreign and absent look alike and leave the lease alone", func(c *talk) {
		c.create(owner("a"))
		for _, o := range strangers {
			c.wantUnknown(c.Acquire(c.ctx(), c.ask(o)))
		}
		lease := c.acquire(owner("a"))
		for _, o := range strangers {
			c.wantUnknown(c.Acquire(c.ctx(), c.ask(o))) // not busy: that would tell that it is there
			_, err := c.Conversation(c.ctx(), o, c.now)
			c.wantUnknown(err)
		}
		c.ok("renew", c.Renew(c.ctx(), lease, c.now, leaseTime))
	}},
	{"a stranger does not push the expiry back", func(c *talk) {
		w := c.create(owner("a"))
		for _, o := range strangers {
			a := c.ask(o)
			a.ExpiresAt = c.now.Add(9 * lifetime)
			c.wantUnknown(c.Acquire(c.ctx(), a))
		}
		c.near("expiry", c.load("a").ExpiresAt, w.ExpiresAt)
	}},
	{"the system may take any conversation, but only one that is there", func(c *talk) {
		c.create(owner("a"))
		a := c.ask(store.Owner{ID: "a"})
		c.wantUnknown(c.Acquire(c.ctx(), a))
		a.System = true
		c.ok("acquire", c.Acquire(c.ctx(), a))
		c.wantBusy(c.Acquire(c.ctx(), c.ask(owner("a"))), leaseTime)
		a = c.ask(store.Owner{ID: "absent"})
		a.System = true
		c.wantUnknown(c.Acquire(c.ctx(), a))
	}},
	{"a held lease is busy until it is given back", func(c *talk) {
		c.create(owner("a"))
		c.create(owner("b"))
		lease := c.acquire(owner("a"))
		c.wantBusy(c.Acquire(c.ctx(), c.ask(owner("a"))), leaseTime)
		c.pass(20 * time.Second)
		c.wantBusy(c.Acquire(c.ctx(), c.ask(owner("a"))), leaseTime-20*time.Second)
		c.acquire(owner("b"))
		c.ok("release", c.Release(c.ctx(), lease))
		c.acquire(owner("a"))
	}},
	{"a lease that ran out is taken over, and its late holder can do nothing", func(c *talk) {
		c.create(owner("a"))
		stale := c.acquire(owner("a"))
		c.pass(leaseTime + time.Second)
		holder := c.acquire(owner("a"))
		c.ok("a stale release", c.Release(c.ctx(), stale))
		c.wantLost("a stale renewal", c.Renew(c.ctx(), stale, c.now, leaseTime))
		c.wantLost("a stale deletion", c.Delete(c.ctx(), owner("a"), stale))
		c.wantBusy(c.Acquire(c.ctx(), c.ask(owner("a"))), leaseTime)
		c.ok("the holder's renewal", c.Renew(c.ctx(), holder, c.now, leaseTime))
	}},
	{"a lease that ran out cannot be renewed, even when nobody took it", func(c *talk) {
		c.create(owner("a"))
		lease := c.acquire(owner("a"))
		c.pass(leaseTime + time.Second)
		c.wantLost("renewal", c.Renew(c.ctx(), lease, c.now, leaseTime))
		c.acquire(owner("a"))
	}},
	{"a renewed lease lasts longer", func(c *talk) {
		c.create(owner("a"))
		lease := c.acquire(owner("a"))
		for range 3 {
			c.pass(20 * time.Second)
			c.ok("renew", c.Renew(c.ctx(), lease, c.now, leaseTime))
			c.ok("renew at the same time again", c.Renew(c.ctx(), lease, c.now, leaseTime))
		}
		c.wantBusy(c.Acquire(c.ctx(), c.ask(owner("a"))), leaseTime)
		w := c.next(c.load("a"), lease)
		c.ok("commit", c.Commit(c.ctx(), w))
	}},
	{"leases of what is not there are lost", func(c *talk) {
		lease := store.Lease{ID: "absent", Token: "t"}
		c.wantLost("renew", c.Renew(c.ctx(), lease, c.now, leaseTime))
		c.ok("release", c.Release(c.ctx(), lease))
		w := c.first(owner("absent"))
		w.Previous, w.State.Version, w.Lease = 1, 2, lease
		c.wantLost("commit", c.Commit(c.ctx(), w))
		c.wantUnknown(c.Delete(c.ctx(), owner("absent"), lease))
	}},
	{"no lease is not a lease", func(c *talk) {
		c.create(owner("a"))
		none := store.Lease{ID: "a"}
		c.wantLost("renew", c.Renew(c.ctx(), none, c.now, leaseTime))
		c.wantLost("commit", c.Commit(c.ctx(), c.next(c.load("a"), none)))
		c.wantLost("delete", c.Delete(c.ctx(), owner("a"), none))
	}},
}
