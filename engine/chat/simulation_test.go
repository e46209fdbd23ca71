package chat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// simulation is users, an agent that often fails, and processes that die between
// any two calls of the store, all from one seed and in simulated time.
type simulation struct {
	t      *testing.T
	random *rand.Rand
	driver *memory.Store
	now    time.Time
	ids    int
	agent  *puppet
	relay  *letterbox
	shelf  shelf

	conversations []talk
	cards         []talk // id is the card's
	requests      []made // with a key
	replies       int
	answers       int // requests that were answered
}

// talk is a conversation of a user.
type talk struct {
	who      chat.Caller
	id, card string
}

// made is a request that was made under a key, and what was answered: "" = nothing
// yet.
type made struct {
	who  chat.Caller
	req  chat.Request
	body string
}

// errDead is what a process sees of the store after its end.
var errDead = errors.New("the process is dead")

func TestSimulatedUsersCrashesTimersAndRepetitionsBreakNothing(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	answers := 0
	for seed := range seeds {
		s := &simulation{
			t: t, random: rand.New(rand.NewPCG(seed, 7)), driver: memory.Open(memory.Options{}), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
			agent: &puppet{}, relay: &letterbox{}, shelf: newShelf(t),
		}
		s.agent.greeting = []agent.Chunk{{Session: "s"}, text("hello", "")}
		s.agent.does(s.reply)
		for range 120 {
			s.step()
		}
		s.heal()
		s.check()
		answers += s.answers
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if least := int(seeds) * 25; answers < least {
		t.Errorf("only %d requests were answered: the simulation tests too little (want %d)", answers, least)
	}
}

// process is a new process on the same store that dies after some calls of it;
// -1 = never. A last call may have happened without its answer.
func (s *simulation) process(calls int, last bool) *chat.Service {
	h := &hooked{Conversations: s.driver}
	h.hook(func(name string, call func() error) error {
		switch {
		case calls < 0:
			return call()
		case calls > 0:
			calls--
			return call()
		}
		if last {
			last = false
			if err := call(); err != nil {
				return err
			}
		}
		if name == "Commit" || name == "Create" {
			return fmt.Errorf("%w: %w", store.ErrAmbiguous, errDead)
		}
		return errDead
	})
	service, err := chat.New(chat.Config{
		Store: h, Definitions: s.shelf, DefaultDefinition: "trip", Agents: map[string]agent.Agent{"a": s.agent}, DefaultAgent: "a",
		Relay: s.relay, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now }, NewID: s.newID, Sweepers: 1,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return service
}

func (s *simulation) newID() string {
	s.ids++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", s.ids)
}

// reply is what the agent says: two messages that belong together, or a failure
// after the first of them.
func (s *simulation) reply(context.Context, agent.Session, rondo.Activity) ([]agent.Chunk, error) {
	s.replies++
	first := text(fmt.Sprintf("reply %d begins", s.replies), "")
	if s.random.IntN(6) == 0 {
		return []agent.Chunk{first}, &agent.Error{Provider: "a", Kind: agent.KindUnreachable, Message: "cut"}
	}
	action := []string{"ask", "confirm", "research", "complete", "error", "dance"}[s.random.IntN(6)]
	second := card()
	if s.random.IntN(3) > 0 {
		second = text("", "")
	}
	second.Activity.Text = fmt.Sprintf("reply %d ends", s.replies)
	second.Activity.Value = fmt.Appendf(nil, `{"action":%q,"data":{"case":"c","n":%d}}`, action, s.replies)
	return []agent.Chunk{first, second}, nil
}

// step is one thing that happens.
func (s *simulation) step() {
	s.now = s.now.Add(time.Duration(s.random.IntN(4000)) * time.Millisecond)
	s.relay.close(s.random.IntN(3) == 0)
	calls := -1
	if s.random.IntN(3) == 0 {
		calls = s.random.IntN(8)
	}
	p := s.process(calls, s.random.IntN(2) == 0)
	switch s.random.IntN(10) {
	case 0:
		_, _ = p.Sweep(s.t.Context()) // what it could not do, a later one does
	case 1:
		s.now = s.now.Add(time.Duration(s.random.IntN(90)) * time.Second)
	case 2:
		if len(s.requests) > 0 { // a client that did not hear tries again
			s.repeat(p, &s.requests[s.random.IntN(len(s.requests))])
		}
	case 3:
		who := []chat.Caller{alice, bob}[s.random.IntN(2)]
		_, _ = p.Open(s.t.Context(), chat.OpenRequest{ID: s.newID(), TenantID: who.Tenant, UserID: who.User, Case: rondo.CaseLink{
			OrgID: who.Tenant, CaseID: "case", CorrelationID: s.newID(), CompletedType: "converse.completed", DeadlineAt: s.now.Add(time.Duration(s.random.IntN(300)) * time.Second),
		}})
	default:
		s.request(p)
	}
	if err := p.Stop(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.look()
}

// request makes a new request, mostly under a key.
func (s *simulation) request(p *chat.Service) {
	who := []chat.Caller{alice, bob, mallory}[s.random.IntN(3)]
	req := chat.Request{Kind: chat.KindStart}
	if n := len(s.conversations); n > 0 && s.random.IntN(8) > 0 {
		c := s.conversations[s.random.IntN(n)]
		who = c.who
		req = chat.Request{Kind: chat.KindSend, ConversationID: c.id, Text: fmt.Sprintf("text %d", s.random.IntN(1000))}
		switch s.random.IntN(8) {
		case 0:
			req.Kind = chat.KindOrchestrate
		case 1:
			req.Kind, req.ConversationID = chat.KindOrchestrate, ""
		case 2:
			req = chat.Request{Kind: chat.KindEnd, ConversationID: c.id}
		case 3, 4:
			if n := len(s.cards); n > 0 {
				c := s.cards[s.random.IntN(n)]
				who, req = c.who, submit(c.id, c.card, fmt.Sprintf(`{"action":"Action.Submit","n":%d}`, s.random.IntN(2)))
			}
		}
	}
	req.RequestID = s.newID()
	if s.random.IntN(4) == 0 {
		s.do(p, who, req)
		return
	}
	req.Key, req.Route, req.Fingerprint = req.RequestID, "r", "f"
	s.requests = append(s.requests, made{who: who, req: req})
	s.repeat(p, &s.requests[len(s.requests)-1])
}

// repeat makes a request under its key, maybe again.
func (s *simulation) repeat(p *chat.Service, m *made) {
	answer, ok := s.do(p, m.who, m.req)
	if !ok {
		return
	}
	if m.body != "" && m.body != string(answer.Body) {
		s.t.Errorf("%s under the same key has two answers:\n%s\n%s", m.req.Kind, m.body, answer.Body)
	}
	m.body = string(answer.Body)
}

func (s *simulation) do(p *chat.Service, who chat.Caller, req chat.Request) (chat.Answer, bool) {
	answer, err := p.Do(s.t.Context(), who, req)
	if err == nil {
		s.answers++
		return answer, true
	}
	switch code := rondo.CodeOf(err); code {
	case rondo.CodeUnavailable, rondo.CodeConversationBusy, rondo.CodeKeyInProgress, rondo.CodeLeaseLost, rondo.CodeWorkflowCompleted,
		rondo.CodeAgentFailed, rondo.CodeCardSubmitted:
	default:
		s.t.Errorf("%s: %v", req.Kind, err)
	}
	return answer, false
}

// look finds out what there is by now: also what dead processes left.
func (s *simulation) look() {
	s.conversations, s.cards = nil, nil
	for _, who := range []chat.Caller{alice, bob, mallory} {
		for _, c := range s.list(who) {
			s.conversations = append(s.conversations, talk{who: who, id: c.ExternalID})
			said, _, err := s.driver.History(s.t.Context(), c.ExternalID, s.now, 0, 4)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, m := range said {
				if m.CardID != "" {
					s.cards = append(s.cards, talk{who: who, id: c.ExternalID, card: m.CardID})
				}
			}
		}
	}
}

func (s *simulation) list(who chat.Caller) []rondo.Conversation {
	list, err := s.driver.ConversationList(s.t.Context(), who.Tenant, who.User, s.now, store.ConversationPage{Limit: 10_000})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *simulation) all() (all []stored) {
	for _, who := range []chat.Caller{alice, bob, mallory} {
		for _, c := range s.list(who) {
			all = append(all, storedOf(s.t, s.driver, who, c.ExternalID, s.now))
		}
	}
	return all
}

// heal lets a process live long enough to do all that is left to do.
func (s *simulation) heal() {
	s.relay.close(false)
	for range 10 {
		s.now = s.now.Add(2 * time.Minute)
		p := s.process(-1, false)
		if _, err := p.Sweep(s.t.Context()); err != nil {
			s.t.Error(err)
		}
		if err := p.Stop(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}
	s.agent.says(text("well", ""))
	p := s.process(-1, false)
	for _, c := range s.all() {
		if c.Record.Status != rondo.ConversationActive {
			continue
		}
		s.do(p, chat.Caller{Principal: rondo.Principal{Tenant: c.Record.TenantID, User: c.Record.UserID}}, chat.Request{Kind: chat.KindSend, ConversationID: c.Record.ExternalID, Text: "still there?"})
	}
}

// check looks at all that is stored in the end.
func (s *simulation) check() {
	effects, arrived := map[string]int{}, map[string]bool{}
	for _, e := range s.relay.all() {
		arrived[e.EventID] = true
	}
	for _, c := range s.all() {
		checkGreeted(s.t, c)
		if c.Record.Status == rondo.ConversationActive && !strings.HasSuffix(c.History[len(c.History)-1].Text, "well") {
			s.t.Errorf("%s takes no turns any more", c.Record.ExternalID)
		}
		for _, record := range c.Turns {
			effects[record.RequestID]++
			for _, e := range record.Raised {
				if !arrived[e.EventID] {
					s.t.Errorf("event %s of %s did not arrive", e.Type, c.Record.ExternalID)
				}
			}
		}
		if len(c.State.Pending) > 0 {
			s.t.Errorf("%s has events pending", c.Record.ExternalID)
		}
		begun, ended := 0, 0
		for _, m := range c.History {
			if strings.HasSuffix(m.Text, "begins") {
				begun++
			}
			if strings.HasSuffix(m.Text, "ends") {
				ended++
			}
		}
		if begun != ended {
			s.t.Errorf("%s has %d beginnings and %d ends of replies", c.Record.ExternalID, begun, ended)
		}
	}
	for _, m := range s.requests {
		if n := effects[m.req.RequestID]; n > 1 || (n == 0 && m.body != "" && m.req.Kind != chat.KindCard) {
			s.t.Errorf("%s under one key has %d effects", m.req.Kind, n)
		}
	}
}

// checkGreeted checks a conversation whose greeting may be part of its first turn.
func checkGreeted(t testing.TB, c stored) {
	t.Helper()
	if c.Record.Case != nil && c.State.TurnCount > 0 {
		c.History = c.History[1:]
	}
	checkWhole(t, c)
}
