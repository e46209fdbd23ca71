package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/auth"
	"github.com/rondo-engine/rondo/internal/caseloop"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/invariant"
	"github.com/rondo-engine/rondo/store"
)

const (
	crashProduct = "crash"
	crashLimit   = 3 * time.Minute // for one whole crash test
	envSeed      = "RONDO_TEST_SEED"

	// escalation is the shipped template with retries that tests can wait for
	// and timeouts that a busy machine does not meet.
	escalation = `{"name":"crash","start_step":"consent_gate","steps":{
		"consent_gate":{"kind":"gate_on_consent","params":{"types":["ai_analysis"]},"timeout_seconds":900,"transitions":{"on_pass":"image_check","on_fail":"halt_consent"}},
		"image_check":{"kind":"require_images","params":{"min_count":3},"timeout_seconds":900,"transitions":{"on_pass":"ai_review","on_fail":"halt_images"}},
		"ai_review":{"kind":"run_ai_review","timeout_seconds":900,"max_retries":3,"retry_backoff":"fixed","retry_base_seconds":1,"transitions":{"on_complete":"branch_confidence","on_failure":"halt_ai"}},
		"branch_confidence":{"kind":"condition","expr":"ai_review.confidence < 0.7","transitions":{"on_true":"customer_review","on_false":"emit_done"}},
		"customer_review":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"timeout_seconds":900,"transitions":{"on_complete":"emit_done"}},
		"emit_done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
		"halt_consent":{"kind":"halt","params":{"reason_code":"consent_missing"}},
		"halt_images":{"kind":"halt","params":{"reason_code":"insufficient_images"}},
		"halt_ai":{"kind":"halt","params":{"reason_code":"ai_review_failed"}}}}`

	// errands waits in every way: two branches at once, a person in one of them,
	// and a pause after they have met.
	errands = `{"name":"errands","start_step":"both","steps":{
		"both":{"kind":"parallel","params":{"branches":{"machine":"consent_gate","person":"look"}},"transitions":{"on_complete":"pause"}},
		"look":{"kind":"manual","params":{"title":"Look at it","outcomes":["on_seen"],
			"form":{"type":"object","required":["remark"],"properties":{"remark":{"type":"string"}}}},"transitions":{"on_seen":"JOIN"}},
		"consent_gate":{"kind":"gate_on_consent","params":{"types":["ai_analysis"]},"timeout_seconds":900,"transitions":{"on_pass":"ai_review","on_fail":"halt_consent"}},
		"ai_review":{"kind":"run_ai_review","timeout_seconds":900,"max_retries":3,"retry_backoff":"fixed","retry_base_seconds":1,"transitions":{"on_complete":"JOIN","on_failure":"halt_ai"}},
		"pause":{"kind":"delay","params":{"seconds":1},"transitions":{"on_complete":"branch_confidence"}},
		"branch_confidence":{"kind":"condition","expr":"ai_review.confidence < 0.7","transitions":{"on_true":"customer_review","on_false":"emit_done"}},
		"customer_review":{"kind":"request_human_review","params":{"tier":"customer_clinician"},"timeout_seconds":900,"transitions":{"on_complete":"emit_done"}},
		"emit_done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}},
		"halt_consent":{"kind":"halt","params":{"reason_code":"consent_missing"}},
		"halt_ai":{"kind":"halt","params":{"reason_code":"ai_review_failed"}}}}`
)

// crash is one crash test: two processes on one ground, of which one is killed
// now and then.
type crash struct {
	t       *testing.T
	ground  *ground
	source  string // the definition
	cases   int
	kills   int
	seed    uint64
	random  *rand.Rand
	store   store.Store
	ids     *rondo.IDs
	members [2]*program
	begun   time.Time
}

func newCrash(t *testing.T, p pair, source string, cases, kills int) *crash {
	t.Helper()
	if testing.Short() {
		t.Skip("kills processes for some tens of seconds: not in short mode")
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(envSeed); text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", envSeed, err)
		}
		seed = parsed
	}
	c := &crash{
		t: t, ground: newGround(t, p), source: source, cases: cases, kills: kills, seed: seed, random: rand.New(rand.NewPCG(seed, 1)),
		ids: rondo.NewIDs(time.Now), begun: time.Now(),
	}
	t.Logf("%s=%d on %s", envSeed, seed, c.ground.where())
	c.store = c.ground.openStore(t)
	t.Cleanup(func() { _ = c.store.Close() })
	return c
}

