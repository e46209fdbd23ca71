package httpapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rondo-engine/rondo"
)

// The answers of the chat API, for the document: names are camelCase, and what a
// client never had is left out. What is written are the bytes that the turn
// service stored; tests hold them against these.
type (
	startedView struct {
		ConversationID string              `json:"conversationId"`
		WorkflowState  workflowState       `json:"workflowState"`
		Messages       []normalizedMessage `json:"messages" nullable:"false" doc:"The agent's greeting"`
	}
	orchestrated struct {
		WorkflowResponse
		ExtractedPayload orNothing[extractedPayload] `json:"extractedPayload" doc:"What was found in the answer; null = nothing"`
	}
	endedView struct {
		ConversationID string        `json:"conversationId"`
		Status         string        `json:"status" enum:"completed,abandoned"`
		WorkflowState  workflowState `json:"workflowState"`
	}
	workflowState struct {
		Step               string             `json:"step" minLength:"1"`
		CollectedData      map[string]anyJSON `json:"collectedData"`
		LastRecommendation string             `json:"lastRecommendation,omitempty" doc:"JSON text of the last structured data"`
		TurnCount          int                `json:"turnCount" minimum:"0"`
		Status             string             `json:"status" enum:"active,completed,error"`
		CurrentPhase       string             `json:"currentPhase,omitempty"`
		UserID             string             `json:"userId,omitempty"`
		TenantID           string             `json:"tenantId,omitempty"`
		Progress           *float64           `json:"progress,omitempty" minimum:"0" maximum:"1"`
		SuggestedInputType string             `json:"suggestedInputType,omitempty" enum:"text,choice,confirmation,none"`
		Choices            []string           `json:"choices,omitempty"`
	}
	normalizedMessage struct {
		ID               string            `json:"id" format:"uuid"`
		Role             string            `json:"role" enum:"user,assistant"`
		Kind             string            `json:"kind" enum:"text,adaptiveCard"`
		Text             string            `json:"text,omitempty"`
		CardJSON         anyJSON           `json:"cardJson,omitempty"`
		CardID           string            `json:"cardId,omitempty" format:"uuid" doc:"What to submit the card by"`
		ExtractedPayload *extractedPayload `json:"extractedPayload,omitempty"`
	}
	extractedPayload struct {
		Source     string             `json:"source" enum:"value,entities,text"`
		Confidence string             `json:"confidence" enum:"high,medium,low"`
		Data       map[string]anyJSON `json:"data"`
	}
	parsedTurn struct {
		Kind            string                        `json:"kind" enum:"structured,passthrough,parse_error"`
		Data            orNothing[map[string]anyJSON] `json:"data" doc:"The whole structured object; null unless structured"`
		NextAction      *string                       `json:"nextAction"`
		NextPrompt      *string                       `json:"nextPrompt"`
		DisplayMessages []normalizedMessage           `json:"displayMessages" nullable:"false"`
		Confidence      *string                       `json:"confidence"`
		Citations       []string                      `json:"citations" nullable:"false"`
		ParseErrors     []string                      `json:"parseErrors" nullable:"false"`
	}
	stepProgress struct {
		CurrentStep     string `json:"currentStep"`
		StepIndex       int    `json:"stepIndex"`
		TotalSteps      int    `json:"totalSteps"`
		PercentComplete int    `json:"percentComplete" minimum:"0" maximum:"100"`
	}
	turnMeta struct {
		TurnNumber        int                `json:"turnNumber"`
		StateChanged      bool               `json:"stateChanged" doc:"Step, status or collected data differ from before"`
		CollectedThisTurn map[string]anyJSON `json:"collectedThisTurn"`
	}
	conversationView struct {
		rondo.Conversation
		History       []normalizedMessage       `json:"history" nullable:"false" doc:"The newest messages, oldest first; cursor leads to older ones"`
		NextCursor    *string                   `json:"nextCursor" doc:"Cursor of the messages before; null when there are none"`
		WorkflowState workflowState             `json:"workflowState"`
		Timers        []rondo.ConversationTimer `json:"timers" nullable:"false" doc:"What the conversation will do by itself"`
	}
)

// orNothing documents an object that may be null.
type orNothing[T any] struct{}

// Schema describes the object or null.
func (orNothing[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// WorkflowResponse is the answer to a turn. It is exported only so that the
// OpenAPI document can see through the embedding above.
type WorkflowResponse struct {
	ConversationID string              `json:"conversationId"`
	Messages       []normalizedMessage `json:"messages" nullable:"false"`
	ParsedTurn     parsedTurn          `json:"parsedTurn"`
	WorkflowState  workflowState       `json:"workflowState"`
	Progress       stepProgress        `json:"progress"`
	TurnMeta       turnMeta            `json:"turnMeta"`
	LatencyMs      int64               `json:"latencyMs" doc:"Of the agent alone"`
}
