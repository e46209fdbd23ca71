package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/explain"
	"github.com/rondo-engine/rondo/internal/flow"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// manager asks a person, whom cleo and bob are.
const manager = `{"name": "ask the manager", "start_step": "boss", "steps": {
	"boss": {"kind": "manual", "params": {"title": "Approve", "outcomes": ["approved", "refused"], "assignees": ["cleo"]}, "transitions": {"approved": "done", "refused": "done"}},
	"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`

// reviewed is one review, then the end; two is a later version of it.
const (
	reviewed = `{"name": "review", "start_step": "ai_review", "steps": {
		"ai_review": {"kind": "run_ai_review", "timeout_seconds": 900, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`
	reviewedTwice = `{"name": "review", "start_step": "ai_review", "steps": {
		"ai_review": {"kind": "run_ai_review", "timeout_seconds": 900, "transitions": {"on_complete": "qa"}},
		"qa": {"kind": "request_human_review", "params": {"tier": "sa_qa"}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`
	reviewRenamed = `{"name": "review", "start_step": "second_look", "steps": {
		"second_look": {"kind": "request_human_review", "params": {"tier": "sa_qa"}, "transitions": {"on_complete": "done"}},
		"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`
)

// oneCase starts one case of a definition.
func oneCase(t *testing.T, source string) (*office, *rondo.Instance, rondo.Definition) {
	t.Helper()
	o := openOffice(t, memory.Open(memory.Options{Embedded: true}), 0)
	t.Cleanup(o.close)
	d := o.publish(source)
	o.start(1)
	return o, o.instances(store.InstanceFilter{})[0], d
}

func TestActionsMoveACaseAndAreRecorded(t *testing.T) {
	o, i, _ := oneCase(t, reviewed)
	act := func(a rondo.Action) *rondo.Instance {
		t.Helper()
		after, err := o.Act(t.Context(), user(), i.ID, a)
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		return after
	}
	if got := act(rondo.Action{Name: rondo.ActionHalt, ReasonCode: "manual_halt", Note: "wait"}); got.Status != rondo.StatusHalted || got.HaltStepID != "ai_review" {
		t.Errorf("after halt: %s at %s", got.Status, got.HaltStepID)
	}
	got := act(rondo.Action{Name: rondo.ActionRetryStep, Reason: "again", InputOverride: json.RawMessage(`{"product_id":"other"}`)})
	if live := got.Machine.Live; got.Status != rondo.StatusRunning || len(live) != 1 || live[0].Number != 2 || !strings.Contains(string(live[0].Input), `"other"`) {
		t.Errorf("after retry: %s %+v", got.Status, live)
	}
	if got := act(rondo.Action{Name: rondo.ActionSetMode, Mode: rondo.ModeClientDriven, Reason: "theirs"}); got.Mode != rondo.ModeClientDriven {
		t.Errorf("mode %s", got.Mode)
	}
	two := o.publish(reviewedTwice)
	if got := act(rondo.Action{Name: rondo.ActionMigrate, Reason: "v2"}); got.DefinitionID != two.ID || got.SnapshotHash != two.SnapshotHash {
		t.Errorf("after migrate it runs on %s", got.DefinitionID)
	}
	if got := act(rondo.Action{Name: rondo.ActionSkipStep, StepID: "ai_review", Outcome: "on_complete", Reason: "known", Output: json.RawMessage(`{"confidence":1,"diagnoses":[],"raw_response_id":"r"}`)}); live(got)[0] != "qa" {
		t.Errorf("after skip: %v", live(got))
	}
	fresh := act(rondo.Action{Name: rondo.ActionSupersede, Reason: "anew", Mode: rondo.ModeActive})
	if fresh.ID == i.ID || fresh.SupersedesID != i.ID || fresh.DefinitionID != two.ID || fresh.Mode != rondo.ModeActive {
		t.Errorf("supersede answers %s, which supersedes %s", fresh.ID, fresh.SupersedesID)
	}
	done, err := o.Interventions(t.Context(), user(), i.ID)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, row := range done {
		actions = append(actions, row.Action)
		if row.PerformedBy != "ann" || !json.Valid(row.Before) || !json.Valid(row.After) {
			t.Errorf("%s by %q: %s to %s", row.Action, row.PerformedBy, row.Before, row.After)
		}
	}
	if diff := cmp.Diff([]string{"halt", "retry_step", "set_mode", "migrate", "skip_step", "supersede"}, actions); diff != "" {
		t.Errorf("interventions (-want +got):\n%s", diff)
	}
	if _, err := o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "late"}); rondo.CodeOf(err) != rondo.CodeWrongState {
		t.Errorf("cancel of what was superseded: %v", err)
	}
	checkTold(t, o, i.ID)
}

