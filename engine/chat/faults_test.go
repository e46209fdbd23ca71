package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// fault breaks the calls of a store from the nth on, counted from 0.
type fault struct {
	name     string
	forever  bool // all calls from the nth on, else it alone
	executed bool // the nth call has happened, and its answer is lost
}

var faults = []fault{
	{name: "one call fails"},
	{name: "the store goes down", forever: true},
	{name: "one answer is lost", executed: true},
	{name: "the store goes down after a last call", forever: true, executed: true},
}

// hook makes a fault happen at call n; hit tells whether it did.
func (f fault) hook(n int, hit *bool) func(string, func() error) error {
	calls := 0
	return func(name string, call func() error) error {
		at := calls
		calls++
		if at < n || (at > n && !f.forever) {
			return call()
		}
		*hit = true
		broken := errors.New("connection reset")
		if name == "Commit" || name == "Create" {
			broken = fmt.Errorf("%w: %w", store.ErrAmbiguous, broken)
		}
		if at == n && f.executed {
			if err := call(); err != nil {
				return err
			}
		}
		return broken
	}
}

// scene is a request whose every call of the store is broken once.
type scene struct {
	name    string
	prepare func(k *kit) chat.Request
}

var scenes = []scene{
	{name: "start", prepare: func(*kit) chat.Request { return chat.Request{Kind: chat.KindStart} }},
	{name: "orchestrate", prepare: func(*kit) chat.Request { return chat.Request{Kind: chat.KindOrchestrate, Text: "hi"} }},
	{name: "send", prepare: func(k *kit) chat.Request {
		return chat.Request{Kind: chat.KindSend, ConversationID: k.start(), Text: "hi"}
	}},
	{name: "card", prepare: func(k *kit) chat.Request {
		id := k.start()
		return submit(id, k.issued(id), `{"action":"Action.Submit"}`)
	}},
	{name: "end", prepare: func(k *kit) chat.Request {
		return chat.Request{Kind: chat.KindEnd, ConversationID: k.start(), Outcome: "completed"}
	}},
}

// A failure at any call of the store leaves nothing half written, the lease is free
// after its time, and the same key has one effect in the end.
func TestNoFailureOfTheStoreLeavesHalfATurn(t *testing.T) {
	for _, s := range scenes {
		for _, f := range faults {
			t.Run(s.name+", "+f.name, func(t *testing.T) {
				broken := 0
				for n, hit := 0, true; hit; n++ {
					synctest.Test(t, func(t *testing.T) { hit = s.play(t, f, n) })
					if hit {
						broken++
					}
				}
				if broken < 2 {
					t.Errorf("only %d calls of the store were broken", broken)
				}
			})
		}
	}
}

// play makes the request with a fault at its nth call, then again with the same
// key on a store that works. It reports whether there was an nth call.
func (s scene) play(t *testing.T, f fault, n int) (hit bool) {
	t.Helper()
	k := newKit(t, memory.Open(memory.Options{}), nil)
	req := s.prepare(k)
	req.Key, req.Route, req.Fingerprint, req.RequestID = "k", "r", "f", "under test"
	before := k.everything()

	k.store.hook(f.hook(n, &hit))
	first, err := k.Do(t.Context(), alice, req)
	k.store.hook(nil)
	after := k.everything()
	switch made := after.made(); {
	case err == nil && made != 1:
		t.Errorf("call %d: answered, and %d turns were written", n, made)
	case err != nil && rondo.CodeOf(err) != rondo.CodeUnavailable:
		t.Errorf("call %d: %v, want unavailable", n, err)
	case err != nil && made > 0 && !f.executed:
		t.Errorf("call %d: failed with %v, and %d turns were written", n, err, made)
	case made == 0 && after.text != before.text:
		t.Errorf("call %d: something was written without a turn:\n%s\n%s", n, before.text, after.text)
	}

	k.restart()
	time.Sleep(31 * time.Second) // leases of a turn and a key
	again, retried := k.Do(t.Context(), alice, req)
	if retried != nil {
		t.Fatalf("call %d: the retry failed: %v", n, retried)
	}
	if err == nil && string(again.Body) != string(first.Body) {
		t.Errorf("call %d: the same key has another answer", n)
	}
	end := k.everything()
	if end.made() != 1 {
		t.Errorf("call %d: %d turns for one key", n, end.made())
	}
	for _, c := range end.conversations {
		checkWhole(t, c)
	}
	return hit
}

