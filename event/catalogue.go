package event

import (
	"embed"
	"slices"
	"strings"
)

// The event types of the catalogue.
const (
	TypeCaseCreated = "case.created"

	TypeConsentCheckRequested = "consent.check.requested"
	TypeConsentCheckCompleted = "consent.check.completed"
	TypeConsentCheckFailed    = "consent.check.failed"

	TypeImagesCheckRequested = "case.images_check.requested"
	TypeImagesCheckCompleted = "case.images_check.completed"
	TypeImagesCheckFailed    = "case.images_check.failed"

	TypeAIReviewRequested = "ai_review.requested"
	TypeAIReviewCompleted = "ai_review.completed"
	TypeAIReviewFailed    = "ai_review.failed"

	TypeHumanReviewRequested = "human_review.requested"
	TypeHumanReviewCompleted = "human_review.completed"
	TypeHumanReviewFailed    = "human_review.failed"

	TypeConversationRequested = "conversation.requested"
	TypeConversationCompleted = "conversation.completed"
	TypeConversationFailed    = "conversation.failed"

	TypeRunRequested = "run.requested" // a case asks for a run

	TypeRunStarted   = "run.started"
	TypeRunCompleted = "run.completed"
	TypeRunFailed    = "run.failed"
	TypeRunCancelled = "run.cancelled"

	TypeRunStepRequested = "run.step.requested"
	TypeRunStepCompleted = "run.step.completed"
	TypeRunStepFailed    = "run.step.failed"

	TypeSetStatusRequested = "case.set_status.requested"
	TypeSetStatusCompleted = "case.set_status.completed"
	TypeSetStatusFailed    = "case.set_status.failed"

	TypeWebhookEmitRequested = "workflow.webhook_emit.requested"
	TypeWebhookEmitCompleted = "workflow.webhook_emit.completed"

	TypeCaseWorkflowCompleted = "case.workflow.completed"

	TypeWorkflowStarted    = "workflow.started"
	TypeWorkflowHalted     = "workflow.halted"
	TypeWorkflowCompleted  = "workflow.completed"
	TypeWorkflowCancelled  = "workflow.cancelled"
	TypeWorkflowIntervened = "workflow.intervened"

	TypeWorkflowSLAWarned   = "workflow.sla_warned"
	TypeWorkflowSLABreached = "workflow.sla_breached"
)

// inbound and outbound are the catalogue: what modules publish and what only
// the orchestrator does.
var (
	inbound = [...]string{
		TypeCaseCreated,
		TypeConsentCheckCompleted, TypeConsentCheckFailed,
		TypeImagesCheckCompleted, TypeImagesCheckFailed,
		TypeAIReviewCompleted, TypeAIReviewFailed,
		TypeHumanReviewCompleted, TypeHumanReviewFailed,
		TypeConversationCompleted, TypeConversationFailed,
		TypeSetStatusCompleted, TypeSetStatusFailed,
		TypeWebhookEmitCompleted,
		TypeRunStepCompleted, TypeRunStepFailed,
	}
	outbound = [...]string{
		TypeConsentCheckRequested, TypeImagesCheckRequested, TypeAIReviewRequested,
		TypeHumanReviewRequested, TypeConversationRequested, TypeSetStatusRequested, TypeWebhookEmitRequested,
		TypeCaseWorkflowCompleted,
		TypeWorkflowStarted, TypeWorkflowHalted, TypeWorkflowCompleted,
		TypeWorkflowCancelled, TypeWorkflowIntervened,
		TypeWorkflowSLAWarned, TypeWorkflowSLABreached,
		TypeRunRequested, TypeRunStarted, TypeRunCompleted, TypeRunFailed, TypeRunCancelled, TypeRunStepRequested,
	}
)

//go:embed schemas/*.json
var schemas embed.FS

// Known reports whether the type is in the catalogue. Types of an
// organisation's own kinds, which begin with "ext.", are not.
func Known(eventType string) bool {
	return slices.Contains(inbound[:], eventType) || slices.Contains(outbound[:], eventType)
}

// PublishedByOrchestrator reports whether only the orchestrator may publish the
// type: what the catalogue says so of, everything else under "workflow." and
// "run.", and the requests of an organisation's own kinds.
func PublishedByOrchestrator(eventType string) bool {
	switch {
	case slices.Contains(inbound[:], eventType):
		return false
	case slices.Contains(outbound[:], eventType), strings.HasPrefix(eventType, "workflow."), strings.HasPrefix(eventType, runPrefix):
		return true
	}
	return strings.HasPrefix(eventType, "ext.") && strings.HasSuffix(eventType, ".requested")
}

// Types lists the catalogue in alphabetical order. The caller owns the result.
func Types() []string {
	types := slices.Concat(inbound[:], outbound[:])
	slices.Sort(types)
	return types
}

// Schema returns the JSON Schema (2020-12) of the type's payload, false when the
// type is not in the catalogue. The caller owns the result.
func Schema(eventType string) ([]byte, bool) {
	if !Known(eventType) {
		return nil, false
	}
	schema, err := schemas.ReadFile("schemas/" + eventType + ".json")
	return schema, err == nil
}
