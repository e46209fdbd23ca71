package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkExpiryTests = []talkTest{
	{"what expired is as if it had never been", func(c *talk) {
		c.create(owner("a"))
		c.turn(owner("a"), nil)
		c.pass(lifetime + time.Minute)
		c.wantUnknown(c.Acquire(c.ctx(), c.ask(owner("a"))))
		_, err := c.Load(c.ctx(), "a", c.now)
		c.wantUnknown(err)
		_, err = c.Conversation(c.ctx(), owner("a"), c.now)
		c.wantUnknown(err)
		c.nothing("a")
		c.wantList(nil, store.ConversationPage{Limit: 10})
	}},
	{"taking the lease pushes the expiry back, for everything about the conversation", func(c *talk) {
		w := c.create(owner("a"))
		c.pass(lifetime / 2)
		c.ok("release", c.Release(c.ctx(), c.acquire(owner("a"))))
		c.near("expiry", c.load("a").ExpiresAt, c.now.Add(lifetime))
		c.pass(lifetime * 3 / 4)
		got, _ := c.all(owner("a"))
		same(c.t, "messages", got.Messages, w.Messages)
		same(c.t, "turns", got.Turns, []rondo.TurnRecord{*w.Turn})
		same(c.t, "card", got.Cards[1], &w.Cards[0])
		same(c.t, "list", got.List, []rondo.Conversation{w.Conversation})
		same(c.t, "state", got.State, w.State)
	}},
	{"a commit pushes the expiry back", func(c *talk) {
		first := c.create(owner("a"))
		c.pass(lifetime / 2)
		a := c.ask(owner("a"))
		a.ExpiresAt = time.Time{}
		c.ok("acquire", c.Acquire(c.ctx(), a))
		c.near("expiry while leased", c.load("a").ExpiresAt, first.ExpiresAt)
		c.ok("commit", c.Commit(c.ctx(), c.next(c.load("a"), store.Lease{ID: "a", Token: a.Token})))
		c.near("expiry", c.load("a").ExpiresAt, c.now.Add(lifetime))
		c.pass(lifetime * 3 / 4)
		got, _ := c.all(owner("a"))
		same(c.t, "number of messages", len(got.Messages), 4)
		same(c.t, "number of turns", len(got.Turns), 2)
	}},
	{"a later expiry that is stored stays", func(c *talk) {
		w := c.first(owner("a"))
		w.ExpiresAt = c.now.Add(9 * lifetime)
		c.ok("create", c.Create(c.ctx(), w))
		lease := c.acquire(owner("a"))
		c.near("expiry after acquire", c.load("a").ExpiresAt, w.ExpiresAt)
		c.ok("commit", c.Commit(c.ctx(), c.next(c.load("a"), lease)))
		c.near("expiry after commit", c.load("a").ExpiresAt, w.ExpiresAt)
		c.pass(8 * lifetime)
		got, _ := c.all(owner("a"))
		same(c.t, "number of messages", len(got.Messages), 4)
		same(c.t, "number of turns", len(got.Turns), 2)
		same(c.t, "length of the list", len(got.List), 1)
	}},
	{"a busy answer does not need the expiry", func(c *talk) {
		c.create(owner("a"))
		c.acquire(owner("a"))
		a := c.ask(owner("a"))
		a.ExpiresAt = time.Time{}
		c.wantBusy(c.Acquire(c.ctx(), a), leaseTime)
	}},
	{"removing takes what expired and nothing else", func(c *talk) {
		for _, id := range []string{"a", "b", "c"} {
			c.create(owner(id))
		}
		c.begin(c.claim("ended", "a"))
		c.pass(lifetime / 2)
		c.ok("release", c.Release(c.ctx(), c.acquire(owner("b"))))
		kept := c.result(c.begin(c.claim("kept", "c")))
		kept.ExpiresAt = c.now.Add(lifetime)
		c.turn(owner("c"), func(w *store.ConversationWrite) { w.Key = kept })
		want := map[string]everything{}
		for _, id := range []string{"b", "c"} {
			want[id], _ = c.all(owner(id))
		}
		c.pass(lifetime/2 + time.Second)
		_, err := c.ExpireConversations(c.ctx(), c.now, 100)
		c.ok("expire", err)
		for _, id := range []string{"b", "c"} {
			got, _ := c.all(owner(id))
			same(c.t, "messages", got.Messages, want[id].Messages)
			same(c.t, "turns", got.Turns, want[id].Turns)
			same(c.t, "cards", got.Cards, want[id].Cards)
			same(c.t, "state", got.State, want[id].State)
		}
		c.wantResult(c.claim("kept", "c"), kept)
		c.wantList([]string{"c", "b"}, store.ConversationPage{Limit: 10})
		if n := must(c.ExpireConversations(c.ctx(), c.now, 100))(c.t); n != 0 {
			c.t.Fatalf("a second removal took %d", n)
		}
	}},
	{"removing goes on in steps until nothing is left behind", func(c *talk) {
		if c.harness.Left == nil {
			c.t.Skip("what is stored cannot be counted")
		}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			claim := c.begin(c.claim("k"+id, id))
			w := c.first(owner(id))
			w.Attention, w.Key = c.now.Add(time.Hour), c.result(claim)
			c.ok("create", c.Create(c.ctx(), w))
			c.turn(owner(id), func(w *store.ConversationWrite) { w.Attention = c.now.Add(time.Minute) })
			c.begin(c.claim("running"+id, id))
		}
		c.acquire(owner("a"))
		if c.harness.Left() == 0 {
			c.t.Fatal("nothing is counted although something is stored")
		}
		c.pass(2 * lifetime)
		c.removeAll(2)
	}},
}