// label says how to see a failure again.
func (c *crash) label() string { return fmt.Sprintf("%s=%d", envSeed, c.seed) }

// org is whose cases they are: that of callers while authentication is off.
func (c *crash) org() string { return auth.StubPrincipal().Tenant }

func (c *crash) caseID(i int) string { return fmt.Sprintf("crash-%05d", i) }

// created is the event that starts a case.
func (c *crash) created(i int) *event.Envelope {
	payload, err := json.Marshal(map[string]any{"patient_id": fmt.Sprintf("patient-%d", i), "images": []any{}})
	if err != nil {
		c.t.Fatal(err)
	}
	return &event.Envelope{
		EventID: c.ids.New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
		CorrelationID: c.caseID(i), CaseID: c.caseID(i), OrgID: c.org(), ProductID: crashProduct, Payload: payload,
	}
}

// killAll kills and restarts members at random points of progress, which goes
// from 0 to about total.
func (c *crash) killAll(ctx context.Context, total int, progress func() int) {
	c.t.Helper()
	points := make([]int, c.kills)
	for i := range points {
		points[i] = total/50 + c.random.IntN(total*8/10)
	}
	slices.Sort(points)
	for _, point := range points {
		if !poll(ctx, func() bool { return progress() >= point }) {
			c.t.Fatalf("on %s, %s: progress stands at %d, and never came to %d, where a process was to be killed\n%s",
				c.ground.where(), c.label(), progress(), point, c.said())
		}
		victim := c.random.IntN(len(c.members))
		c.t.Logf("%v: kill -9 of process %d at progress %d", time.Since(c.begun).Round(time.Millisecond), victim, point)
		c.members[victim].kill()
		c.members[victim].start(c.t)
	}
}

func (c *crash) said() string {
	return fmt.Sprintf("process 0 said:\n%s\nprocess 1 said:\n%s", c.members[0].errors, c.members[1].errors)
}

// awaitEnd waits until every case has come to rest and returns their instances.
// meanwhile is called between looks.
func (c *crash) awaitEnd(ctx context.Context, meanwhile func()) []*rondo.Instance {
	c.t.Helper()
	var all []*rondo.Instance
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	for {
		running, err := c.store.Instances(ctx, store.InstanceFilter{OrgID: c.org(), Status: rondo.StatusRunning}, store.Page{})
		if err == nil && len(running) == 0 {
			all, err = c.store.Instances(ctx, store.InstanceFilter{OrgID: c.org()}, store.Page{})
			if err == nil && len(all) >= c.cases {
				c.t.Logf("%v: all %d cases have come to rest", time.Since(c.begun).Round(time.Millisecond), len(all))
				return all
			}
		}
		meanwhile()
		select {
		case <-look.C:
		case <-ctx.Done():
			c.t.Fatalf("on %s, %s: %d cases started and %d of them still run after %v, of %d (%v)\n%s\n%s",
				c.ground.where(), c.label(), len(all), len(running), crashLimit, c.cases, err, c.describe(running), c.said())
		}
	}
}

func (c *crash) describe(instances []*rondo.Instance) string {
	told := ""
	for _, i := range instances[:min(len(instances), 5)] {
		told += fmt.Sprintf("case %s, instance %s, version %d, woken at %v, live: %+v\n", i.CaseID, i.ID, i.Version, i.WakeAt, i.Machine.Live)
	}
	return told
}

