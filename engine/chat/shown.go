package chat

import (
	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// shownTexts gives the texts of an answer that are shown while they come the ids
// that their messages will have, so that a page can put the message in the place
// of its pieces. What agents call their texts is theirs, and need be no UUID.
type shownTexts struct {
	newID func() string
	texts []*shownText // in the order they began
}

type shownText struct {
	agentID, id, text string
	claimed           bool // a message has its id
}

// piece is a piece as it is shown.
func (s *shownTexts) piece(d *agent.Delta) *agent.Delta {
	var of *shownText
	for _, t := range s.texts {
		if t.agentID == d.ID {
			of = t
		}
	}
	if of == nil {
		of = &shownText{agentID: d.ID, id: s.newID()}
		s.texts = append(s.texts, of)
	}
	of.text += d.Text
	return &agent.Delta{ID: of.id, Text: d.Text}
}

// claim is the id that the text of an activity was shown by: the one of its pieces,
// else of pieces that come to the same text, since an agent may call the whole
// otherwise than its pieces. "" = it was not shown. No two messages get the same.
func (s *shownTexts) claim(a rondo.Activity) string {
	for _, fits := range []func(*shownText) bool{
		func(t *shownText) bool { return a.ID != "" && t.agentID == a.ID },
		func(t *shownText) bool { return t.text == a.Text },
	} {
		for _, t := range s.texts {
			if !t.claimed && fits(t) {
				t.claimed = true
				return t.id
			}
		}
	}
	return ""
}