// checkTold reads every explanation of an instance: none may fail, and the
// timeline tells what people did.
func checkTold(t *testing.T, o *office, id rondo.ID) {
	t.Helper()
	why, err := o.Why(t.Context(), user(), id)
	if err != nil || !strings.HasPrefix(why.Summary, "Cancelled") || len(why.Actions) != 0 {
		t.Errorf("why: %q, %+v, %v", why.Summary, why.Actions, err)
	}
	next, err := o.NextStep(t.Context(), user(), id)
	if err != nil || next.Action.Type != "none" {
		t.Errorf("next step: %+v, %v", next, err)
	}
	told, err := o.Timeline(t.Context(), user(), id)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range told.Items {
		texts = append(texts, e.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"case.created came", "ann: retry step (again).", "ai_review was skipped, attempt 2", "took its place"} {
		if !strings.Contains(all, want) {
			t.Errorf("the timeline does not say %q:\n%s", want, all)
		}
	}
}

func TestActionsOnOthersCasesFindNothing(t *testing.T) {
	o, i, _ := oneCase(t, manager)
	eve := rondo.Principal{Tenant: "beta", User: "cleo", Scopes: []string{rondo.ScopeIntervene, rondo.ScopeAdmin}}
	for _, name := range []rondo.ActionName{
		rondo.ActionHalt, rondo.ActionResume, rondo.ActionCancel, rondo.ActionRetryStep, rondo.ActionSetMode,
		rondo.ActionSupersede, rondo.ActionSkipStep, rondo.ActionCompleteStep, rondo.ActionMigrate,
	} {
		_, err := o.Act(t.Context(), eve, i.ID, rondo.Action{Name: name, Reason: "x", ReasonCode: "manual_halt", Note: "wait", StepID: "boss", Outcome: "approved"})
		wantCode(t, string(name), err, rondo.CodeNotFound)
	}
	_, err := o.PlanMigration(t.Context(), eve, i.ID, rondo.Action{})
	wantCode(t, "plan", err, rondo.CodeNotFound)
	_, err = o.Why(t.Context(), eve, i.ID)
	wantCode(t, "why", err, rondo.CodeNotFound)
	_, err = o.NextStep(t.Context(), eve, i.ID)
	wantCode(t, "next step", err, rondo.CodeNotFound)
	_, err = o.Timeline(t.Context(), eve, i.ID)
	wantCode(t, "timeline", err, rondo.CodeNotFound)
	_, err = o.Interventions(t.Context(), eve, i.ID)
	wantCode(t, "interventions", err, rondo.CodeNotFound)
	err = o.FollowInstance(t.Context(), eve, i.ID, "", func(engine.Live) error { return errors.New("told") })
	wantCode(t, "stream", err, rondo.CodeNotFound)
}

func TestAssigneesCompleteManualStepsWithoutTheScope(t *testing.T) {
	o, i, _ := oneCase(t, manager)
	complete := rondo.Action{Name: rondo.ActionCompleteStep, StepID: "boss", Outcome: "approved"}
	mallory := rondo.Principal{Tenant: "acme", User: "mallory", Scopes: []string{rondo.ScopeRead}}
	_, err := o.Act(t.Context(), mallory, i.ID, complete)
	wantCode(t, "one who is not asked", err, rondo.CodeForbidden)
	cleo := rondo.Principal{Tenant: "acme", User: "cleo", Scopes: []string{rondo.ScopeRead}}
	after, err := o.Act(t.Context(), cleo, i.ID, complete)
	if err != nil || after.Status != rondo.StatusCompleted {
		t.Fatalf("the assignee: %v, %v", after, err)
	}
	_, err = o.Act(t.Context(), cleo, i.ID, complete)
	wantCode(t, "twice", err, rondo.CodeWrongState)
}

func TestMigrationsGoToPublishedDefinitionsOfTheCase(t *testing.T) {
	o, i, one := oneCase(t, reviewed)
	create := func(product, source string, publish bool) rondo.ID {
		t.Helper()
		d, err := o.CreateDefinition(t.Context(), user(), rondo.NewDefinition{ProductID: product, Source: []byte(source)})
		if err == nil && publish {
			d, err = o.PublishDefinition(t.Context(), user(), d.ID, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		return d.ID
	}
	migrate := func(to rondo.ID) error {
		_, err := o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: to})
		_, planned := o.PlanMigration(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: to})
		if rondo.CodeOf(err) != rondo.CodeOf(planned) {
			t.Errorf("migrating says %v, its plan %v", err, planned)
		}
		return err
	}
	wantCode(t, "to what it runs on", migrate(one.ID), rondo.CodeWrongState)
	wantCode(t, "to nothing newer", migrate(rondo.ID{}), rondo.CodeWrongState)
	wantCode(t, "to a draft", migrate(create("skin", reviewedTwice, false)), rondo.CodeWrongState)
	wantCode(t, "to another product's", migrate(create("bones", reviewedTwice, true)), rondo.CodeWrongState)
	wantCode(t, "to nobody's", migrate(rondo.ID{1}), rondo.CodeInvalid)
	templates, err := o.Templates(t.Context(), user())
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "to a template", migrate(templates[0].ID), rondo.CodeInvalid)

	renamed := create("skin", reviewRenamed, true)
	plan, err := o.PlanMigration(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: renamed})
	if err != nil || plan.Verdict == "moves" || plan.Reason == "" {
		t.Errorf("a plan that cannot move: %+v, %v", plan, err)
	}
	_, err = o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionMigrate, ToDefinition: renamed})
	wantCode(t, "what the plan forbids", err, rondo.CodeWrongState)
	if now, err := o.Instance(t.Context(), user(), i.ID); err != nil || now.Version != i.Version {
		t.Errorf("refused migrations changed the instance: version %d to %d, %v", i.Version, now.Version, err)
	}
}

