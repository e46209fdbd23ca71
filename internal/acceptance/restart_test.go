package acceptance

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/event"
)

// longWay escalates, so that every kind of module is asked.
var longWay = []string{"consent_gate", "image_check", "ai_review", "branch_confidence", "customer_review", "emit_done"}

// answerAll answers every request of the long way.
func answerAll(request *event.Envelope) any {
	switch request.Type {
	case event.TypeConsentCheckRequested:
		return granted()
	case event.TypeImagesCheckRequested:
		return enoughImages()
	case event.TypeAIReviewRequested:
		return reviewed(0.3)
	case event.TypeHumanReviewRequested:
		return decided("by-person")
	}
	return nil
}

// TestARestartAtAnyPointLosesNothing cuts an engine off just before and just
// after each single effect of a case (commits, and publishes to an external
// bus), starts another, and expects the case to end as if nothing had happened.
func TestARestartAtAnyPointLosesNothing(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			n := newTenant(t, w)
			n.useTemplate("ai_with_confidence_escalation")
			w.desk.answerBy(answerAll)
			crashes := 0
			for effect := 1; ; effect++ {
				before := n.crashAt(moment{effect: effect, before: true})
				after := n.crashAt(moment{effect: effect})
				if !before && !after {
					break // the case ended before its n-th effect
				}
				crashes++
				if effect > 100 {
					t.Fatalf("on %s: a case has more than 100 effects\n%s", w.ground.where(), w.describe(n.org))
				}
			}
			if least := len(longWay) - 2; crashes < least { // condition and final run along
				t.Errorf("on %s: only %d effects were met, a case has at least %d commits", w.ground.where(), crashes, least)
			}
			checkEverything(t, w.store, w.ground.where(), fmt.Sprintf("after crashes at %d effects", crashes))
			w.wantEverythingSent(t)
		})
	}
}

// crashAt runs one case whose engine dies at a moment, and reports whether that
// moment came.
func (n *tenant) crashAt(at moment) (crashed bool) {
	n.t.Helper()
	caseID := fmt.Sprintf("after-%d", at.effect)
	if at.before {
		caseID = fmt.Sprintf("before-%d", at.effect)
	}
	doomed := n.w.replicas[0]
	doomed.scissors.arm(at)
	created := n.created(caseID, nil)
	accepted := n.enter(created)
	n.await("case "+caseID+" ending or its engine dying", func() bool {
		return doomed.scissors.isCut() || n.ended(caseID)
	})
	if crashed = doomed.scissors.disarm(); crashed {
		n.w.restart(n.t, 0)
		if !accepted && !n.enter(created) { // who is not answered sends again
			n.t.Fatalf("on %s: case %s is not accepted after a restart", n.w.ground.where(), caseID)
		}
	}
	n.await("case "+caseID+" ending", func() bool { return n.ended(caseID) })
	n.wantCompleted(caseID, longWay...)
	return crashed
}

// enter lets an event in the way its senders do, on Redis if there is one, else
// over REST, and reports whether it was accepted.
func (n *tenant) enter(e *event.Envelope) bool {
	n.t.Helper()
	if !n.w.ground.redis {
		status := n.rest().publish(e.Encode()).Status
		return status == http.StatusAccepted || status == http.StatusOK
	}
	message := bus.Message{Stream: e.Type, EventID: e.EventID, Envelope: e.Encode()}
	if err := n.w.modules.Publish(n.t.Context(), []bus.Message{message}); err != nil {
		n.t.Fatalf("on %s: publish %s of case %s: %v", n.w.ground.where(), e.Type, e.CaseID, err)
	}
	return true
}

func (n *tenant) ended(caseID string) bool {
	n.t.Helper()
	i, ok := n.instance(caseID)
	return ok && i.Status != rondo.StatusRunning
}
