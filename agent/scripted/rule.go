package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
	"github.com/rondo-engine/rondo/agent/internal/preamble"
)

// Script is a file of rules, checked. It is immutable.
type Script struct {
	name     string
	greeting []reply
	rules    []rule
}

// Name is what the script calls itself.
func (s *Script) Name() string { return s.name }

type rule struct {
	when    condition
	replies []reply
	fail    *failure
}

// condition holds when all that it says does.
type condition struct {
	text      *regexp.Regexp
	contains  []string // lower case
	step      []string
	turn      []int
	has       []string
	lacks     []string
	actions   []string
	submitted map[string]json.RawMessage // compact
}

type reply struct {
	kind    string // type of activity
	code    string
	text    *template
	value   *form
	card    *form
	choices []*template
	stream  bool
	delay   time.Duration
}

type failure struct {
	kind       agent.ErrorKind
	status     int
	retryAfter time.Duration
}

// heard is a message, taken apart.
type heard struct {
	context   preamble.Context
	text      string
	card      bool
	submitted map[string]json.RawMessage
	groups    []string // of the expression of the rule that held
}

func hear(message rondo.Activity) *heard {
	said := &heard{}
	if message.Text == "" && len(message.Value) > 0 {
		said.card = true
		said.context.Turn = -1
		// What is no object has no members to ask for.
		_ = json.Unmarshal(message.Value, &said.submitted)
		return said
	}
	said.context, said.text = preamble.Split(message.Text)
	return said
}

// holds reports whether the condition does, and what its expression found.
func (c *condition) holds(said *heard) (groups []string, holds bool) {
	if (c.text != nil || len(c.contains) > 0) && said.card {
		return nil, false
	}
	if c.text != nil {
		if groups = c.text.FindStringSubmatch(said.text); groups == nil {
			return nil, false
		}
	}
	if len(c.contains) > 0 {
		text := strings.ToLower(said.text)
		if !slices.ContainsFunc(c.contains, func(part string) bool { return strings.Contains(text, part) }) {
			return nil, false
		}
	}
	return groups, c.holdsContext(said.context) && c.holdsCard(said)
}

func (c *condition) holdsContext(context preamble.Context) bool {
	if !context.Found {
		return len(c.step)+len(c.turn)+len(c.has)+len(c.lacks) == 0
	}
	known := func(key string) bool { _, there := context.Data[key]; return there }
	switch {
	case len(c.step) > 0 && !slices.Contains(c.step, context.Step):
		return false
	case len(c.turn) > 0 && !slices.Contains(c.turn, context.Turn):
		return false
	case slices.ContainsFunc(c.has, func(key string) bool { return !known(key) }):
		return false
	}
	return !slices.ContainsFunc(c.lacks, known)
}

func (c *condition) holdsCard(said *heard) bool {
	if len(c.actions) > 0 {
		var action string
		// An action that is not a string is none.
		_ = json.Unmarshal(said.submitted["action"], &action)
		if !said.card || !slices.Contains(c.actions, action) && !slices.Contains(c.actions, "*") {
			return false
		}
	}
	for key, want := range c.submitted {
		if got, there := said.submitted[key]; !there || !bytes.Equal(compact(got), want) {
			return false
		}
	}
	return true
}

func compact(value json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return out.Bytes()
}

// activity is what the reply says, to what was heard.
func (r *reply) activity(said *heard) *rondo.Activity {
	activity := &rondo.Activity{
		Type: r.kind,
		Code: r.code,
		From: &rondo.Account{ID: provider, Name: "Script", Role: "bot"},
	}
	if r.text != nil {
		activity.Text = r.text.text(said)
	}
	if r.value != nil {
		activity.Value = r.value.json(said)
	}
	if r.card != nil {
		activity.Attachments = []rondo.Attachment{{ContentType: rondo.AdaptiveCardType, Content: r.card.json(said)}}
	}
	if len(r.choices) > 0 {
		actions := make([]rondo.SuggestedAction, len(r.choices))
		for i, choice := range r.choices {
			title := choice.text(said)
			actions[i] = rondo.SuggestedAction{Type: "imBack", Title: title, Value: quoted(title)}
		}
		activity.SuggestedActions = &rondo.SuggestedActions{Actions: actions}
	}
	return activity
}
