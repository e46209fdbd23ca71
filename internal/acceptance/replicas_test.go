package acceptance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// contested is how many cases are fought over on each pair.
const contested = 30

// TestTwoReplicasNeverAdvanceACaseTwice gives every completion of every case to
// two engines at the same moment: the same event to both, or two events that
// answer the same request.
func TestTwoReplicasNeverAdvanceACaseTwice(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 2)
			n := newTenant(t, w)
			n.useTemplate("ai_with_confidence_escalation")
			var cases sync.WaitGroup
			for i := range contested {
				cases.Go(func() { n.contest(fmt.Sprintf("contested-%d", i), i%2 == 0) })
			}
			cases.Wait()
			if t.Failed() {
				return
			}
			for i := range contested {
				n.wantCompleted(fmt.Sprintf("contested-%d", i), longWay...)
			}
			for _, requested := range []string{event.TypeConsentCheckRequested, event.TypeImagesCheckRequested, event.TypeAIReviewRequested, event.TypeHumanReviewRequested} {
				if got := w.sentTo(n.org, requested); got != contested {
					t.Errorf("on %s: %d distinct %s were sent for %d cases\n%s", w.ground.where(), got, requested, contested, w.describe(n.org))
				}
			}
			n.contestForms()
			checkEverything(t, w.store, w.ground.where(), "after two replicas fought over every completion")
			w.wantEverythingSent(t)
		})
	}
}

// contest drives one case, giving everything to both replicas at once. It runs
// beside the test's own goroutine, so it reports and returns.
func (n *tenant) contest(caseID string, same bool) {
	created := n.created(caseID, nil)
	if !n.race(created, created, true) {
		return
	}
	for _, requested := range []string{event.TypeConsentCheckRequested, event.TypeImagesCheckRequested, event.TypeAIReviewRequested, event.TypeHumanReviewRequested} {
		request := n.firstRequest(caseID, requested)
		if request == nil {
			n.t.Errorf("on %s: case %s never asked for %s\n%s", n.w.ground.where(), caseID, requested, n.w.describe(n.org))
			return
		}
		one := n.answer(request, answerAll(request))
		two := one
		if !same {
			two = n.event(one.Type, caseID, one.CorrelationID, answerAll(request))
		}
		if !n.race(one, two, same) {
			return
		}
	}
}

// race gives one event to each replica at the same moment and checks that
// exactly one of them was applied.
func (n *tenant) race(one, two *event.Envelope, same bool) bool {
	var replies [2]reply
	var start, done sync.WaitGroup
	start.Add(1)
	for i, e := range []*event.Envelope{one, two} {
		done.Go(func() {
			start.Wait()
			replies[i] = n.restOf(i).publish(e.Encode())
		})
	}
	start.Done()
	done.Wait()
	statuses, outcomes := map[int]int{}, map[rondo.Outcome]int{}
	for _, r := range replies {
		var receipt receiptBody
		r.into(&receipt)
		statuses[r.Status]++
		outcomes[receipt.Outcome]++
	}
	good := statuses[http.StatusAccepted] == 2 && outcomes[rondo.OutcomeApplied] == 1 && outcomes[rondo.OutcomeStale] == 1
	if same {
		good = statuses[http.StatusAccepted] == 1 && statuses[http.StatusOK] == 1 && outcomes[rondo.OutcomeApplied] == 2
	}
	if !good {
		n.t.Errorf("on %s: %s of case %s given to two replicas at once (one event: %v) answered %d %s and %d %s\n%s", n.w.ground.where(), one.Type, one.CaseID, same,
			replies[0].Status, replies[0].Body, replies[1].Status, replies[1].Body, n.w.describe(n.org))
	}
	return good
}

// firstRequest is request for goroutines that are not the test's own; nil = it
// did not come.
func (n *tenant) firstRequest(caseID, eventType string) *event.Envelope {
	var found []*event.Envelope
	if !n.w.comes(func() bool {
		found = n.w.desk.of(n.key(caseID), eventType)
		return len(found) > 0
	}) {
		return nil
	}
	return found[0]
}

// contestForms lets people give different answers to one question at the same
// moment, each to another replica: exactly one counts.
func (n *tenant) contestForms() {
	n.t.Helper()
	n.publish(signed)
	for i := range contested / 3 {
		caseID := fmt.Sprintf("form-%d", i)
		n.start(caseID)
		open, _ := n.instance(caseID)
		var statuses [2]int
		var people sync.WaitGroup
		for who := range statuses {
			people.Go(func() {
				statuses[who] = n.restOf(who).act(open.ID, "complete-step", map[string]any{
					"step_id": "sign", "outcome": "on_yes", "output": map[string]any{"place": fmt.Sprint("town-", who)},
				}).Status
			})
		}
		people.Wait()
		if statuses[0]+statuses[1] != http.StatusOK+http.StatusConflict {
			n.t.Errorf("on %s: two answers to the form of case %s got %v, want one 200 and one 409", n.w.ground.where(), caseID, statuses)
		}
		n.wantCompleted(caseID, "sign", "done")
		n.wantInterventions(open.ID, "complete_step: running → completed")
		winner := 0
		if statuses[1] == http.StatusOK {
			winner = 1
		}
		if after, _ := n.instance(caseID); !strings.Contains(string(after.Context["sign"]), fmt.Sprint("town-", winner)) {
			n.t.Errorf("on %s: replica %d took the form of case %s, which keeps %s", n.w.ground.where(), winner, caseID, after.Context["sign"])
		}
	}
}