// world is all that alice has.
type world struct {
	conversations []stored
	text          string // of all that turns write
}

// made counts the turns of the request under test.
func (w world) made() (n int) {
	for _, c := range w.conversations {
		for _, record := range c.Turns {
			if record.RequestID == "under test" {
				n++
			}
		}
	}
	return n
}

func (k *kit) everything() (w world) {
	k.t.Helper()
	list, err := k.store.ConversationList(k.t.Context(), "acme", "alice", k.now(), store.ConversationPage{Limit: 100})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, c := range list {
		found := storedOf(k.t, k.store.Conversations, alice, c.ExternalID, k.now())
		w.conversations = append(w.conversations, found)
		found.Expires = time.Time{}
		text, err := json.Marshal(found)
		if err != nil {
			k.t.Fatal(err)
		}
		w.text += string(text) + "\n"
	}
	return w
}

// checkWhole checks that a conversation is its committed turns and nothing else.
func checkWhole(t testing.TB, c stored) {
	t.Helper()
	turns := 0
	var said []string
	for i, record := range c.Turns {
		if want := c.Turns[0].Number + i; record.Number != want {
			t.Errorf("%s: record %d has number %d", c.Record.ExternalID, want, record.Number)
		}
		var told struct {
			Messages []rondo.NormalizedMessage `json:"messages"`
		}
		if len(record.Response) > 0 {
			if err := json.Unmarshal(record.Response, &told); err != nil {
				t.Errorf("%s: response of turn %d: %v", c.Record.ExternalID, record.Number, err)
			}
		}
		if record.Kind == rondo.TurnByText || record.Kind == rondo.TurnByCard {
			turns++
			said = append(said, "user: "+record.Input.Text)
		}
		for _, m := range told.Messages {
			said = append(said, m.Role+": "+m.Text+m.CardID)
		}
	}
	if c.State.TurnCount != turns {
		t.Errorf("%s: turnCount %d after %d turns", c.Record.ExternalID, c.State.TurnCount, turns)
	}
	if last := c.Turns[len(c.Turns)-1].Number; c.State.TurnNumber != last {
		t.Errorf("%s: turnNumber %d, last record %d", c.Record.ExternalID, c.State.TurnNumber, last)
	}
	history := c.History
	if skip := len(history) - len(said); skip > 0 && c.Turns[0].Number == 1 {
		history = history[skip:] // the greeting, written with the first turn
	}
	if len(history) != len(said) {
		t.Errorf("%s: %d messages, the turns made %d", c.Record.ExternalID, len(history), len(said))
		return
	}
	for i, m := range history {
		if got := m.Role + ": " + m.Text + m.CardID; got != said[i] {
			t.Errorf("%s: message %d is %q, the turns said %q", c.Record.ExternalID, i, got, said[i])
		}
	}
}

// A timer fires once and an event arrives, whatever call fails on the way.
func TestNoFailureOfTheStoreLosesATimerOrAnEvent(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for n, hit := 0, true; hit; n++ {
				synctest.Test(t, func(t *testing.T) {
					hit = false
					k := newKit(t, memory.Open(memory.Options{}), nil)
					k.cfg.Relay = k.relay
					k.restart()
					id := k.open(opened(time.Now().Add(2 * time.Minute)))
					time.Sleep(61 * time.Second)
					if n%2 == 1 {
						time.Sleep(time.Hour) // both timers are due
					}
					k.store.hook(f.hook(n/2, &hit))
					_, _ = k.Sweep(t.Context()) // fails or not: what counts is what comes of it
					k.store.hook(nil)
					k.restart()
					for range 5 {
						time.Sleep(2 * time.Minute)
						k.sweep()
					}
					found := k.stored(id)
					checkWhole(t, found)
					if found.State.Step != "waiting" || found.Record.Status != rondo.ConversationAbandoned || len(found.Turns) != 3 || len(found.State.Pending) > 0 {
						t.Errorf("call %d: %+v %+v after %d records", n/2, found.Record, found.State, len(found.Turns))
					}
					events := k.relay.all()
					if len(events) == 0 {
						t.Errorf("call %d: the case was not told", n/2)
					}
					for _, e := range events {
						if e.EventID != chat.EventID(id, 2, 0) {
							t.Errorf("call %d: event %s", n/2, e.EventID)
						}
					}
					hit = hit || n < 8
				})
			}
		})
	}
}