// removeAll removes what expired in steps, drops the hints that are found stale on
// the way, and checks that nothing is left.
func (c *talk) removeAll(limit int) {
	c.t.Helper()
	for range 1000 {
		if must(c.ExpireConversations(c.ctx(), c.now, limit))(c.t) == 0 {
			break
		}
	}
	for _, id := range must(c.DueConversations(c.ctx(), c.now, 1000))(c.t) {
		c.ok("drop attention", c.PutOff(c.ctx(), id, time.Time{}))
	}
	c.wantList(nil, store.ConversationPage{Limit: 100})
	if left := c.harness.Left(); left != 0 {
		c.t.Fatalf("%d things are left behind", left)
	}
}

var talkDeleteTests = []talkTest{
	{"deleting erases everything about a conversation", func(c *talk) {
		w := c.first(owner("a"))
		w.Attention = c.now.Add(time.Hour)
		c.ok("create", c.Create(c.ctx(), w))
		other := c.create(owner("b"))
		c.turn(owner("a"), func(w *store.ConversationWrite) { w.Attention = c.now })
		c.ok("delete", c.Delete(c.ctx(), owner("a"), c.acquire(owner("a"))))
		c.nothing("a")
		_, err := c.Load(c.ctx(), "a", c.now)
		c.wantUnknown(err)
		c.wantUnknown(c.Acquire(c.ctx(), c.ask(owner("a"))))
		c.wantList([]string{"b"}, store.ConversationPage{Limit: 10})
		if due := must(c.DueConversations(c.ctx(), c.now.Add(lifetime), 10))(c.t); len(due) != 0 {
			c.t.Fatalf("attention is left: %v", due)
		}
		got, _ := c.all(owner("b"))
		same(c.t, "another's messages", got.Messages, other.Messages)
		c.create(owner("a"))
		got, _ = c.all(owner("a"))
		same(c.t, "messages of a new one with the same id", len(got.Messages), 2)
	}},
	{"deleting leaves nothing behind", func(c *talk) {
		if c.harness.Left == nil {
			c.t.Skip("what is stored cannot be counted")
		}
		c.create(owner("a"))
		c.turn(owner("a"), func(w *store.ConversationWrite) { w.Attention = c.now })
		c.ok("delete", c.Delete(c.ctx(), owner("a"), c.acquire(owner("a"))))
		if left := c.harness.Left(); left != 0 {
			c.t.Fatalf("%d things are left behind", left)
		}
	}},
	{"deleting erases answers that are kept under keys", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		w := c.first(owner("a"))
		w.Key = c.result(claim)
		c.ok("create", c.Create(c.ctx(), w))
		c.ok("delete", c.Delete(c.ctx(), owner("a"), c.acquire(owner("a"))))
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Result != nil {
			c.t.Fatal("the answer of an erased conversation is still given")
		}
	}},
	{"only its owner deletes a conversation, under the lease", func(c *talk) {
		c.create(owner("a"))
		lease := c.acquire(owner("a"))
		before, _ := c.all(owner("a"))
		for _, o := range strangers {
			c.wantUnknown(c.Delete(c.ctx(), o, store.Lease{ID: o.ID, Token: lease.Token}))
		}
		c.wantLost("delete with another token", c.Delete(c.ctx(), owner("a"), store.Lease{ID: "a", Token: "another"}))
		after, _ := c.all(owner("a"))
		same(c.t, "what is stored", after, before)
		c.ok("delete", c.Delete(c.ctx(), owner("a"), lease))
	}},
}

