package event

import "slices"

// Role is one side of the conversation: the orchestrator, or a module around it.
type Role string

// The roles.
const (
	RoleOrchestrator Role = "orchestrator"
	RoleConsent      Role = "consent"
	RoleClinicalAPI  Role = "clinical-api"
	RoleAIReview     Role = "ai-review"
	RoleHumanReview  Role = "human-review"
	RoleConversation Role = "conversations" // served by Rondo itself
	RoleRuns         Role = "runs"          // served by Rondo itself
	RoleRunWorker    Role = "run-workers"   // whoever does the work of remote skills
	RoleWebhooks     Role = "webhooks"
)

// Roles lists them, the orchestrator first. The caller owns the result.
func Roles() []Role {
	return []Role{RoleOrchestrator, RoleConsent, RoleClinicalAPI, RoleAIReview, RoleHumanReview, RoleConversation, RoleRuns, RoleRunWorker, RoleWebhooks}
}

// partners are the modules at the other end of a type's stream.
func partners(eventType string) []Role {
	switch eventType {
	case TypeConsentCheckRequested, TypeConsentCheckCompleted, TypeConsentCheckFailed:
		return []Role{RoleConsent}
	case TypeAIReviewRequested, TypeAIReviewCompleted, TypeAIReviewFailed:
		return []Role{RoleAIReview}
	case TypeHumanReviewRequested, TypeHumanReviewCompleted, TypeHumanReviewFailed:
		return []Role{RoleHumanReview}
	case TypeConversationRequested, TypeConversationCompleted, TypeConversationFailed:
		return []Role{RoleConversation}
	case TypeRunRequested:
		return []Role{RoleRuns}
	case TypeRunStepRequested, TypeRunStepCompleted, TypeRunStepFailed:
		return []Role{RoleRunWorker}
	case TypeCaseCreated, TypeCaseWorkflowCompleted,
		TypeImagesCheckRequested, TypeImagesCheckCompleted, TypeImagesCheckFailed,
		TypeSetStatusRequested, TypeSetStatusCompleted, TypeSetStatusFailed:
		return []Role{RoleClinicalAPI}
	}
	return []Role{RoleWebhooks} // workflow.* and what becomes of runs
}

// takesPart reports whether a role sends or receives the type, and which.
func (r Role) takesPart(eventType string) (action string, ok bool) {
	sends := PublishedByOrchestrator(eventType)
	if r != RoleOrchestrator {
		if !slices.Contains(partners(eventType), r) {
			return "", false
		}
		sends = !sends
	}
	if sends {
		return "send", true
	}
	return "receive", true
}
