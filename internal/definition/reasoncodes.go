package definition

import (
	"crypto/sha1" //nolint:gosec // UUIDv5 is defined over SHA-1; nothing is protected by it

	"github.com/rondo-engine/rondo"
)

// The scopes of reason codes.
const (
	ScopeHalt         = "halt"
	ScopeStepFailure  = "step_failure"
	ScopeHumanDecline = "human_decline"
)

// SystemReasonCodes are the codes every organisation has from the start. Their
// ids are the same in every installation.
func SystemReasonCodes() []rondo.ReasonCode {
	rows := []struct {
		scope, code, label, description string
		requiresNote                    bool
	}{
		{ScopeHalt, "consent_missing", "Consent missing", "The patient has not agreed to every use of data that the workflow needs.", false},
		{ScopeHalt, "insufficient_images", "Not enough images", "The case has too few images of the wanted types.", false},
		{ScopeHalt, "ai_review_failed", "AI review failed", "The AI module gave up on the case.", false},
		{ScopeHalt, "human_review_failed", "Human review failed", "The review module gave up on the case.", false},
		{ScopeHalt, "step_failed", "Step failed", "A module reported that it cannot do its step.", false},
		{ScopeHalt, "step_timeout", "Step timed out", "A module did not answer in time.", false},
		{ScopeHalt, "workflow_deadline_exceeded", "Deadline exceeded", "The case was not finished before its deadline.", false},
		{ScopeHalt, "contract_violation", "Contract violated", "A module's answer, or what a request needs, is not as the step kind promises.", false},
		{ScopeHalt, "condition_error", "Condition has no value", "A condition could not be evaluated, for example because a value is missing.", false},
		{ScopeHalt, "manual_halt", "Halted by a person", "A person stopped the case.", true},

		{ScopeStepFailure, "module_error", "Module error", "The module met an error of its own.", false},
		{ScopeStepFailure, "module_unavailable", "Module unavailable", "The module, or something it needs, cannot be reached.", false},
		{ScopeStepFailure, "invalid_input", "Input not usable", "The module cannot work with what it was given.", false},
		{ScopeStepFailure, "image_quality", "Images not usable", "The images are too poor to work with.", false},
		{ScopeStepFailure, "quota_exceeded", "Quota exceeded", "The module's quota for this organisation is used up.", false},
		{ScopeStepFailure, "rejected_by_policy", "Refused by policy", "A rule of the module or its provider forbids the work.", false},
		{ScopeStepFailure, "other", "Other", "None of the other codes fits.", true},

		{ScopeHumanDecline, "poor_image_quality", "Poor image quality", "The reviewer cannot judge these images.", false},
		{ScopeHumanDecline, "insufficient_information", "Not enough information", "The reviewer needs to know more about the case.", false},
		{ScopeHumanDecline, "outside_expertise", "Outside expertise", "The case needs a reviewer with other knowledge.", false},
		{ScopeHumanDecline, "conflict_of_interest", "Conflict of interest", "The reviewer must not judge this case.", false},
		{ScopeHumanDecline, "workload", "No capacity", "The reviewer has no time for the case.", false},
		{ScopeHumanDecline, "other", "Other", "None of the other codes fits.", true},
	}
	codes := make([]rondo.ReasonCode, 0, len(rows))
	for _, r := range rows {
		codes = append(codes, rondo.ReasonCode{
			ID: systemCodeID(r.scope, r.code), Scope: r.scope, Code: r.code, Label: r.label, Description: r.description,
			RequiresNote: r.requiresNote, Active: true,
		})
	}
	return codes
}

// systemCodeID is a UUIDv5 in a namespace of its own.
func systemCodeID(scope, code string) rondo.ID {
	namespace := rondo.ID{0x72, 0x6f, 0x6e, 0x64, 0x6f, 0x2e, 0x50, 0x0e, 0x80, 0x72, 0x65, 0x61, 0x73, 0x6f, 0x6e, 0x73}
	sum := sha1.Sum(append(namespace[:], scope+"/"+code...)) //nolint:gosec // as above
	var id rondo.ID
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}
