package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// endedUnknown is the code of an end that says none.
const endedUnknown = "unknown"

// maxCandidates bounds what a reply remembers of the places that were searched in
// vain.
const maxCandidates = 100

// Normalize turns an agent's activities into messages and finds the structured
// data in them. Only messages are shown; of other activities, handoff and
// endOfConversation are noted and the rest is ignored. ids gives ids to messages
// and cards: one for every message and one more for every card, in order.
//
// It never fails: what cannot be read is not there.
func Normalize(activities []rondo.Activity, ids func() string) Reply {
	return NormalizeStreamed(activities, ids, func(rondo.Activity) string { return "" })
}

// NormalizeStreamed is Normalize for an answer whose texts were shown while they
// came: streamed is the id that the text of an activity was shown by, "" = it was
// not, and its message gets one of ids.
func NormalizeStreamed(activities []rondo.Activity, ids func() string, streamed func(rondo.Activity) string) Reply {
	reply := Reply{Messages: []rondo.NormalizedMessage{}}
	search := search{reply: &reply, streamed: streamed}
	for i, activity := range activities {
		switch activity.Type {
		case rondo.ActivityMessage:
			search.message(i, activity, ids)
		case rondo.ActivityHandoff:
			reply.Handoff = true
		case rondo.ActivityEndOfConversation:
			if reply.Ended = activity.Code; reply.Ended == "" {
				reply.Ended = endedUnknown
			}
		}
	}
	reply.Extraction = append(search.won, search.lost...)
	return reply
}

// search carries one normalisation.
type search struct {
	reply     *Reply
	streamed  func(rondo.Activity) string
	won, lost []rondo.Candidate
}

// message adds the messages of one activity.
func (s *search) message(number int, a rondo.Activity, ids func() string) {
	role := rondo.RoleUser
	if a.From != nil && a.From.Role == "bot" {
		role = rondo.RoleAssistant
	}
	first := len(s.reply.Messages)
	if a.Text != "" {
		id := s.streamed(a)
		if id == "" {
			id = ids()
		}
		s.reply.Messages = append(s.reply.Messages, rondo.NormalizedMessage{ID: id, Role: role, Kind: rondo.MessageText, Text: a.Text})
	}
	var cards []placedCard
	for _, attachment := range a.Attachments {
		if !strings.EqualFold(attachment.ContentType, rondo.AdaptiveCardType) {
			continue
		}
		m := rondo.NormalizedMessage{ID: ids(), Role: role, Kind: rondo.MessageCard, CardID: ids()}
		if !isNull(attachment.Content) {
			m.CardJSON = bytes.ToValidUTF8(attachment.Content, []byte("\uFFFD"))
		}
		cards = append(cards, placedCard{message: len(s.reply.Messages), content: m.CardJSON})
		s.reply.Messages = append(s.reply.Messages, m)
	}
	if role == rondo.RoleAssistant {
		s.suggestions(a)
		s.citations(a)
	}
	payload, at := s.extract(number, a, role, cards)
	if payload == nil {
		return
	}
	if at < 0 {
		at = first // the first message of the activity, if it has one
	}
	if at < len(s.reply.Messages) {
		s.reply.Messages[at].ExtractedPayload = payload
	}
	if role == rondo.RoleAssistant && s.reply.Payload == nil {
		s.reply.Payload = clonePayload(payload)
	}
}

// suggestions notes what the agent proposes to answer: the newest proposal
// counts.
func (s *search) suggestions(a rondo.Activity) {
	if a.SuggestedActions == nil || len(a.SuggestedActions.Actions) == 0 {
		return
	}
	s.reply.Suggested = nil
	for _, action := range a.SuggestedActions.Actions {
		title := action.Title
		if title == "" {
			title, _ = text(action.Value)
		}
		if title != "" {
			s.reply.Suggested = append(s.reply.Suggested, title)
		}
	}
}

func clonePayload(p *rondo.ExtractedPayload) *rondo.ExtractedPayload {
	return &rondo.ExtractedPayload{Source: p.Source, Confidence: p.Confidence, Data: cloneMembers(p.Data)}
}

// note remembers one place that was searched.
func (s *search) note(number int, place, lostBecause string) {
	c := rondo.Candidate{Name: fmt.Sprintf("activity %d: %s", number, place), Result: "lost", Reason: lostBecause}
	if lostBecause != "" {
		if len(s.lost) < maxCandidates {
			s.lost = append(s.lost, c)
		}
		return
	}
	c.Result = "won"
	s.won = append(s.won, c)
}

// placedCard is a card and the message that shows it.
type placedCard struct {
	message int
	content json.RawMessage
}
