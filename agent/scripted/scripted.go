// Package scripted is an agent that follows rules from a file, for demos and
// tests: the same question always gets the same answer, and no model is needed.
//
// # Scripts
//
// A script is YAML, or JSON read as YAML:
//
//	name: greeter                # what health shows as the model
//	greeting:                    # what a conversation opens with; may be left out
//	  - text: Hello! What is your name?
//	rules:                       # asked in order; the first that holds answers
//	  - name: a name
//	    when:                    # all of it must hold; nothing = always
//	      text: '(?i)i am (\w+)' # regular expression over the user's own text
//	      step: [initial, gather_info]
//	      lacks: [name]
//	    reply:
//	      - text: Nice to meet you, ${1}.
//	        value: {action: ask, data: {name: "${1}"}}
//
// Conditions: text; contains (one of these, in any case); step and turn (one of
// these); has and lacks (collected keys, all of them); cardAction (one of these;
// "*" = any) and submitted (members of a submitted card). step, turn, has and lacks
// look at the context that Rondo writes above the text, and never hold without it;
// text and contains never hold for a card.
//
// A reply has text, value (a structured object), card (an adaptive card), choices
// (suggested answers), type (another type of activity, such as handoff), code (of
// an endOfConversation), stream (true = the text also comes in pieces) and delayMs
// (waits first; for demos). A rule may also fail, after its replies:
// fail: {kind: unreachable, status: 503, retryAfterMs: 1000}.
//
// Strings may have ${text}, ${step}, ${turn}, ${data.key} (collected),
// ${submitted.key} and, of the rule's expression, ${1} or ${name}. In value and
// card, a string that is one placeholder and nothing else keeps the type of the
// collected or submitted value, and ${number:1} becomes a number. $${ is a plain
// ${.
//
// The agent keeps nothing between calls. It imports the root package, the agent
// port, agent/internal/preamble and the YAML library.
package scripted

import (
	"context"
	"crypto/rand"
	"iter"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

const provider = "scripted"

// Agent answers by a script.
type Agent struct{ script *Script }

var _ agent.Agent = (*Agent)(nil)

// New is an agent that follows script.
func New(script *Script) *Agent { return &Agent{script: script} }

// Info says who answers: the script's name is the model.
func (a *Agent) Info() agent.Info { return agent.Info{Provider: provider, Model: a.script.name} }

// Start yields the script's greeting.
func (a *Agent) Start(ctx context.Context, session agent.Session) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		if !yield(agent.Chunk{Session: provider + "-" + session.ConversationID}, nil) {
			return
		}
		play(ctx, a.script.greeting, nil, &heard{}, yield)
	}
}

// Send answers by the first rule that holds. That none does is KindRefused.
func (a *Agent) Send(ctx context.Context, _ agent.Session, message rondo.Activity) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		said := hear(message)
		for i := range a.script.rules {
			rule := &a.script.rules[i]
			if groups, holds := rule.when.holds(said); holds {
				said.groups = groups
				play(ctx, rule.replies, rule.fail, said, yield)
				return
			}
		}
		yield(agent.Chunk{}, &agent.Error{
			Provider: provider, Kind: agent.KindRefused,
			Message: "no rule of the script " + a.script.name + " holds; end it with a rule without conditions",
		})
	}
}

// play yields the replies, then the failure if there is one.
func play(ctx context.Context, replies []reply, fail *failure, said *heard, yield func(agent.Chunk, error) bool) {
	for i := range replies {
		if err := wait(ctx, replies[i].delay); err != nil {
			yield(agent.Chunk{}, err)
			return
		}
		activity := replies[i].activity(said)
		activity.ID = rand.Text()
		if replies[i].stream && !speak(activity, yield) {
			return
		}
		if !yield(agent.Chunk{Activity: activity}, nil) {
			return
		}
	}
	if fail != nil {
		yield(agent.Chunk{}, &agent.Error{
			Provider: provider, Kind: fail.kind, Status: fail.status, RetryAfter: fail.retryAfter, Message: "the script says to fail",
		})
	}
}

// speak yields a text word by word.
func speak(activity *rondo.Activity, yield func(agent.Chunk, error) bool) bool {
	for word := range strings.SplitAfterSeq(activity.Text, " ") {
		if word == "" {
			continue
		}
		if !yield(agent.Chunk{Delta: &agent.Delta{ID: activity.ID, Text: word}}, nil) {
			return false
		}
	}
	return true
}

// wait lets a demo take its time.
func wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
