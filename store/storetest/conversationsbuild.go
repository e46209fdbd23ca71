package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Times of conversations in tests. They are long, so that a driver whose database
// has a clock of its own does not see them end while a test runs.
const (
	leaseTime = 30 * time.Second
	keyTime   = time.Hour
	lifetime  = 24 * time.Hour
)

// talk is a store of conversations under test with the few verbs that tests need.
type talk struct {
	store.Conversations
	t       *testing.T
	harness ConversationHarness
	now     time.Time
	tokens  int
}

func openTalk(t *testing.T, open func(*testing.T) ConversationHarness) *talk {
	t.Helper()
	h := open(t)
	return &talk{Conversations: h.Store, t: t, harness: h, now: h.Now().UTC().Truncate(time.Millisecond)}
}

func (c *talk) ctx() context.Context { return c.t.Context() }

// pass lets time go by, for the test and for the driver.
func (c *talk) pass(d time.Duration) {
	c.now = c.now.Add(d)
	if c.harness.Advance != nil {
		c.harness.Advance(d)
	}
}

// token is a new one.
func (c *talk) token() string {
	c.tokens++
	return fmt.Sprintf("token-%d", c.tokens)
}

// owner is who owns the conversations that tests create unless they say otherwise.
func owner(id string) store.Owner { return store.Owner{TenantID: "acme", UserID: "alice", ID: id} }

// first is the write that creates a conversation: two messages, a turn, a card.
func (c *talk) first(o store.Owner) *store.ConversationWrite {
	w := &store.ConversationWrite{
		Conversation: rondo.Conversation{
			ExternalID: o.ID, TenantID: o.TenantID, UserID: o.UserID, Status: rondo.ConversationActive,
			Definition:   rondo.DefinitionRef{ID: "default", Hash: "5feceb66"},
			AgentSession: "session-" + o.ID, Metadata: json.RawMessage(`{"page":1.50}`),
			Case:      &rondo.CaseLink{OrgID: "acme", CaseID: "c-1", CorrelationID: "corr-1", RequestID: "r-1", DeadlineAt: c.now.Add(time.Hour)},
			CreatedAt: c.now,
		},
		State: rondo.ConversationState{
			WorkflowState: rondo.WorkflowState{
				Step: "initial", CollectedData: map[string]json.RawMessage{}, Status: rondo.WorkflowActive,
				UserID: o.UserID, TenantID: o.TenantID,
			},
			Machine: json.RawMessage(`{"value":"initial"}`),
		},
	}
	return c.follow(w, rondo.TurnByStart)
}

// next is the write of a turn that follows what is stored.
func (c *talk) next(stored *store.StoredConversation, lease store.Lease) *store.ConversationWrite {
	w := &store.ConversationWrite{Conversation: stored.Conversation, State: stored.State, Previous: stored.State.Version, Lease: lease}
	w.State.TurnCount++
	return c.follow(w, rondo.TurnByText)
}

// follow fills in what every write has, under the next version and turn number.
func (c *talk) follow(w *store.ConversationWrite, kind string) *store.ConversationWrite {
	id := w.Conversation.ExternalID
	w.At, w.ExpiresAt = c.now, c.now.Add(lifetime)
	w.Conversation.UpdatedAt = c.now
	w.State.Version = w.Previous + 1
	w.State.TurnNumber++
	n := w.State.TurnNumber
	progress := 0.25
	w.State.Step, w.State.Progress = fmt.Sprintf("step-%d", n), &progress
	w.State.CollectedData = map[string]json.RawMessage{"name": json.RawMessage(`"Alice"`), "turn": json.RawMessage(fmt.Sprint(n))}
	w.State.Timers = []rondo.ConversationTimer{{ID: "t-1", Kind: rondo.TimerAfter, Event: "LATE", DueAt: c.now.Add(time.Hour)}}
	w.State.Provenance = map[string]rondo.Provenance{"name": {Value: json.RawMessage(`"Alice"`), Source: rondo.SourceValue, Confidence: rondo.ConfidenceHigh, Turn: n}}
	w.State.Pending = []rondo.RaisedEvent{{EventID: "e-1", Type: "x.completed", CaseID: "c-1", Payload: json.RawMessage(`{"n":1.0}`), OccurredAt: c.now}}
	w.Messages = []rondo.NormalizedMessage{
		{ID: fmt.Sprintf("%s-%d-u", id, n), Role: rondo.RoleUser, Kind: rondo.MessageText, Text: fmt.Sprintf("question %d", n)},
		{ID: fmt.Sprintf("%s-%d-a", id, n), Role: rondo.RoleAssistant, Kind: rondo.MessageCard, CardJSON: json.RawMessage(`{"type":"AdaptiveCard"}`), CardID: cardID(n)},
	}
	w.Turn = &rondo.TurnRecord{
		Number: n, Kind: kind, At: c.now, Input: rondo.TurnInput{Text: fmt.Sprintf("question %d", n)},
		Extraction: []rondo.Candidate{{Name: "value", Result: "won"}}, From: "initial", To: w.State.Step,
		Response: json.RawMessage(fmt.Sprintf(`{"turn": %d,  "text":"<b>&\u003c"}`, n)),
	}
	w.Cards = []rondo.Card{{ID: cardID(n), Issued: n}}
	return w
}

