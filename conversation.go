package rondo

import (
	"encoding/json"
	"time"
)

// The nouns of conversations. Their JSON is a contract: existing browser clients
// read it, and stored records of earlier versions are written in it.

// ConversationStatus is where a conversation stands as a whole.
type ConversationStatus string

// The statuses of a conversation.
const (
	ConversationActive    ConversationStatus = "active"
	ConversationCompleted ConversationStatus = "completed"
	ConversationAbandoned ConversationStatus = "abandoned"
)

// WorkflowStatus is where the workflow of a conversation stands.
type WorkflowStatus string

// The statuses of a workflow in a conversation. An error accepts further turns.
const (
	WorkflowActive    WorkflowStatus = "active"
	WorkflowCompleted WorkflowStatus = "completed"
	WorkflowError     WorkflowStatus = "error"
)

// DefinitionRef names the exact definition that drives a conversation.
type DefinitionRef struct {
	ID      string `json:"id"`             // of the registry, or the name of a shipped one
	Name    string `json:"name,omitempty"` // of one of the registry; older records have none
	Version int    `json:"version"`        // 0 for a shipped one
	Hash    string `json:"hash"`           // of its canonical frozen form
}

// Conversation is what is stored about a conversation beside its state and its
// history.
type Conversation struct {
	ExternalID   string             `json:"externalId"`
	TenantID     string             `json:"tenantId"`
	UserID       string             `json:"userId"`
	Status       ConversationStatus `json:"status"`
	Definition   DefinitionRef      `json:"definition"`
	AgentSession string             `json:"agentSessionId,omitempty"` // what the agent calls this conversation
	Reason       string             `json:"reason,omitempty"`         // why it was ended
	Case         *CaseLink          `json:"case,omitempty"`           // the case step that waits for it
	Metadata     json.RawMessage    `json:"metadata,omitempty"`
	CreatedAt    time.Time          `json:"createdAt"`
	UpdatedAt    time.Time          `json:"updatedAt"`
}

// CaseLink ties a conversation to the step of a case that opened it.
type CaseLink struct {
	OrgID         string    `json:"orgId"`
	CaseID        string    `json:"caseId"`
	CorrelationID string    `json:"correlationId"`
	RequestID     string    `json:"requestId"`           // the event that asked for it
	DeadlineAt    time.Time `json:"deadlineAt,omitzero"` // when the step stops waiting
	CompletedType string    `json:"completedType"`       // type of the event that tells the step how it ended
}

// WorkflowState is what a client sees of the workflow.
type WorkflowState struct {
	Step               string                     `json:"step"`
	CollectedData      map[string]json.RawMessage `json:"collectedData"`
	LastRecommendation string                     `json:"lastRecommendation,omitempty"` // JSON text of the last structured data
	TurnCount          int                        `json:"turnCount"`
	Status             WorkflowStatus             `json:"status"`
	CurrentPhase       string                     `json:"currentPhase,omitempty"`
	UserID             string                     `json:"userId,omitempty"`
	TenantID           string                     `json:"tenantId,omitempty"`
	Progress           *float64                   `json:"progress,omitempty"` // 0..1
	SuggestedInputType string                     `json:"suggestedInputType,omitempty"`
	Choices            []string                   `json:"choices,omitempty"`
}

// What a client is advised to show next.
const (
	InputText         = "text"
	InputChoice       = "choice"
	InputConfirmation = "confirmation"
	InputNone         = "none"
)

// ConversationState is the stored state: the client's view and what only the
// engine needs to go on from it. Older records have the client's view alone.
type ConversationState struct {
	WorkflowState
	Version    int64                 `json:"version"`
	Machine    json.RawMessage       `json:"machine,omitempty"` // snapshot of the statechart; missing in older records
	Timers     []ConversationTimer   `json:"timers,omitempty"`
	Provenance map[string]Provenance `json:"provenance,omitempty"` // by collected field
	Proposed   map[string]Provenance `json:"proposed,omitempty"`   // by field: changes that confirm_on_change holds back
	Pending    []RaisedEvent         `json:"pending,omitempty"`    // events for cases that are not confirmed yet
	TurnNumber int                   `json:"turnNumber"`           // of the last turn record; timers and ends have one too
}

