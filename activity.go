package rondo

import "encoding/json"

// Activity is one thing that an agent or a user says, in the format that agents of
// the Bot Framework family speak. Fields and types that are not known are ignored.
type Activity struct {
	Type             string            `json:"type"`
	ID               string            `json:"id,omitempty"`
	Timestamp        string            `json:"timestamp,omitempty"`
	From             *Account          `json:"from,omitempty"`
	Conversation     *Account          `json:"conversation,omitempty"`
	Text             string            `json:"text,omitempty"`
	TextFormat       string            `json:"textFormat,omitempty"`
	Locale           string            `json:"locale,omitempty"`
	Attachments      []Attachment      `json:"attachments,omitempty"`
	AttachmentLayout string            `json:"attachmentLayout,omitempty"`
	SuggestedActions *SuggestedActions `json:"suggestedActions,omitempty"`
	Entities         []json.RawMessage `json:"entities,omitempty"`
	ChannelData      json.RawMessage   `json:"channelData,omitempty"`
	Value            json.RawMessage   `json:"value,omitempty"`
	ValueType        string            `json:"valueType,omitempty"`
	Name             string            `json:"name,omitempty"`
	ReplyToID        string            `json:"replyToId,omitempty"`
	Code             string            `json:"code,omitempty"`
	InputHint        string            `json:"inputHint,omitempty"`
}

// The types of activity that mean something here.
const (
	ActivityMessage           = "message"
	ActivityTyping            = "typing"
	ActivityEvent             = "event"
	ActivityHandoff           = "handoff"
	ActivityEndOfConversation = "endOfConversation"
)

// AdaptiveCardType is the content type of an attachment that is a card.
const AdaptiveCardType = "application/vnd.microsoft.card.adaptive"

// Account names a participant or a conversation.
type Account struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Role string `json:"role,omitempty"` // bot or user
}

// Attachment is a card or a file.
type Attachment struct {
	ContentType string          `json:"contentType"`
	Content     json.RawMessage `json:"content,omitempty"`
	ContentURL  string          `json:"contentUrl,omitempty"`
	Name        string          `json:"name,omitempty"`
}

// SuggestedActions are the answers that an agent proposes.
type SuggestedActions struct {
	Actions []SuggestedAction `json:"actions"`
}

// SuggestedAction is one proposed answer.
type SuggestedAction struct {
	Type  string          `json:"type,omitempty"`
	Title string          `json:"title,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}
