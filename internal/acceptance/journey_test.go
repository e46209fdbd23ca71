package acceptance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// journey is one way through an example that waits in every way there is: for
// modules, people, a time, an event from outside, and for branches.
type journey struct {
	example  string
	metadata func(now time.Time) map[string]any
	ahead    string                        // an event that comes before the case itself; "" = none
	push     func(tr *traveller, i string) // does what step i waits for
	path     []string                      // sorted: branches overtake each other
	once     []string                      // event types that are sent exactly once
	people   int                           // steps that people complete
}

func journeys() []journey {
	return []journey{
		{
			example: "purchase_approval",
			metadata: func(time.Time) map[string]any {
				return map[string]any{"amount": 9000, "cost_centre": "lab", "supplier": "acme"}
			},
			push: func(tr *traveller, step string) {
				switch step {
				case "legal":
					tr.person("legal-desk", step, "on_approved", map[string]any{"remark": "fine"})
				case "sleep_on_it":
					tr.pass(step, 24*time.Hour+time.Second)
				case "goods":
					tr.outside(typeGoodsBooked, "another's", map[string]any{"order_number": "po-of-another"})
					tr.outside(typeGoodsBooked, "ours", map[string]any{"order_number": "po-" + tr.caseID})
				}
			},
			path: []string{"budget", "checks", "done", "goods", "is_large", "legal", "order", "sleep_on_it"},
			once: []string{typeBudgetCheck, typePlaceOrder, typePurchaseDone}, people: 1,
		},
		{
			example: "onboarding",
			ahead:   typeSigned,
			metadata: func(now time.Time) map[string]any {
				return map[string]any{"name": "Kim", "mail": "kim@example.org", "role": "nurse", "first_day": now.Add(72 * time.Hour).UTC().Format(time.RFC3339)}
			},
			push: func(tr *traveller, step string) {
				switch step {
				case "desk":
					tr.person("office", step, "on_done", map[string]any{"laptop": "l-7"})
				case "first_day":
					tr.pass(step, 72*time.Hour+time.Second)
				case "first_weeks":
					tr.person("", step, "on_done", map[string]any{"mood": "good"})
				}
			},
			path: []string{"accounts", "desk", "done", "first_day", "first_weeks", "is_well", "package skipped", "prepare", "signature", "welcome"},
			once: []string{typeAccounts, typeAnnouncement, typeOnboardingDone}, people: 2,
		},
	}
}

// TestEveryKindOfWaitSurvivesARestartAtAnyPoint cuts the engine off just before
// and just after each single effect of cases with parallel branches, a delay,
// forms and awaited events. After each restart everything that people and other
// systems did is done once more, as those do who got no answer: nothing of it
// may count twice.
func TestEveryKindOfWaitSurvivesARestartAtAnyPoint(t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p, 1)
			w.desk.answerBy(answerExamples)
			for _, j := range journeys() {
				n := newTenant(t, w)
				n.useExample(j.example)
				effects := n.cutEverywhere(j)
				if least := 5; effects < least {
					t.Errorf("on %s: only %d effects of %s were met, a case has at least %d commits", w.ground.where(), effects, j.example, least)
				}
			}
			checkEverything(t, w.store, w.ground.where(), "after crashes at every effect of the examples")
			w.wantEverythingSent(t)
		})
	}
}

// cutEverywhere travels until a case has no further effect to be cut at, and
// returns how many it had.
func (n *tenant) cutEverywhere(j journey) int {
	n.t.Helper()
	for effect := 1; ; effect++ {
		before := n.travel(j, moment{effect: effect, before: true})
		after := n.travel(j, moment{effect: effect})
		if !before && !after {
			return effect - 1
		}
		if effect > 100 {
			n.t.Fatalf("on %s: a case has more than 100 effects\n%s", n.w.ground.where(), n.w.describe(n.org))
		}
	}
}

// travel takes one case through a journey on which its engine dies at a moment,
// and reports whether that moment came.
func (n *tenant) travel(j journey, at moment) (crashed bool) {
	n.t.Helper()
	tr := &traveller{tenant: n, caseID: fmt.Sprintf("after-%d", at.effect), sent: map[string]*event.Envelope{}, passed: map[string]bool{}}
	if at.before {
		tr.caseID = fmt.Sprintf("before-%d", at.effect)
	}
	doomed := n.w.replicas[0]
	doomed.scissors.arm(at)
	if j.ahead != "" {
		tr.outside(j.ahead, "ahead", map[string]any{"by": "kim"})
	}
	tr.created = n.created(tr.caseID, map[string]any{"metadata": j.metadata(n.w.clock.Now())})
	n.enter(tr.created)
	revive := func() {
		crashed = true
		n.w.restart(n.t, 0)
		tr.repeat()
	}
	n.await("case "+tr.caseID+" of "+j.example+" ending", func() bool {
		if !crashed && doomed.scissors.isCut() {
			revive()
		}
		return tr.push(j)
	})
	if doomed.scissors.disarm() && !crashed { // its last effect
		revive()
	}
	tr.wantArrived(j)
	return crashed
}