// told tells somebody and then waits.
const told = `{"name": "tell", "start_step": "tell", "steps": {
	"tell": {"kind": "emit_webhook", "params": {"event_name": "begun"}, "transitions": {"on_complete": "ai_review"}},
	"ai_review": {"kind": "run_ai_review", "transitions": {"on_complete": "done"}},
	"done": {"kind": "emit_final", "transitions": {"on_complete": "TERMINAL"}}}}`

// What comes back for an emitted event is only noted; reading joins it to its
// step, whose row stays as it is.
func TestADeliveryIsJoinedToTheStepThatEmitted(t *testing.T) {
	o, i, _ := oneCase(t, told)
	rows, _, err := o.Steps(t.Context(), user(), i.ID)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	deliveries := func() map[string]rondo.Delivery {
		t.Helper()
		found, err := o.Deliveries(t.Context(), user(), i, rows)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	send := func(correlation, payload string) {
		t.Helper()
		e := event.Envelope{
			EventID: o.ids.New(), Type: event.TypeWebhookEmitCompleted, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now().UTC(),
			CorrelationID: correlation, CaseID: i.CaseID, OrgID: "acme", ProductID: "skin", Payload: json.RawMessage(payload),
		}
		if got, err := o.PublishEvent(t.Context(), user(), e.Encode()); err != nil || got.Outcome != rondo.OutcomeNoted {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	emitted := rows[0].CorrelationID
	send("another", `{"delivery_id":"d-0"}`)
	send(i.Machine.Live[0].CorrelationID, `{"delivery_id":"not of an emit step"}`)
	if found := deliveries(); len(found) != 0 {
		t.Errorf("before anything came back: %+v", found)
	}
	send(emitted, `{"delivery_id":"d-1","status":200}`)
	send(emitted, `{"delivery_id":"d-2"}`)
	got := deliveries()
	if len(got) != 1 || got[emitted].DeliveryID != "d-1" || string(got[emitted].Payload) != `{"delivery_id":"d-1","status":200}` || got[emitted].EventID.IsZero() || got[emitted].ReceivedAt.IsZero() {
		t.Errorf("the deliveries are %+v", got)
	}
	after, _, err := o.Steps(t.Context(), user(), i.ID)
	if diff := cmp.Diff(rows, after); diff != "" || err != nil {
		t.Errorf("the row changed (%v):\n%s", err, diff)
	}
	line, err := o.Timeline(t.Context(), user(), i.ID)
	if err != nil || !slices.ContainsFunc(line.Items, func(e explain.Entry) bool {
		return strings.Contains(e.Text, "what tell emitted was delivered (d-1)")
	}) {
		t.Errorf("the timeline does not tell of it: %+v, %v", line.Items, err)
	}
}

// What is wrong with the state of an instance is told before what is wrong with
// the target: a case that is over does not become movable by another target.
func TestAMigrationNamesTheWrongStateFirst(t *testing.T) {
	o, i, _ := oneCase(t, reviewed)
	migrate := rondo.Action{Name: rondo.ActionMigrate}
	if _, err := o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "not needed"}); err != nil {
		t.Fatal(err)
	}
	_, err := o.Act(t.Context(), user(), i.ID, migrate)
	wantCode(t, "of a cancelled case", err, rondo.CodeWrongState)
	if want := "the instance is cancelled, which does not allow migrate"; !strings.Contains(err.Error(), want) {
		t.Errorf("migrating says %v, want %s", err, want)
	}
	plan, err := o.PlanMigration(t.Context(), user(), i.ID, migrate)
	if want := "the instance is cancelled, which does not allow migrate"; err != nil || plan.Verdict != flow.MigrationCannot || plan.Reason != want {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	preview, err := o.PreviewBulk(t.Context(), user(), store.InstanceFilter{CaseID: i.CaseID}, migrate)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{plan.Reason: 1}, preview.Migration.Reasons); diff != "" {
		t.Errorf("the preview of many and the plan of one differ:\n%s", diff)
	}
}

// The preview of many says in the same words what the plan of one says.
func TestThePreviewOfManySpeaksLikeThePlanOfOne(t *testing.T) {
	o, i, _ := oneCase(t, reviewed)
	o.publish(reviewRenamed)
	migrate := rondo.Action{Name: rondo.ActionMigrate}
	plan, err := o.PlanMigration(t.Context(), user(), i.ID, migrate)
	if err != nil || plan.Reason == "" {
		t.Fatalf("%+v, %v", plan, err)
	}
	preview, err := o.PreviewBulk(t.Context(), user(), store.InstanceFilter{CaseID: i.CaseID}, migrate)
	if err != nil {
		t.Fatal(err)
	}
	if got := preview.Migration.Items[0]; got.Reason != plan.Reason || string(got.Verdict) != string(plan.Verdict) {
		t.Errorf("of many: %s %q, of one: %s %q", got.Verdict, got.Reason, plan.Verdict, plan.Reason)
	}
}

func TestOnlyAdminsListEveryOrganisation(t *testing.T) {
	o, _, _ := oneCase(t, reviewed)
	for name, test := range map[string]struct {
		p    rondo.Principal
		want int
	}{
		"an admin of another":  {rondo.Principal{Tenant: "beta", Scopes: []string{rondo.ScopeAdmin}}, 1},
		"a reader of another":  {rondo.Principal{Tenant: "beta", Scopes: []string{rondo.ScopeRead}}, 0},
		"a reader of the same": {rondo.Principal{Tenant: "acme", Scopes: []string{rondo.ScopeRead}}, 1},
	} {
		got, err := o.Instances(t.Context(), test.p, store.InstanceFilter{OrgID: engine.EveryOrg}, store.Page{Limit: 10})
		if err != nil || len(got) != test.want {
			t.Errorf("%s sees %d, %v", name, len(got), err)
		}
	}
}

// follower collects what a stream says until it has heard enough.
type follower struct {
	said  chan engine.Live
	ended chan error
	stop  context.CancelFunc
}

func follow(t *testing.T, run func(ctx context.Context, say func(engine.Live) error) error) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{said: make(chan engine.Live, 1000), ended: make(chan error, 1), stop: cancel}
	go func() {
		f.ended <- run(ctx, func(l engine.Live) error {
			if l.Entry != nil || l.Instance != nil {
				f.said <- l
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-f.ended
	})
	return f
}

// until returns what was said, up to and with what enough wants.
func (f *follower) until(t *testing.T, what string, enough func(engine.Live) bool) []engine.Live {
	t.Helper()
	var all []engine.Live
	timeout := time.After(30 * time.Second)
	for {
		select {
		case l := <-f.said:
			if all = append(all, l); enough(l) {
				return all
			}
		case <-timeout:
			t.Fatalf("the stream never said %s; it said %d things", what, len(all))
		}
	}
}

func ids(said []engine.Live) []string {
	var out []string
	for _, l := range said {
		if l.Entry != nil {
			out = append(out, l.Entry.ID)
		}
	}
	return out
}

func TestAnInstanceIsFollowedAndGoneOnWith(t *testing.T) {
	o, i, _ := oneCase(t, manager)
	status := func(want rondo.Status) func(engine.Live) bool {
		return func(l engine.Live) bool { return l.Instance != nil && l.Instance.Status == want }
	}
	watch := func(mark string) *follower {
		return follow(t, func(ctx context.Context, say func(engine.Live) error) error {
			return o.FollowInstance(ctx, of("acme", rondo.ScopeRead), i.ID, mark, say)
		})
	}
	first := watch("")
	begun := first.until(t, "how it stands", status(rondo.StatusRunning))
	if _, err := o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionHalt, ReasonCode: "manual_halt", Note: "wait"}); err != nil {
		t.Fatal(err)
	}
	halted := first.until(t, "that it halted", status(rondo.StatusHalted))
	mark := ""
	for _, l := range slices.Concat(begun, halted) {
		if l.Entry != nil {
			mark = l.Mark
		}
	}
	if _, err := o.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	rest := first.until(t, "that it ended", status(rondo.StatusCancelled))
	again := watch(mark).until(t, "that it ended", status(rondo.StatusCancelled))
	if diff := cmp.Diff(ids(rest), ids(again)); diff != "" {
		t.Errorf("who goes on at %s (-heard live +heard later):\n%s", mark, diff)
	}
	whole, err := o.Timeline(t.Context(), user(), i.ID)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range whole.Items {
		want = append(want, e.ID)
	}
	if diff := cmp.Diff(want, ids(slices.Concat(begun, halted, rest))); diff != "" {
		t.Errorf("the stream differs from the timeline (-timeline +stream):\n%s", diff)
	}
}