func cardID(turn int) string { return fmt.Sprintf("card-%d", turn) }

// create stores a conversation and returns what was written.
func (c *talk) create(o store.Owner) *store.ConversationWrite {
	c.t.Helper()
	w := c.first(o)
	c.ok("create", c.Create(c.ctx(), w))
	return w
}

// ask is an attempt at a lease with a new token.
func (c *talk) ask(o store.Owner) store.AcquireConversation {
	return store.AcquireConversation{Owner: o, Token: c.token(), At: c.now, Lease: leaseTime, ExpiresAt: c.now.Add(lifetime)}
}

// acquire takes the lease.
func (c *talk) acquire(o store.Owner) store.Lease {
	c.t.Helper()
	a := c.ask(o)
	c.ok("acquire", c.Acquire(c.ctx(), a))
	return store.Lease{ID: o.ID, Token: a.Token}
}

func (c *talk) load(id string) *store.StoredConversation {
	c.t.Helper()
	return must(c.Load(c.ctx(), id, c.now))(c.t)
}

// turn is a whole one: acquire, load, commit. edit may be nil.
func (c *talk) turn(o store.Owner, edit func(*store.ConversationWrite)) *store.ConversationWrite {
	c.t.Helper()
	lease := c.acquire(o)
	w := c.next(c.load(o.ID), lease)
	if edit != nil {
		edit(w)
	}
	c.ok("commit", c.Commit(c.ctx(), w))
	return w
}

func (c *talk) ok(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%s: %v", what, err)
	}
}

func (c *talk) wantLost(what string, err error) {
	c.t.Helper()
	if !errors.Is(err, store.ErrLeaseLost) {
		c.t.Fatalf("%s: %v, want ErrLeaseLost", what, err)
	}
}

func (c *talk) wantUnknown(err error) {
	c.t.Helper()
	wantCode(c.t, err, rondo.CodeConversationNotFound)
}

// wantBusy checks that the lease is held, for no longer than at most.
func (c *talk) wantBusy(err error, most time.Duration) {
	c.t.Helper()
	busy, ok := errors.AsType[*store.BusyError](err)
	if !ok {
		c.t.Fatalf("acquire what another holds: %v, want a BusyError", err)
	}
	if busy.RetryAfter <= 0 || busy.RetryAfter > most {
		c.t.Fatalf("retry after %s, want more than 0 and at most %s", busy.RetryAfter, most)
	}
}

// near compares expiries: a driver may measure them by another clock.
func (c *talk) near(what string, got, want time.Time) {
	c.t.Helper()
	if d := got.Sub(want); d < -5*time.Second || d > 5*time.Second {
		c.t.Fatalf("%s is %s, want %s", what, got, want)
	}
}

// everything is all that can be read about a conversation, but its expiry.
type everything struct {
	Conversation rondo.Conversation
	State        rondo.ConversationState
	Messages     []rondo.NormalizedMessage
	First        int
	Turns        []rondo.TurnRecord
	Cards        []*rondo.Card
	List         []rondo.Conversation
	Due          []string
}

// all reads everything about a conversation, and its expiry.
func (c *talk) all(o store.Owner) (everything, time.Time) {
	c.t.Helper()
	stored := must(c.Conversation(c.ctx(), o, c.now))(c.t)
	e := everything{Conversation: stored.Conversation, State: stored.State}
	var err error
	e.Messages, e.First, err = c.History(c.ctx(), o.ID, c.now, 0, 1000)
	c.ok("history", err)
	e.Turns = must(c.Turns(c.ctx(), o.ID, c.now, 0, 1000))(c.t)
	for n := range 10 {
		e.Cards = append(e.Cards, must(c.Card(c.ctx(), o.ID, c.now, cardID(n)))(c.t))
	}
	e.List = must(c.ConversationList(c.ctx(), o.TenantID, o.UserID, c.now, store.ConversationPage{Limit: 100}))(c.t)
	e.Due = must(c.DueConversations(c.ctx(), c.now.Add(100*lifetime), 100))(c.t)
	return e, stored.ExpiresAt
}

// claim is a claim of a key of alice with a new token.
func (c *talk) claim(key, conversation string) store.KeyClaim {
	return store.KeyClaim{
		Key:   store.ConversationKey{TenantID: "acme", UserID: "alice", Route: "POST /api/chat/send", Key: key},
		Token: c.token(), Fingerprint: "f00d", ConversationID: conversation, At: c.now, Lease: leaseTime,
	}
}

// result finishes a claim.
func (c *talk) result(claim store.KeyClaim) *store.KeyResult {
	return &store.KeyResult{
		Key: claim.Key, Token: claim.Token, Fingerprint: claim.Fingerprint, Status: 200,
		Body: json.RawMessage("{\"a\": 1.0,\n  \"b\":\"<&>\\u00e9\"}"), ExpiresAt: c.now.Add(keyTime),
	}
}

// begin claims a key and checks that it is ours.
func (c *talk) begin(claim store.KeyClaim) store.KeyClaim {
	c.t.Helper()
	if state := must(c.BeginKey(c.ctx(), claim))(c.t); !state.Ours || state.Result != nil {
		c.t.Fatalf("claim %+v: %+v, want it ours", claim.Key, state)
	}
	return claim
}