// ConversationTimer is a durable wake-up of the statechart, or the end of a
// conversation that a case no longer waits for.
type ConversationTimer struct {
	ID    string    `json:"id"`
	Kind  string    `json:"kind"` // "after" or "deadline"
	Event string    `json:"event,omitempty"`
	DueAt time.Time `json:"dueAt"`
}

// The kinds of timer.
const (
	TimerAfter    = "after"
	TimerDeadline = "deadline"
)

// Provenance says where a collected value comes from.
type Provenance struct {
	Value      json.RawMessage `json:"value"`
	Source     string          `json:"source"`     // value, entities, text, or machine when an assign wrote it
	Confidence string          `json:"confidence"` // high, medium, low; "" when unknown
	Turn       int             `json:"turn"`
}

// RaisedEvent is an event for a case that a turn raised. Its EventID is derived
// from (conversation, turn, index), so sending it again repeats nothing.
type RaisedEvent struct {
	EventID       string          `json:"eventId"`
	Type          string          `json:"type"`
	CaseID        string          `json:"caseId"`
	CorrelationID string          `json:"correlationId,omitempty"`
	CausationID   string          `json:"causationId,omitempty"`
	Payload       json.RawMessage `json:"payload"`
	OccurredAt    time.Time       `json:"occurredAt"`
}

// The roles and kinds of messages.
const (
	RoleUser         = "user"
	RoleAssistant    = "assistant"
	MessageText      = "text"
	MessageCard      = "adaptiveCard"
	ConfidenceHigh   = "high"
	ConfidenceMedium = "medium"
	ConfidenceLow    = "low"
	SourceValue      = "value"
	SourceEntities   = "entities"
	SourceText       = "text"
	SourceMachine    = "machine"
)

// NormalizedMessage is one message of the history.
type NormalizedMessage struct {
	ID               string            `json:"id"`
	Role             string            `json:"role"`
	Kind             string            `json:"kind"`
	Text             string            `json:"text,omitempty"`
	CardJSON         json.RawMessage   `json:"cardJson,omitempty"`
	CardID           string            `json:"cardId,omitempty"`
	ExtractedPayload *ExtractedPayload `json:"extractedPayload,omitempty"`
}

// ExtractedPayload is structured data found in an agent's answer.
type ExtractedPayload struct {
	Source     string                     `json:"source"`
	Confidence string                     `json:"confidence"`
	Data       map[string]json.RawMessage `json:"data"` // at least one key
}

// The kinds of a parsed turn.
const (
	TurnStructured  = "structured"
	TurnPassthrough = "passthrough"
	TurnParseError  = "parse_error"
)

// ParsedTurn is what an agent's answer means. It never fails: what cannot be read
// is kind parse_error.
type ParsedTurn struct {
	Kind            string                     `json:"kind"`
	Data            map[string]json.RawMessage `json:"data"`       // the whole structured object; null unless structured
	NextAction      *string                    `json:"nextAction"` // data.action
	NextPrompt      *string                    `json:"nextPrompt"` // data.prompt
	DisplayMessages []NormalizedMessage        `json:"displayMessages"`
	Confidence      *string                    `json:"confidence"`
	Citations       []string                   `json:"citations"`
	ParseErrors     []string                   `json:"parseErrors"`
}

// Progress says how far along its steps a conversation is.
type Progress struct {
	CurrentStep     string `json:"currentStep"`
	StepIndex       int    `json:"stepIndex"`
	TotalSteps      int    `json:"totalSteps"`
	PercentComplete int    `json:"percentComplete"`
}

// TurnMeta says what one turn changed.
type TurnMeta struct {
	TurnNumber        int                        `json:"turnNumber"` // of its record; the turnCount after this turn while no timer has a record
	StateChanged      bool                       `json:"stateChanged"`
	CollectedThisTurn map[string]json.RawMessage `json:"collectedThisTurn"`
}