// check looks at what is left: every case once, ended for a reason of its own,
// every outcome applied exactly once, every end told. published returns what the
// bus carried on a stream.
func (c *crash) check(ctx context.Context, instances []*rondo.Instance, published func(stream string) [][]byte) {
	c.t.Helper()
	c.checkTold(ctx, instances, published)
	started := map[string]int{}
	ends := map[string]int{}
	for _, i := range instances {
		started[i.CaseID]++
		ends[string(i.Status)+" "+i.HaltReason]++
		switch {
		case i.Status == rondo.StatusCompleted:
		case i.Status == rondo.StatusHalted && (i.HaltReason == "ai_review_failed" || i.HaltReason == "consent_missing"):
		default:
			c.t.Errorf("on %s, %s: case %s ended %s (%s at %s)", c.ground.where(), c.label(), i.CaseID, i.Status, i.HaltReason, i.HaltStepID)
		}
	}
	c.t.Logf("cases ended: %v", ends)
	if ends["completed "] < c.cases/2 {
		c.t.Errorf("on %s, %s: only %d of %d cases were completed", c.ground.where(), c.label(), ends["completed "], c.cases)
	}
	for i := range c.cases {
		if n := started[c.caseID(i)]; n != 1 {
			c.t.Errorf("on %s, %s: case %s has %d instances", c.ground.where(), c.label(), c.caseID(i), n)
		}
	}
	snapshots := caseloop.NewSnapshots(c.store)
	for _, i := range instances {
		stored, err := readCase(c.t.Context(), c.store, snapshots, i)
		if err != nil {
			c.t.Errorf("on %s, %s: read case %s: %v", c.ground.where(), c.label(), i.CaseID, err)
			continue
		}
		for _, v := range append(invariant.Check(stored), answeredOnce(stored)...) {
			c.t.Errorf("on %s, %s: case %s, instance %s breaks %s", c.ground.where(), c.label(), i.CaseID, i.ID, v)
		}
	}
	letters := deadLetters(c.t, c.store)
	if len(letters) > 0 {
		c.t.Errorf("on %s, %s: there are %d dead letters, the newest of %s: %s", c.ground.where(), c.label(), len(letters), letters[0].Stream, letters[0].Reason)
	}
}

// checkTold waits until everything committed is sent, and expects the end of
// every case on the bus, as one event however often it was sent.
func (c *crash) checkTold(ctx context.Context, instances []*rondo.Instance, published func(stream string) [][]byte) {
	c.t.Helper()
	if !poll(ctx, func() bool {
		unsent, _, err := c.store.Backlog(ctx)
		return err == nil && unsent == 0
	}) {
		c.t.Errorf("on %s, %s: events stay in the outbox that nobody sends\n%s", c.ground.where(), c.label(), c.said())
	}
	told := map[string]map[rondo.ID]bool{} // case and stream → distinct events
	for _, stream := range []string{event.TypeCaseWorkflowCompleted, event.TypeWorkflowCompleted, event.TypeWorkflowHalted} {
		for _, raw := range published(stream) {
			e, err := event.Parse(raw)
			if err != nil {
				c.t.Fatalf("on %s, %s: an entry of %s does not parse: %v", c.ground.where(), c.label(), stream, err)
			}
			key := e.CaseID + " " + stream
			if told[key] == nil {
				told[key] = map[rondo.ID]bool{}
			}
			told[key][e.EventID] = true
		}
	}
	for _, i := range instances {
		wanted := []string{event.TypeWorkflowHalted}
		if i.Status == rondo.StatusCompleted {
			wanted = []string{event.TypeCaseWorkflowCompleted, event.TypeWorkflowCompleted}
		}
		for _, stream := range wanted {
			if n := len(told[i.CaseID+" "+stream]); n != 1 {
				c.t.Errorf("on %s, %s: case %s is %s, and %s was told by %d events", c.ground.where(), c.label(), i.CaseID, i.Status, stream, n)
			}
		}
	}
}

// answeredOnce says which ended requests do not have exactly one applied
// outcome, and whether people completed another number of steps than is recorded.
func answeredOnce(c invariant.Case) []invariant.Violation {
	applied := map[string]int{}
	for _, e := range c.Events {
		if e.Outcome != rondo.OutcomeApplied || e.Type == event.TypeCaseCreated {
			continue
		}
		if envelope, err := event.Parse(e.Envelope); err == nil {
			applied[envelope.CorrelationID]++
		}
	}
	var found []invariant.Violation
	byPeople := 0
	for _, row := range c.Steps {
		step := c.Snapshot.Steps[row.StepID]
		if step.Contract.Behaviour == definition.BehaviourManual && row.Status == rondo.StepCompleted {
			byPeople++
		}
		if step.Contract.Behaviour != definition.BehaviourRequest || row.Status != rondo.StepCompleted && row.Status != rondo.StepFailed {
			continue
		}
		if n := applied[row.CorrelationID]; n != 1 {
			found = append(found, invariant.Violation{
				Invariant: "I6", Detail: fmt.Sprintf("%s#%d has %d applied outcomes", row.StepID, row.Attempt, n),
			})
		}
	}
	if byPeople != len(c.Interventions) {
		found = append(found, invariant.Violation{Invariant: "I6", Detail: fmt.Sprintf("people completed %d steps, and %d interventions are recorded", byPeople, len(c.Interventions))})
	}
	return found
}
