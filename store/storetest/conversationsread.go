package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

var talkReadTests = []talkTest{
	{"history is paged from its end, oldest first", func(c *talk) {
		all := slices.Clone(c.create(owner("a")).Messages)
		for range 4 {
			all = append(all, c.turn(owner("a"), nil).Messages...)
		}
		for _, page := range []struct{ before, limit, from, to int }{
			{0, 100, 1, 10},
			{0, 10, 1, 10},
			{0, 3, 8, 10},
			{8, 3, 5, 7},
			{5, 3, 2, 4},
			{2, 3, 1, 1},
			{100, 2, 9, 10},
		} {
			got, first, err := c.History(c.ctx(), "a", c.now, page.before, page.limit)
			c.ok("history", err)
			same(c.t, fmt.Sprintf("history before %d, at most %d", page.before, page.limit), got, all[page.from-1:page.to])
			same(c.t, "its first number", first, page.from)
		}
		got, first, err := c.History(c.ctx(), "a", c.now, 1, 10)
		if err != nil || len(got) != 0 || first != 0 {
			c.t.Fatalf("before the first: %d messages from %d, %v; want none", len(got), first, err)
		}
	}},
	{"turns are listed oldest first after a number, and found by it", func(c *talk) {
		turns := []rondo.TurnRecord{*c.create(owner("a")).Turn}
		for range 4 {
			turns = append(turns, *c.turn(owner("a"), nil).Turn)
		}
		for _, page := range []struct{ after, limit, from, to int }{{0, 100, 1, 5}, {0, 2, 1, 2}, {2, 2, 3, 4}, {4, 2, 5, 5}} {
			got := must(c.Turns(c.ctx(), "a", c.now, page.after, page.limit))(c.t)
			same(c.t, fmt.Sprintf("turns after %d, at most %d", page.after, page.limit), got, turns[page.from-1:page.to])
		}
		if got := must(c.Turns(c.ctx(), "a", c.now, 5, 10))(c.t); len(got) != 0 {
			c.t.Fatalf("after the last: %d turns", len(got))
		}
		for _, want := range turns {
			same(c.t, "turn", must(c.Turn(c.ctx(), "a", c.now, want.Number))(c.t), want)
		}
		_, err := c.Turn(c.ctx(), "a", c.now, 6)
		wantCode(c.t, err, rondo.CodeNotFound)
	}},
	{"what a turn answered comes back byte for byte", func(c *talk) {
		w := c.create(owner("a"))
		sameBytes(c.t, "response", must(c.Turn(c.ctx(), "a", c.now, 1))(c.t).Response, w.Turn.Response)
		sameBytes(c.t, "response in a list", must(c.Turns(c.ctx(), "a", c.now, 0, 10))(c.t)[0].Response, w.Turn.Response)
		c.turn(owner("a"), func(w *store.ConversationWrite) { w.Turn.Response = nil })
		if got := must(c.Turn(c.ctx(), "a", c.now, 2))(c.t).Response; got != nil {
			c.t.Fatalf("a turn without a response has %q", got)
		}
	}},
	{"cards are issued, then submitted, and known in their conversation alone", func(c *talk) {
		c.create(owner("a"))
		c.create(owner("b"))
		same(c.t, "an issued card", must(c.Card(c.ctx(), "a", c.now, cardID(1)))(c.t), &rondo.Card{ID: cardID(1), Issued: 1})
		submitted := rondo.Card{ID: cardID(1), Issued: 1, Digest: "abc", Turn: 2}
		c.turn(owner("a"), func(w *store.ConversationWrite) {
			w.Cards = []rondo.Card{submitted, {ID: "other", Issued: 2}, {ID: "third", Issued: 2}}
		})
		same(c.t, "a submitted card", must(c.Card(c.ctx(), "a", c.now, cardID(1)))(c.t), &submitted)
		same(c.t, "a card beside it", must(c.Card(c.ctx(), "a", c.now, "third"))(c.t), &rondo.Card{ID: "third", Issued: 2})
		same(c.t, "the card of the same id elsewhere", must(c.Card(c.ctx(), "b", c.now, cardID(1)))(c.t), &rondo.Card{ID: cardID(1), Issued: 1})
		for _, ask := range [][2]string{{"b", "other"}, {"a", "OTHER"}, {"absent", cardID(1)}} {
			if card := must(c.Card(c.ctx(), ask[0], c.now, ask[1]))(c.t); card != nil {
				c.t.Fatalf("card %s of %s: %+v, want none", ask[1], ask[0], card)
			}
		}
	}},
	{"a card that one turn mentions twice is as it was mentioned last", func(c *talk) {
		c.create(owner("a"))
		c.turn(owner("a"), func(w *store.ConversationWrite) {
			w.Cards = []rondo.Card{{ID: "x", Issued: 1}, {ID: "y", Issued: 1}, {ID: "x", Issued: 2}}
		})
		same(c.t, "card", must(c.Card(c.ctx(), "a", c.now, "x"))(c.t), &rondo.Card{ID: "x", Issued: 2})
		same(c.t, "card beside it", must(c.Card(c.ctx(), "a", c.now, "y"))(c.t), &rondo.Card{ID: "y", Issued: 1})
	}},
	{"of what is not there nothing is read", func(c *talk) {
		c.create(owner("b"))
		c.nothing("a")
		_, err := c.Load(c.ctx(), "a", c.now)
		c.wantUnknown(err)
		for _, odd := range []string{"", "nul\x00", "not UTF-8 \xff"} {
			c.wantUnknown(c.Acquire(c.ctx(), c.ask(owner(odd))))
			_, err := c.Conversation(c.ctx(), owner(odd), c.now)
			c.wantUnknown(err)
			if card := must(c.Card(c.ctx(), "b", c.now, odd))(c.t); card != nil {
				c.t.Fatalf("card %q: %+v, want none", odd, card)
			}
		}
	}},
	{"reading does not push the expiry back", func(c *talk) {
		w := c.create(owner("a"))
		c.pass(lifetime / 2)
		_, expires := c.all(owner("a"))
		c.near("expiry", expires, w.ExpiresAt)
		_, expires = c.all(owner("a"))
		c.near("expiry", expires, w.ExpiresAt)
	}},
}

