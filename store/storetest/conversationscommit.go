package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkCommitTests = []talkTest{
	{"a commit writes everything and gives the lease back", func(c *talk) {
		first := c.create(owner("a"))
		c.pass(time.Minute)
		w := c.turn(owner("a"), func(w *store.ConversationWrite) {
			w.Conversation.Status, w.Conversation.Reason = rondo.ConversationCompleted, "done"
			w.Attention = c.now.Add(time.Hour)
		})
		got, expires := c.all(owner("a"))
		same(c.t, "conversation", got.Conversation, w.Conversation)
		same(c.t, "state", got.State, w.State)
		same(c.t, "messages", got.Messages, append(first.Messages[:2:2], w.Messages...))
		same(c.t, "turns", got.Turns, []rondo.TurnRecord{*first.Turn, *w.Turn})
		same(c.t, "cards", got.Cards[1:3], []*rondo.Card{&first.Cards[0], &w.Cards[0]})
		same(c.t, "due", got.Due, []string{"a"})
		c.near("expiry", expires, w.ExpiresAt)
		c.acquire(owner("a"))
	}},
	{"what a caller changes afterwards is not stored", func(c *talk) {
		w := c.create(owner("a"))
		before, _ := c.all(owner("a"))
		w.State.CollectedData["name"] = json.RawMessage(`"Mallory"`)
		w.State.Timers[0].ID, w.Messages[0].Text, w.Turn.To, w.Conversation.Case.CaseID = "x", "x", "x", "x"
		got, _ := c.all(owner("a"))
		same(c.t, "what is stored", got, before)
		got.State.CollectedData["name"] = json.RawMessage(`"Mallory"`)
		got.Messages[0].Text, got.Turns[0].Extraction[0].Name, got.Cards[1].Digest, got.Conversation.Case.CaseID = "x", "x", "x", "x"
		got, _ = c.all(owner("a"))
		same(c.t, "what is stored", got, before)
	}},
	{"a commit without messages, turn and cards changes state and record alone", func(c *talk) {
		c.create(owner("a"))
		before, _ := c.all(owner("a"))
		w := c.turn(owner("a"), func(w *store.ConversationWrite) { w.Messages, w.Turn, w.Cards = nil, nil, nil })
		got, _ := c.all(owner("a"))
		same(c.t, "messages", got.Messages, before.Messages)
		same(c.t, "turns", got.Turns, before.Turns)
		same(c.t, "cards", got.Cards, before.Cards)
		same(c.t, "state", got.State, w.State)
		last := c.turn(owner("a"), nil)
		messages, number, err := c.History(c.ctx(), "a", c.now, 0, 1)
		c.ok("history", err)
		same(c.t, "the newest message", messages, last.Messages[1:])
		same(c.t, "its number", number, 4)
	}},
	{"a commit with a stale token writes nothing", func(c *talk) {
		c.refusedCommit(func(w *store.ConversationWrite) { w.Lease.Token = "another" }, store.ErrLeaseLost)
	}},
	{"a commit with a stale version writes nothing", func(c *talk) {
		c.refusedCommit(func(w *store.ConversationWrite) { w.Previous++; w.State.Version++ }, store.ErrConflict)
	}},
	{"a commit with an older version writes nothing", func(c *talk) {
		c.refusedCommit(func(w *store.ConversationWrite) { w.Previous--; w.State.Version-- }, store.ErrConflict)
	}},
	{"a commit whose key was never claimed writes nothing", func(c *talk) {
		c.refusedCommit(func(w *store.ConversationWrite) { w.Key = c.result(c.claim("unclaimed", "a")) }, store.ErrLeaseLost)
	}},
	{"a commit whose key is another's claim writes nothing", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		c.refusedCommit(func(w *store.ConversationWrite) {
			w.Key = c.result(claim)
			w.Key.Token = "another"
		}, store.ErrLeaseLost)
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Ours || state.Result != nil {
			c.t.Fatalf("the other's claim after the refusal: %+v, want it running", state)
		}
	}},
	{"a commit whose key ran out writes nothing", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		c.pass(leaseTime + time.Second)
		c.refusedCommit(func(w *store.ConversationWrite) { w.Key = c.result(claim) }, store.ErrLeaseLost)
		c.begin(c.claim("k", "a"))
	}},
	{"a refused commit does not finish its key", func(c *talk) {
		claim := c.begin(c.claim("k", "a"))
		c.refusedCommit(func(w *store.ConversationWrite) { w.Key, w.Lease.Token = c.result(claim), "another" }, store.ErrLeaseLost)
		if state := must(c.BeginKey(c.ctx(), c.claim("k", "a")))(c.t); state.Ours || state.Result != nil {
			c.t.Fatalf("the claim after the refusal: %+v, want it running", state)
		}
	}},
	{"a commit after the lease ran out writes nothing", func(c *talk) {
		c.create(owner("a"))
		lease := c.acquire(owner("a"))
		w := c.next(c.load("a"), lease)
		before, _ := c.all(owner("a"))
		c.pass(leaseTime + time.Second)
		w.At = c.now
		c.wantLost("commit", c.Commit(c.ctx(), w))
		after, _ := c.all(owner("a"))
		same(c.t, "what is stored", after, before)
	}},
	{"a commit whose lease was taken over writes nothing, and the new holder's does", func(c *talk) {
		c.create(owner("a"))
		stale := c.next(c.load("a"), c.acquire(owner("a")))
		c.pass(leaseTime + time.Second)
		holder := c.acquire(owner("a"))
		stale.At = c.now
		c.wantLost("stale commit", c.Commit(c.ctx(), stale))
		c.ok("commit", c.Commit(c.ctx(), c.next(c.load("a"), holder)))
	}},
	{"a committed write cannot be committed again", func(c *talk) {
		c.create(owner("a"))
		w := c.turn(owner("a"), nil)
		before, _ := c.all(owner("a"))
		c.wantLost("commit", c.Commit(c.ctx(), w))
		w.Lease = c.acquire(owner("a"))
		if err := c.Commit(c.ctx(), w); !errors.Is(err, store.ErrConflict) {
			c.t.Fatalf("commit the same turn under a new lease: %v, want ErrConflict", err)
		}
		after, _ := c.all(owner("a"))
		same(c.t, "what is stored", after, before)
	}},
	{"a create whose key is not ours writes nothing", func(c *talk) {
		w := c.first(owner("a"))
		w.Key = c.result(c.claim("unclaimed", "a"))
		w.Attention = c.now
		c.wantLost("create", c.Create(c.ctx(), w))
		_, err := c.Conversation(c.ctx(), owner("a"), c.now)
		c.wantUnknown(err)
		if list := must(c.ConversationList(c.ctx(), "acme", "alice", c.now, store.ConversationPage{Limit: 10}))(c.t); len(list) != 0 {
			c.t.Fatalf("the refused one is listed: %+v", list)
		}
		c.create(owner("a"))
		got, _ := c.all(owner("a"))
		same(c.t, "number of messages", len(got.Messages), 2)
	}},
	{"ids and texts of any kind come back as they were", func(c *talk) {
		for i, odd := range []string{"a:b", "100%", "{id}", "}{", "quo'te\"s", `back\slash`, "käse 漢字 🧀", "new\nline", "wf:a", "a:b:c", "%3A", "; DROP TABLE conversations", "$1", "?"} {
			o := store.Owner{TenantID: "t" + odd, UserID: "u" + odd, ID: "i" + odd}
			claim := c.claim("k"+odd, o.ID)
			claim.Key.TenantID, claim.Key.UserID, claim.Key.Route = o.TenantID, o.UserID, "POST /"+odd
			c.begin(claim)
			w := c.first(o)
			w.Messages[0].Text, w.Messages[0].ID = odd, "m"+odd
			w.State.CollectedData[odd] = json.RawMessage(fmt.Sprintf("%q", odd))
			w.Turn.Input.Text, w.Conversation.AgentSession = odd, odd
			w.Cards = []rondo.Card{{ID: odd, Issued: 1, Digest: odd, Turn: 3}}
			w.Attention = c.now.Add(time.Duration(i) * time.Second)
			w.Key = c.result(claim)
			c.ok("create "+odd, c.Create(c.ctx(), w))
			c.acquire(o)
			same(c.t, "card "+odd, must(c.Card(c.ctx(), o.ID, c.now, odd))(c.t), &w.Cards[0])
			got, _ := c.all(o)
			same(c.t, "conversation "+odd, got.Conversation, w.Conversation)
			same(c.t, "state "+odd, got.State, w.State)
			same(c.t, "messages "+odd, got.Messages, w.Messages)
			same(c.t, "turns "+odd, got.Turns, []rondo.TurnRecord{*w.Turn})
			same(c.t, "list "+odd, got.List, []rondo.Conversation{w.Conversation})
			same(c.t, "the newest attention", got.Due[i], o.ID)
			same(c.t, "how many wait for attention", len(got.Due), i+1)
			again := claim
			again.Token = c.token()
			if state := must(c.BeginKey(c.ctx(), again))(c.t); state.Result == nil {
				c.t.Fatalf("key %q has no result: %+v", odd, state)
			}
		}
	}},
}

// refusedCommit tries a spoiled commit and checks that it changed nothing: not
// what is stored, not the lease, not the expiry.
func (c *talk) refusedCommit(spoil func(*store.ConversationWrite), want error) {
	c.t.Helper()
	c.create(owner("a"))
	c.turn(owner("a"), nil)
	c.pass(10 * time.Second)
	lease := c.acquire(owner("a"))
	before, expires := c.all(owner("a"))
	w := c.next(c.load("a"), lease)
	w.Conversation.Status = rondo.ConversationAbandoned
	w.Attention, w.ExpiresAt = c.now, c.now.Add(9*lifetime)
	w.Cards = append(w.Cards, rondo.Card{ID: cardID(1), Issued: 1, Digest: "changed", Turn: 9})
	spoil(w)
	if err := c.Commit(c.ctx(), w); !errors.Is(err, want) {
		c.t.Fatalf("commit: %v, want %v", err, want)
	}
	after, still := c.all(owner("a"))
	same(c.t, "what is stored", after, before)
	c.near("expiry", still, expires)
	c.ok("the holder still has the lease", c.Renew(c.ctx(), lease, c.now, leaseTime))
	c.ok("and can commit", c.Commit(c.ctx(), c.next(c.load("a"), lease)))
}