// WorkflowResponse is the answer to a turn.
type WorkflowResponse struct {
	ConversationID string              `json:"conversationId"`
	Messages       []NormalizedMessage `json:"messages"`
	ParsedTurn     ParsedTurn          `json:"parsedTurn"`
	WorkflowState  WorkflowState       `json:"workflowState"`
	Progress       Progress            `json:"progress"`
	TurnMeta       TurnMeta            `json:"turnMeta"`
	LatencyMs      int64               `json:"latencyMs"` // of the agent alone
}

// WorkflowContext is what older clients send along with a query.
type WorkflowContext struct {
	Step          string                     `json:"step"`
	Constraints   []string                   `json:"constraints,omitempty"`
	CollectedData map[string]json.RawMessage `json:"collectedData,omitempty"`
}

// The kinds of a turn record.
const (
	TurnByText  = "text"
	TurnByCard  = "card"
	TurnByTimer = "timer"
	TurnByStart = "start"
	TurnByEnd   = "end"
)

// TurnRecord says why a conversation moved, or did not. It is stored with the
// turn; Response is what the client was answered, byte for byte.
type TurnRecord struct {
	Number         int                   `json:"turnNumber" doc:"Counts from 0, the start"`
	Kind           string                `json:"kind" doc:"What made the turn: text, card, timer, start or end"`
	At             time.Time             `json:"at" doc:"When it was decided"`
	RequestID      string                `json:"requestId,omitempty" doc:"Of the HTTP request, as logs have it"`
	Input          TurnInput             `json:"input" doc:"What the user said or did"`
	Reply          json.RawMessage       `json:"reply,omitempty" doc:"What replaying needs of the agent's answer"`
	Extraction     []Candidate           `json:"extraction" doc:"Where data was looked for: the winner first, then those that lost, with reasons"`
	Signals        []Candidate           `json:"signals" doc:"Signal rules in order, up to the one that held"`
	Event          string                `json:"event,omitempty" doc:"What the machine was told; absent = nothing"`
	Handled        bool                  `json:"handled" doc:"The machine had a transition for it"`
	Transitions    []Candidate           `json:"transitions" doc:"Transitions in the order they were asked, with what their guards said"`
	From           string                `json:"from" doc:"Step before"`
	To             string                `json:"to" doc:"Step after"`
	Provenance     map[string]Provenance `json:"provenance,omitempty" doc:"Where what this turn collected comes from, by field"`
	Unconfirmed    []string              `json:"unconfirmed,omitempty" doc:"Fields whose change waits until it is said again"`
	Raised         []RaisedEvent         `json:"raised,omitempty" doc:"Events for cases"`
	AgentLatencyMs int64                 `json:"agentLatencyMs" doc:"How long the agent took"`
	LeaseWaitMs    int64                 `json:"leaseWaitMs" doc:"How long the turn waited for the conversation"`
	Truncation     string                `json:"truncation,omitempty" doc:"What was left of the collected data in the preamble: keys or omitted; absent = all of it"`
	Definition     DefinitionRef         `json:"definition" doc:"What drove the turn"`
	Response       json.RawMessage       `json:"response,omitempty" doc:"What the client was answered, byte for byte"`
}

// TurnInput is what the user said or did.
type TurnInput struct {
	Text    string          `json:"text,omitempty"`
	CardID  string          `json:"cardId,omitempty"`
	Submit  json.RawMessage `json:"submitData,omitempty"`
	TimerID string          `json:"timerId,omitempty"`
}

// Candidate is one thing that was considered, and what came of it.
type Candidate struct {
	Name   string          `json:"name"`
	Result string          `json:"result"` // "chosen", "refused", "not reached", "won", "lost", "held", "not held"
	Reason string          `json:"reason,omitempty"`
	Trace  json.RawMessage `json:"trace,omitempty"` // of a condition: operands and results
}

// Card is what is remembered of a card that was issued in a conversation.
type Card struct {
	ID     string `json:"id"`
	Issued int    `json:"issued"` // turn
	// Digest and Turn are of its submission: SHA-256 of the canonical submitData in
	// hex, and the turn that it was; "" and 0 = not submitted yet.
	Digest string `json:"digest,omitempty"`
	Turn   int    `json:"turn,omitempty"`
}
