package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// chatOption is something that can be chosen by its number.
type chatOption struct {
	title string
	card  *cardAction // nil = the title is said
}

// pick finds what a line stands for if it is a number that is offered.
func pick(options []chatOption, line string) (chatOption, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(options) {
		return chatOption{}, false
	}
	return options[n-1], true
}

// streamedText is what was shown while a turn was made.
type streamedText struct {
	open bool // the last line is not finished
	id   string
	said map[string]string // by message on its way
}

// stream shows a piece of text as it comes.
func (t *chatTalk) stream(s *streamedText, e client.ChatEvent) {
	if e.Delta == nil {
		return
	}
	if s.said == nil {
		s.said = map[string]string{}
	}
	if s.id != e.Delta.ID || !s.open {
		if s.open {
			_, _ = fmt.Fprintln(t.out)
		}
		_, _ = fmt.Fprint(t.out, speaker(rondo.RoleAssistant))
		s.id, s.open = e.Delta.ID, true
	}
	s.said[e.Delta.ID] += e.Delta.Text
	_, _ = fmt.Fprint(t.out, indented(plain(e.Delta.Text)))
}

// shown reports whether a text was streamed whole.
func (s *streamedText) shown(text string) bool {
	if s == nil {
		return false
	}
	for _, said := range s.said {
		if said == text {
			return true
		}
	}
	return false
}

// show prints messages, but for those that were streamed, and offers what the
// last cards can do.
func (t *chatTalk) show(messages []rondo.NormalizedMessage, streamed *streamedText) {
	t.options = nil
	for _, m := range messages {
		switch {
		case m.Kind == rondo.MessageCard:
			t.showCard(m)
		case m.Text != "" && !streamed.shown(m.Text):
			_, _ = fmt.Fprintln(t.out, speaker(m.Role)+indented(plain(m.Text)))
		}
		if m.Role == rondo.RoleUser {
			t.options = nil // it answered what was offered
		}
	}
}

func (t *chatTalk) showCard(m rondo.NormalizedMessage) {
	card := readCard(m.CardJSON)
	_, _ = fmt.Fprintln(t.out, speaker(m.Role)+"[card]")
	for _, line := range card.lines {
		_, _ = fmt.Fprintln(t.out, "       "+indented(plain(line)))
	}
	for _, action := range card.actions {
		action.id = m.CardID
		t.options = append(t.options, chatOption{title: action.title, card: &action})
	}
}

// stand says where the workflow stands, and what can be chosen by its number.
func (t *chatTalk) stand(state rondo.WorkflowState, progress *rondo.Progress) {
	said := make(map[string]bool, len(t.options))
	for _, option := range t.options {
		said[option.title] = true
	}
	for _, choice := range state.Choices {
		if !said[choice] {
			t.options = append(t.options, chatOption{title: choice})
		}
	}
	for i, option := range t.options {
		_, _ = fmt.Fprintf(t.out, "  %d) %s\n", i+1, oneCell.Replace(plain(option.title)))
	}
	at := plain(state.Step)
	switch {
	case progress != nil:
		at += fmt.Sprintf(", %d %%", progress.PercentComplete)
	case state.Progress != nil:
		at += fmt.Sprintf(", %.0f %%", *state.Progress*100)
	}
	if state.Status != rondo.WorkflowActive {
		at += ", " + string(state.Status)
	}
	_, _ = fmt.Fprintf(t.out, "  [%s]\n", at)
	t.ended = state.Status == rondo.WorkflowCompleted
}

func speaker(role string) string {
	if role == rondo.RoleUser {
		return "you:   "
	}
	return "agent: "
}

// indented puts the further lines of a text below its first.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n       ") }

// plain takes out what could command a terminal: agents say what they like.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}
