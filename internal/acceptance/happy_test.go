package acceptance

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo/event"
)

// way is one way through a template.
type way struct {
	template   string
	confidence float64
	sampled    bool // sample(0.1) is true for the case
	path       []string
	diagnosis  string // whose diagnoses are final
}

func ways() []way {
	gates := []string{"consent_gate", "image_check"}
	then := func(more ...string) []string { return slices.Concat(gates, more) }
	return []way{
		{"ai_only", 0.9, false, then("ai_review", "emit_done"), "by-ai"},
		{"ai_plus_clinician", 0.9, false, then("ai_review", "customer_review", "emit_done"), "customer_clinician"},
		{"ai_with_confidence_escalation", 0.69, false, then("ai_review", "branch_confidence", "customer_review", "emit_done"), "customer_clinician"},
		{"ai_with_confidence_escalation", 0.7, false, then("ai_review", "branch_confidence", "emit_done"), "by-ai"},
		{"ai_plus_clinician_plus_sa_qa_sample", 0.9, true, then("ai_review", "customer_review", "qa_branch", "sa_qa", "emit_done"), "sa_qa"},
		{"ai_plus_clinician_plus_sa_qa_sample", 0.9, false, then("ai_review", "customer_review", "qa_branch", "emit_done"), "customer_clinician"},
		{"clinician_only", 0, false, then("customer_review", "emit_done"), "customer_clinician"},
		{"ai_escalation_plus_sa_sample", 0.5, true, then("ai_review", "branch_confidence", "customer_review", "qa_branch", "sa_qa", "emit_done"), "sa_qa"},
		{"ai_escalation_plus_sa_sample", 0.9, false, then("ai_review", "branch_confidence", "qa_branch", "emit_done"), "by-ai"},
		{"ai_escalation_plus_sa_sample", 0.9, true, then("ai_review", "branch_confidence", "qa_branch", "sa_qa", "emit_done"), "sa_qa"},
	}
}

func everyTemplateReachesItsEnd(n *tenant) {
	for number, way := range ways() {
		d := n.useTemplate(way.template)
		caseID := caseFor(d.ID, way.sampled, number)
		n.start(caseID)
		n.passGates(caseID)
		if slices.Contains(way.path, "ai_review") {
			n.complete(caseID, event.TypeAIReviewRequested, 1, reviewed(way.confidence))
		}
		reviews := 0
		for _, step := range way.path {
			if step != "customer_review" && step != "sa_qa" {
				continue
			}
			reviews++
			request := n.request(caseID, event.TypeHumanReviewRequested, reviews)
			var asked struct {
				Tier string `json:"tier"`
			}
			if err := json.Unmarshal(request.Payload, &asked); err != nil {
				n.t.Fatalf("case %s: request of %s: %v", caseID, step, err)
			}
			n.complete(caseID, event.TypeHumanReviewRequested, reviews, decided(asked.Tier))
		}
		n.wantCompleted(caseID, way.path...)
		n.wantFinal(caseID, d.ID, way.diagnosis)
	}
}

// wantFinal checks what the world is told at the end of a case.
func (n *tenant) wantFinal(caseID, definitionID, diagnosis string) {
	n.t.Helper()
	final := n.request(caseID, event.TypeCaseWorkflowCompleted, 1)
	var got struct {
		Diagnoses  []map[string]string `json:"final_diagnoses"`
		Definition string              `json:"definition_id"`
	}
	if err := json.Unmarshal(final.Payload, &got); err != nil {
		n.t.Fatalf("final event of case %s: %v", caseID, err)
	}
	want := []map[string]string{{"code": diagnosis}}
	if diff := cmp.Diff(want, got.Diagnoses); diff != "" || got.Definition != definitionID {
		n.t.Errorf("on %s: case %s ended with definition %s, want %s, and diagnoses (-want +got):\n%s", n.w.ground.where(), caseID, got.Definition, definitionID, diff)
	}
	for _, lifecycle := range []string{event.TypeWorkflowStarted, event.TypeWorkflowCompleted} {
		n.request(caseID, lifecycle, 1)
		if found := n.w.desk.of(n.key(caseID), lifecycle); len(found) != 1 {
			n.t.Errorf("on %s: case %s told %s %d times", n.w.ground.where(), caseID, lifecycle, len(found))
		}
	}
}

// caseFor finds a case id for which sample(0.1) at qa_branch is as wanted.
func caseFor(definitionID string, sampled bool, number int) string {
	for i := 0; ; i++ {
		caseID := fmt.Sprintf("way-%d-%d", number, i)
		sum := sha256.Sum256([]byte(caseID + ":" + definitionID + ":qa_branch"))
		u := float64(binary.BigEndian.Uint64(sum[:8])) / math.Pow(2, 64)
		if (u < 0.1) == sampled {
			return caseID
		}
	}
}

func aFailedGateHalts(n *tenant) {
	n.useTemplate("ai_only")
	n.start("no-consent")
	n.complete("no-consent", event.TypeConsentCheckRequested, 1, map[string]any{"granted": false, "missing_types": []string{"ai_analysis"}})
	n.wantHalted("no-consent", "consent_missing", "consent_gate")

	n.start("no-images")
	n.complete("no-images", event.TypeConsentCheckRequested, 1, granted())
	n.complete("no-images", event.TypeImagesCheckRequested, 1, map[string]any{"count": 1, "passed": false, "image_ids": []string{"i1"}})
	n.wantHalted("no-images", "insufficient_images", "image_check")
	halted := n.request("no-images", event.TypeWorkflowHalted, 1)
	var told struct {
		Reason string `json:"reason_code"`
		Step   string `json:"halt_step_id"`
	}
	if err := json.Unmarshal(halted.Payload, &told); err != nil || told.Reason != "insufficient_images" || told.Step != "image_check" {
		n.t.Errorf("on %s: workflow.halted says %s (%v)", n.w.ground.where(), halted.Payload, err)
	}
}