var talkAttentionTests = []talkTest{
	{"what is due comes longest due first", func(c *talk) {
		for id, after := range map[string]time.Duration{"a": 3 * time.Minute, "b": time.Minute, "c": 2 * time.Minute, "d": time.Hour, "e": 0} {
			w := c.first(owner(id))
			if after > 0 {
				w.Attention = c.now.Add(after)
			}
			c.ok("create", c.Create(c.ctx(), w))
		}
		c.wantDue(0, 10)
		c.wantDue(90*time.Second, 10, "b")
		c.wantDue(3*time.Minute, 10, "b", "c", "a")
		c.wantDue(2*time.Hour, 2, "b", "c")
		c.wantDue(2*time.Hour, 10, "b", "c", "a", "d")
	}},
	{"attention follows the newest commit", func(c *talk) {
		c.create(owner("a"))
		c.wantDue(lifetime, 10)
		c.turn(owner("a"), func(w *store.ConversationWrite) { w.Attention = c.now.Add(time.Minute) })
		c.wantDue(time.Minute, 10, "a")
		c.turn(owner("a"), func(w *store.ConversationWrite) { w.Attention = c.now.Add(time.Hour) })
		c.wantDue(time.Minute, 10)
		c.wantDue(time.Hour, 10, "a")
		c.turn(owner("a"), nil)
		c.wantDue(lifetime, 10)
	}},
	{"attention is put off, and dropped", func(c *talk) {
		for _, id := range []string{"a", "b"} {
			w := c.first(owner(id))
			w.Attention = c.now
			c.ok("create", c.Create(c.ctx(), w))
		}
		c.ok("put off", c.PutOff(c.ctx(), "a", c.now.Add(time.Hour)))
		c.wantDue(time.Minute, 10, "b")
		c.wantDue(time.Hour, 10, "b", "a")
		c.ok("drop", c.PutOff(c.ctx(), "b", time.Time{}))
		c.wantDue(time.Hour, 10, "a")
		c.ok("drop what is not there", c.PutOff(c.ctx(), "absent", time.Time{}))
		c.wantDue(time.Hour, 10, "a")
		same(c.t, "version", c.load("a").State.Version, int64(1))
	}},
	{"attention that is put off needs no lease", func(c *talk) {
		w := c.first(owner("a"))
		w.Attention = c.now
		c.ok("create", c.Create(c.ctx(), w))
		lease := c.acquire(owner("a"))
		c.ok("put off", c.PutOff(c.ctx(), "a", c.now.Add(time.Minute)))
		c.wantDue(0, 10)
		c.ok("renew", c.Renew(c.ctx(), lease, c.now, leaseTime))
	}},
}

func (c *talk) wantDue(after time.Duration, limit int, want ...string) {
	c.t.Helper()
	same(c.t, "what is due after "+after.String(), must(c.DueConversations(c.ctx(), c.now.Add(after), limit))(c.t), want)
}