// traveller is a case and all who do something for it.
type traveller struct {
	*tenant
	caseID  string
	created *event.Envelope
	sent    map[string]*event.Envelope // by a word for each event from outside
	done    []func()                   // what people did, to do it again
	passed  map[string]bool            // steps whose time has been let pass
}

// push does what the case waits for now, and reports whether it has ended.
func (tr *traveller) push(j journey) bool {
	i, ok := tr.instance(tr.caseID)
	if !ok {
		return false
	}
	for _, step := range i.CurrentSteps {
		j.push(tr, step.StepID)
	}
	return i.Status != rondo.StatusRunning
}

// outside lets an event in that others publish, the same one each time.
func (tr *traveller) outside(eventType, word string, payload any) {
	if tr.sent[word] == nil {
		tr.sent[word] = tr.event(eventType, tr.caseID, word, payload)
		tr.enter(tr.sent[word])
	}
}

// person completes a step as one of its assignees, "" = as somebody who may
// intervene.
func (tr *traveller) person(user, step, outcome string, output any) {
	i, _ := tr.instance(tr.caseID)
	do := func() {
		caller := tr.rest()
		if user != "" {
			caller = caller.as(user, rondo.ScopeReadInstances)
		}
		r := caller.act(i.ID, "complete-step", map[string]any{"step_id": step, "outcome": outcome, "output": output})
		switch r.Status {
		case http.StatusOK, http.StatusConflict: // done now, or before
		default:
			if !tr.w.replicas[0].scissors.isCut() {
				tr.t.Errorf("on %s: completing %s of case %s answered %d: %s", tr.w.ground.where(), step, tr.caseID, r.Status, r.Body)
			}
		}
	}
	if !tr.passed[step] {
		tr.passed[step] = true
		tr.done = append(tr.done, do)
	}
	do()
}

// pass lets time go by, once.
func (tr *traveller) pass(step string, d time.Duration) {
	if !tr.passed[step] {
		tr.passed[step] = true
		tr.w.clock.Advance(d)
	}
}

// repeat does everything once more.
func (tr *traveller) repeat() {
	tr.t.Helper()
	for _, e := range append([]*event.Envelope{tr.created}, tr.sentSoFar()...) {
		if !tr.enter(e) {
			tr.t.Fatalf("on %s: %s of case %s is not accepted after a restart", tr.w.ground.where(), e.Type, tr.caseID)
		}
	}
	for _, do := range tr.done {
		do()
	}
}

func (tr *traveller) sentSoFar() []*event.Envelope {
	var all []*event.Envelope
	for _, e := range tr.sent {
		all = append(all, e)
	}
	return all
}

// wantArrived expects the end of a journey, and everything on it exactly once.
func (tr *traveller) wantArrived(j journey) {
	tr.t.Helper()
	i := tr.rests(tr.caseID)
	got := tr.path(i.ID)
	slices.Sort(got)
	if i.Status != rondo.StatusCompleted || !slices.Equal(got, j.path) {
		tr.t.Fatalf("on %s: case %s of %s is %s (%s) and went, sorted,\n  %s, want\n  %s\n%s", tr.w.ground.where(), tr.caseID, j.example, i.Status, i.HaltReason,
			strings.Join(got, " "), strings.Join(j.path, " "), tr.w.describe(tr.org))
	}
	for _, eventType := range j.once {
		tr.request(tr.caseID, eventType, 1)
		if n := len(tr.w.desk.of(tr.key(tr.caseID), eventType)); n != 1 {
			tr.t.Errorf("on %s: case %s of %s sent %d distinct %s", tr.w.ground.where(), tr.caseID, j.example, n, eventType)
		}
	}
	var acts listBody[interventionBody]
	tr.must(http.StatusOK, tr.rest().get("/workflow-instances/"+i.ID+"/interventions"), "list interventions").into(&acts)
	if len(acts.Items) != j.people {
		tr.t.Errorf("on %s: case %s of %s has interventions %+v, want %d", tr.w.ground.where(), tr.caseID, j.example, acts.Items, j.people)
	}
	for word, e := range tr.sent {
		want := rondo.OutcomeApplied
		if word == "another's" {
			want = rondo.OutcomeStale
		}
		tr.wantOutcome(e, tr.ledger(e).Outcome, want)
	}
}