func TestOtherReplicasAreHeardToo(t *testing.T) {
	s := memory.Open(memory.Options{Embedded: true})
	here, there := openOffice(t, s, 0), openOffice(t, s, 0)
	t.Cleanup(here.close)
	t.Cleanup(there.close)
	here.publish(manager)
	here.start(1)
	i := here.instances(store.InstanceFilter{})[0]
	cancelled := func(l engine.Live) bool { return l.Instance != nil && l.Instance.Status == rondo.StatusCancelled }
	one := follow(t, func(ctx context.Context, say func(engine.Live) error) error {
		return there.FollowInstance(ctx, user(), i.ID, "", say)
	})
	one.until(t, "how it stands", func(l engine.Live) bool { return l.Instance != nil })
	connected := make(chan struct{}, 1000)
	all := follow(t, func(ctx context.Context, say func(engine.Live) error) error {
		return there.FollowInstances(ctx, user(), store.InstanceFilter{}, func(l engine.Live) error {
			connected <- struct{}{}
			return say(l)
		})
	})
	<-connected
	if _, err := here.Act(t.Context(), user(), i.ID, rondo.Action{Name: rondo.ActionCancel, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	one.until(t, "what the other replica did", cancelled)
	all.until(t, "what the other replica did", cancelled)
}

func TestAnOrganisationIsFollowedByItsOwnOnly(t *testing.T) {
	o, _, _ := oneCase(t, manager)
	open := func(p rondo.Principal, filter store.InstanceFilter) *follower {
		t.Helper()
		connected := make(chan struct{}, 1000)
		f := follow(t, func(ctx context.Context, say func(engine.Live) error) error {
			return o.FollowInstances(ctx, p, filter, func(l engine.Live) error {
				connected <- struct{}{}
				return say(l)
			})
		})
		<-connected
		return f
	}
	ours := open(of("acme", rondo.ScopeRead), store.InstanceFilter{})
	halts := open(of("acme", rondo.ScopeRead), store.InstanceFilter{Status: rondo.StatusHalted})
	foreign := open(of("beta", rondo.ScopeRead), store.InstanceFilter{OrgID: "acme"})
	i := o.instances(store.InstanceFilter{})[0]
	act := func(a rondo.Action) {
		t.Helper()
		if _, err := o.Act(t.Context(), user(), i.ID, a); err != nil {
			t.Fatal(err)
		}
	}
	status := func(want rondo.Status) func(engine.Live) bool {
		return func(l engine.Live) bool { return l.Instance.Status == want }
	}
	act(rondo.Action{Name: rondo.ActionSetMode, Mode: rondo.ModeClientDriven, Reason: "x"})
	ours.until(t, "the new mode", func(l engine.Live) bool { return l.Instance.Mode == rondo.ModeClientDriven })
	act(rondo.Action{Name: rondo.ActionHalt, ReasonCode: "manual_halt", Note: "wait"})
	if heard := halts.until(t, "the halt", status(rondo.StatusHalted)); len(heard) != 1 {
		t.Errorf("the filter let through what had not halted: %d", len(heard))
	}
	act(rondo.Action{Name: rondo.ActionCancel, Reason: "x"})
	ours.until(t, "the end", status(rondo.StatusCancelled))
	halts.until(t, "what became of a halted case", status(rondo.StatusCancelled))
	select {
	case l := <-foreign.said:
		t.Errorf("another organisation heard of %s", l.Instance.CaseID)
	default:
	}
}

func TestStoppingTheEngineEndsItsStreams(t *testing.T) {
	o := openOffice(t, memory.Open(memory.Options{Embedded: true}), 0)
	ended := make(chan error, 1)
	connected := make(chan struct{}, 1000)
	go func() {
		ended <- o.FollowInstances(t.Context(), user(), store.InstanceFilter{}, func(engine.Live) error {
			connected <- struct{}{}
			return nil
		})
	}()
	<-connected
	o.close()
	wantCode(t, "the stream", <-ended, rondo.CodeUnavailable)
}
