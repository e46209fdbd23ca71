// Package demo makes `rondo dev` worth looking at: an organisation with
// published workflows, and a steady trickle of made-up cases, some of which
// escalate and some of which halt.
//
// It uses the engine's public face only and nothing here runs in production.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/modules"
	"github.com/rondo-engine/rondo/store"
)

// Org is the demo's organisation.
const Org = "demo"

// Principal is the local user of the demo.
func Principal() rondo.Principal {
	return rondo.Principal{Tenant: Org, User: "local", Scopes: []string{rondo.ScopeAdmin}}
}

// plans says which template drives which product; "" is every other product.
func plans() []plan {
	return []plan{
		{product: "", template: "ai_with_confidence_escalation"},
		{product: "screening", template: "ai_only"},
		{product: "second-opinion", template: "ai_escalation_plus_sa_sample"},
		{product: "clinic", template: "clinician_only"},
	}
}

type plan struct{ product, template string }

// Modules is how the simulated modules of the demo behave.
func Modules() modules.Config {
	return modules.Config{
		Latency:        modules.Range{Min: 150 * time.Millisecond, Max: 900 * time.Millisecond},
		ReviewLatency:  modules.Range{Min: 2 * time.Second, Max: 6 * time.Second},
		FailureRate:    0.08,
		ConsentRefusal: 0.07,
		Confidence:     modules.Distribution{Mean: 0.74, Spread: 0.4},
	}
}

// Setup publishes the demo's definitions where none is active yet.
func Setup(ctx context.Context, e *engine.Engine) error {
	templates, err := e.Templates(ctx, Principal())
	if err != nil {
		return err
	}
	byName := map[string]rondo.ID{}
	for _, t := range templates {
		byName[t.Name] = t.ID
	}
	active, err := e.DefinitionList(ctx, Principal(), store.DefinitionFilter{OrgID: Org, Kind: rondo.KindCase, Status: rondo.DefinitionActive}, store.Page{Limit: 200})
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, d := range active {
		have[d.ProductID] = true
	}
	for _, p := range plans() {
		if have[p.product] {
			continue
		}
		draft, err := e.CreateDefinition(ctx, Principal(), rondo.NewDefinition{TemplateID: byName[p.template], ProductID: p.product, Reason: "demo"})
		if err != nil {
			return fmt.Errorf("create demo definition from %s: %w", p.template, err)
		}
		if _, err := e.PublishDefinition(ctx, Principal(), draft.ID, "demo"); err != nil {
			return fmt.Errorf("publish demo definition from %s: %w", p.template, err)
		}
	}
	return nil
}

// Trickle publishes a case about every interval until ctx ends.
func Trickle(ctx context.Context, e *engine.Engine, interval time.Duration, report func(error)) {
	ids := rondo.NewIDs(time.Now)
	products := []string{"dermatology", "dermatology", "screening", "second-opinion", "clinic"}
	for ctx.Err() == nil {
		raw := newCase(ids, products[rand.IntN(len(products))])
		if _, err := e.PublishEvent(ctx, Principal(), raw); err != nil && ctx.Err() == nil {
			report(err)
		}
		timer := time.NewTimer(interval/2 + rand.N(interval))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func newCase(ids *rondo.IDs, product string) []byte {
	now := time.Now().UTC().Truncate(time.Microsecond)
	caseID := fmt.Sprintf("case-%s-%04d", now.Format("0102-150405"), rand.IntN(10000))
	payload, _ := json.Marshal(map[string]any{
		"patient_id": fmt.Sprintf("patient-%03d", rand.IntN(1000)),
		"images": []map[string]string{
			{"id": "img-1", "type": "DERMOSCOPIC"}, {"id": "img-2", "type": "MACROSCOPIC"}, {"id": "img-3", "type": "DERMOSCOPIC"},
		},
		"metadata": map[string]string{"source": "demo"},
	})
	created := event.Envelope{
		EventID: ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: now,
		CorrelationID: caseID, CaseID: caseID, OrgID: Org, ProductID: product, Payload: payload,
	}
	return created.Encode()
}
