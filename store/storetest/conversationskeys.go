package storetest

import (
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkKeyTests = []talkTest{
	{"a claim runs until it is finished", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t)
		if state.Ours || state.Result != nil || state.RetryAfter <= 0 || state.RetryAfter > leaseTime {
			c.t.Fatalf("a second claim: %+v, want it running elsewhere", state)
		}
		w := c.first(owner("a"))
		w.Key = c.result(claim)
		c.ok("create", c.Create(c.ctx(), w))
		c.wantResult(c.claim("k", "a"), w.Key)
	}},
	{"a commit finishes a claim, and its bytes come back exactly", func(c *talk) {
		c.create(owner("a"))
		claim := c.begin(c.claim("k", "a"))
		var key *store.KeyResult
		c.turn(owner("a"), func(w *store.ConversationWrite) {
			key = c.result(claim)
			key.Status = 201
			w.Key = key
		})
		c.wantResult(c.claim("k", "a"), key)
		c.pass(leaseTime + time.Minute) // the claim's lease does not end the result
		c.wantResult(c.claim("k", "a"), key)
	}},
	{"another body under the same key is refused, running or finished", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		other := c.claim("k", "a")
		other.Fingerprint = "beef"
		_, err := c.BeginKey(c.ctx(), other)
		wantCode(c.t, err, rondo.CodeKeyReused)
		w := c.first(owner("a"))
		w.Key = c.result(claim)
		c.ok("create", c.Create(c.ctx(), w))
		_, err = c.BeginKey(c.ctx(), other)
		wantCode(c.t, err, rondo.CodeKeyReused)
		c.wantResult(c.claim("k", "a"), w.Key)
	}},
	{"a result ends, and then the key is free for any body", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		w := c.first(owner("a"))
		w.Key = c.result(claim)
		c.ok("create", c.Create(c.ctx(), w))
		c.pass(keyTime + time.Minute)
		other := c.claim("k", "a")
		other.Fingerprint = "beef"
		c.begin(other)
	}},
	{"a claim that ran out is taken over, and its late holder can do nothing", func(c *talk) {
		c.create(owner("a"))
		stale := c.begin(c.claim("k", "a"))
		c.pass(leaseTime + time.Second)
		holder := c.begin(c.claim("k", "a"))
		c.wantLost("a stale renewal", c.RenewKey(c.ctx(), stale.Key, stale.Token, c.now, leaseTime))
		c.ok("a stale drop", c.DropKey(c.ctx(), stale.Key, stale.Token))
		w := c.next(c.load("a"), c.acquire(owner("a")))
		w.Key = c.result(stale)
		c.wantLost("a stale commit", c.Commit(c.ctx(), w))
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Ours {
			c.t.Fatal("the holder's claim was lost to a third")
		}
		w.Key = c.result(holder)
		c.ok("the holder's commit", c.Commit(c.ctx(), w))
	}},
	{"a renewed claim lasts longer", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		for range 3 {
			c.pass(20 * time.Second)
			c.ok("renew", c.RenewKey(c.ctx(), claim.Key, claim.Token, c.now, leaseTime))
			c.ok("renew at the same time again", c.RenewKey(c.ctx(), claim.Key, claim.Token, c.now, leaseTime))
		}
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Ours {
			c.t.Fatal("a renewed claim was taken over")
		}
		c.pass(leaseTime + time.Second)
		c.wantLost("a late renewal", c.RenewKey(c.ctx(), claim.Key, claim.Token, c.now, leaseTime))
		c.begin(c.claim("k", "a"))
	}},
	{"a claim that is dropped leaves the key free, for any body", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		c.ok("drop by another", c.DropKey(c.ctx(), claim.Key, "another"))
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Ours {
			c.t.Fatal("another's drop freed the key")
		}
		c.ok("drop", c.DropKey(c.ctx(), claim.Key, claim.Token))
		c.wantLost("renewal after the drop", c.RenewKey(c.ctx(), claim.Key, claim.Token, c.now, leaseTime))
		other := c.claim("k", "a")
		other.Fingerprint = "beef"
		c.begin(other)
		c.ok("drop what is not there", c.DropKey(c.ctx(), c.claim("absent", "a").Key, "t"))
	}},
	{"a finished claim is neither renewed nor dropped nor finished again", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		w := c.first(owner("a"))
		w.Key = c.result(claim)
		c.ok("create", c.Create(c.ctx(), w))
		c.wantLost("renewal", c.RenewKey(c.ctx(), claim.Key, claim.Token, c.now, leaseTime))
		c.ok("drop", c.DropKey(c.ctx(), claim.Key, claim.Token))
		again := c.next(c.load("a"), c.acquire(owner("a")))
		again.Key = c.result(claim)
		again.Key.Status = 500
		c.wantLost("second result", c.Commit(c.ctx(), again))
		c.wantResult(c.claim("k", "a"), w.Key)
	}},
	{"two users, tenants, routes and keys never share a claim", func(c *talk) {
		base := store.ConversationKey{TenantID: "t", UserID: "u", Route: "POST /r", Key: "k"}
		keys := []store.ConversationKey{base}
		for _, edit := range []func(*store.ConversationKey){
			func(k *store.ConversationKey) { k.TenantID = "t2" },
			func(k *store.ConversationKey) { k.UserID = "u2" },
			func(k *store.ConversationKey) { k.UserID = "U" },
			func(k *store.ConversationKey) { k.Route = "POST /r2" },
			func(k *store.ConversationKey) { k.Route = "POST /r?x=1" },
			func(k *store.ConversationKey) { k.Key = "K" },
			func(k *store.ConversationKey) { k.Key = "k " },
			// Parts that run together must not meet.
			func(k *store.ConversationKey) { k.TenantID, k.UserID = "t:u", "" },
			func(k *store.ConversationKey) { k.TenantID, k.UserID = "", "t:u" },
			func(k *store.ConversationKey) { k.TenantID, k.UserID = "tu", "" },
			func(k *store.ConversationKey) { k.Route, k.Key = "POST /r:k", "" },
			func(k *store.ConversationKey) { k.UserID, k.Route = "u:POST /r", "" },
			func(k *store.ConversationKey) { k.UserID = "u%3A" },
			func(k *store.ConversationKey) { k.UserID = "u:" },
		} {
			other := base
			edit(&other)
			keys = append(keys, other)
		}
		for _, key := range keys {
			claim := c.claim("", "a")
			claim.Key, claim.Fingerprint = key, key.TenantID+key.UserID
			c.begin(claim)
		}
	}},
	{"a key of 255 characters and a long route are as good as any", func(c *talk) {
		long := make([]byte, 255)
		for i := range long {
			long[i] = 'k'
		}
		claim := c.claim(string(long), "a")
		claim.Key.Route = "POST /api/chat/send?" + string(long) + string(long) + string(long) + string(long)
		c.begin(claim)
		claim.Key.Key = string(long[1:])
		c.begin(claim)
	}},
}

// wantResult claims a key that is finished and checks its answer.
func (c *talk) wantResult(claim store.KeyClaim, want *store.KeyResult) {
	c.t.Helper()
	state := must(c.BeginKey(c.ctx(), claim))(c.t)
	if state.Ours || state.Result == nil {
		c.t.Fatalf("claim of a finished key: %+v, want its result", state)
	}
	sameBytes(c.t, "body", state.Result.Body, want.Body)
	same(c.t, "status", state.Result.Status, want.Status)
}