// nothing checks that no part of a conversation can be read.
func (c *talk) nothing(id string) {
	c.t.Helper()
	messages, first, err := c.History(c.ctx(), id, c.now, 0, 10)
	if err != nil || len(messages) != 0 || first != 0 {
		c.t.Fatalf("%d messages from %d, %v; want none", len(messages), first, err)
	}
	if turns := must(c.Turns(c.ctx(), id, c.now, 0, 10))(c.t); len(turns) != 0 {
		c.t.Fatalf("%d turns, want none", len(turns))
	}
	_, err = c.Turn(c.ctx(), id, c.now, 1)
	wantCode(c.t, err, rondo.CodeNotFound)
	if card := must(c.Card(c.ctx(), id, c.now, cardID(1)))(c.t); card != nil {
		c.t.Fatalf("card %+v, want none", card)
	}
}

var talkListTests = []talkTest{
	{"a user's conversations are listed newest first", func(c *talk) {
		for _, id := range []string{"c", "a", "b"} {
			c.create(owner(id))
			c.pass(time.Second)
		}
		c.create(store.Owner{TenantID: "acme", UserID: "bob", ID: "x"})
		c.create(store.Owner{TenantID: "other", UserID: "alice", ID: "y"})
		c.wantList([]string{"b", "a", "c"}, store.ConversationPage{Limit: 10})
		c.pass(time.Second)
		c.turn(owner("c"), nil)
		c.wantList([]string{"c", "b", "a"}, store.ConversationPage{Limit: 10})
		c.pass(time.Second)
		c.ok("release", c.Release(c.ctx(), c.acquire(owner("a"))))
		c.wantList([]string{"c", "b", "a"}, store.ConversationPage{Limit: 10})
	}},
	{"pages continue where the last one ended, also between those of one moment", func(c *talk) {
		want := []string{"z", "e", "d", "c", "b", "a", "y"}
		c.create(owner("y"))
		c.pass(time.Second)
		for _, id := range []string{"b", "e", "a", "d", "c"} {
			c.create(owner(id))
		}
		c.pass(time.Second)
		c.create(owner("z"))
		for limit := 1; limit <= len(want)+1; limit++ {
			var got []string
			page := store.ConversationPage{Limit: limit}
			for {
				list := must(c.ConversationList(c.ctx(), "acme", "alice", c.now, page))(c.t)
				if len(list) > limit {
					c.t.Fatalf("a page of %d, want at most %d", len(list), limit)
				}
				for i := range list {
					got = append(got, list[i].ExternalID)
					page.Before, page.BeforeID = list[i].UpdatedAt, list[i].ExternalID
				}
				if len(list) == 0 {
					break
				}
			}
			same(c.t, fmt.Sprintf("all pages of %d", limit), got, want)
		}
	}},
	{"what expired is not listed, and does not cut a page short", func(c *talk) {
		c.create(owner("a"))
		c.create(owner("b"))
		for _, id := range []string{"x", "y", "z"} {
			w := c.first(owner(id))
			w.ExpiresAt = c.now.Add(time.Hour)
			c.ok("create", c.Create(c.ctx(), w))
		}
		c.pass(2 * time.Hour)
		c.wantList([]string{"b", "a"}, store.ConversationPage{Limit: 2})
		c.wantList([]string{"b", "a"}, store.ConversationPage{Limit: 10})
	}},
}

func (c *talk) wantList(want []string, page store.ConversationPage) {
	c.t.Helper()
	var got []string
	for _, conversation := range must(c.ConversationList(c.ctx(), "acme", "alice", c.now, page))(c.t) {
		got = append(got, conversation.ExternalID)
	}
	same(c.t, "list", got, want)
}
