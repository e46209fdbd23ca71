package modules

import (
	"context"
	"encoding/json"

	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/worker"
)

type diagnosis struct {
	Code       string  `json:"code"`
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence,omitempty"`
}

func findings() []diagnosis {
	return []diagnosis{
		{Code: "L82.1", Label: "Seborrhoeic keratosis"},
		{Code: "D22.5", Label: "Melanocytic naevus of trunk"},
		{Code: "L57.0", Label: "Actinic keratosis"},
		{Code: "C44.5", Label: "Basal cell carcinoma"},
		{Code: "C43.5", Label: "Malignant melanoma of trunk"},
	}
}

func (c Config) consent(ctx context.Context, request *event.Envelope) (any, error) {
	var in struct {
		Types []string `json:"types"`
	}
	if err := read(request, &in); err != nil {
		return nil, err
	}
	// Consent is the patient's, not the request's: it does not change between attempts.
	facts := newDice(c.Seed, "consent "+request.OrgID+" "+request.CaseID)
	missing := []string{}
	if facts.chance(c.ConsentRefusal) && len(in.Types) > 0 {
		missing = append(missing, in.Types[0])
	}
	return struct {
		Granted bool     `json:"granted"`
		Missing []string `json:"missing_types"`
	}{len(missing) == 0, missing}, work(ctx, c.dice(request).between(c.Latency))
}

// mostImages is how many images a simulated case has at most.
const mostImages = 1000

func (c Config) images(ctx context.Context, request *event.Envelope) (any, error) {
	var in struct {
		MinCount int `json:"min_count"`
	}
	if err := read(request, &in); err != nil {
		return nil, err
	}
	if in.MinCount < 1 {
		return nil, &worker.Failure{ReasonCode: "contract_violation", Message: "min_count must be at least 1"}
	}
	ids := make([]string, 0, min(in.MinCount, mostImages))
	for i := range cap(ids) {
		ids = append(ids, "img-"+string(rune('1'+i%9)))
	}
	return struct {
		Count  int      `json:"count"`
		Passed bool     `json:"passed"`
		IDs    []string `json:"image_ids"`
	}{len(ids), len(ids) >= in.MinCount, ids}, work(ctx, c.dice(request).between(c.Latency))
}

func (c Config) status(ctx context.Context, request *event.Envelope) (any, error) {
	var in struct {
		Status string `json:"status"`
	}
	if err := read(request, &in); err != nil {
		return nil, err
	}
	return struct {
		Previous string `json:"previous_status"`
		New      string `json:"new_status"`
	}{"open", in.Status}, work(ctx, c.dice(request).between(c.Latency))
}

func (c Config) review(ctx context.Context, request *event.Envelope) (any, error) {
	d := c.dice(request)
	if err := work(ctx, d.between(c.Latency)); err != nil {
		return nil, err
	}
	if d.chance(c.FailureRate) {
		return nil, &worker.Failure{ReasonCode: "model_unavailable", Retryable: d.chance(0.75), Message: "the simulated model did not answer"}
	}
	confidence := d.value(c.Confidence)
	finding := pick(d, findings())
	finding.Confidence = confidence
	return struct {
		Confidence  float64     `json:"confidence"`
		Diagnoses   []diagnosis `json:"diagnoses"`
		RawResponse string      `json:"raw_response_id"`
	}{confidence, []diagnosis{finding}, "raw-" + request.CorrelationID}, nil
}

func (c Config) humanReview(ctx context.Context, request *event.Envelope) (any, error) {
	d := c.dice(request)
	answer := struct {
		Decision  string      `json:"decision"`
		Diagnoses []diagnosis `json:"diagnoses,omitempty"`
		Reviewer  string      `json:"reviewer_id"`
	}{Decision: "confirm", Reviewer: pick(d, []string{"reviewer-1", "reviewer-2", "reviewer-3"})}
	if d.chance(0.2) {
		answer.Decision, answer.Diagnoses = "override", []diagnosis{pick(d, findings())}
	}
	return answer, work(ctx, d.between(c.ReviewLatency))
}

func read(request *event.Envelope, into any) error {
	if err := json.Unmarshal(request.Payload, into); err != nil {
		return &worker.Failure{ReasonCode: "contract_violation", Message: "the request does not have the expected shape"}
	}
	return nil
}
