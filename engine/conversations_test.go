package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine"
	"github.com/rondo-engine/rondo/engine/chat"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/turn"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

const greeter = `{"name":"greeter","steps":["open","closed"],"machine":{"id":"greeter","initial":"open","states":{
	"open":{"on":{"BYE":"closed"}},"closed":{"type":"final"}}},"signals":[{"when":"turn.nextAction == 'complete'","event":"BYE"}]}`

// publishConversation makes a source the active conversation definition of its
// name.
func publishConversation(t *testing.T, e *engine.Engine, source string) rondo.Definition {
	t.Helper()
	draft := must(e.CreateDefinition(t.Context(), author, rondo.NewDefinition{Kind: rondo.KindConversation, Source: []byte(source)}))(t)
	return must(e.PublishDefinition(t.Context(), author, draft.ID, "test"))(t)
}

func TestAConversationKeepsTheDefinitionItWasStartedWith(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		ctx := t.Context()
		first := publishConversation(t, e, greeter)
		if first.SnapshotHash == "" {
			t.Fatal("publishing froze nothing")
		}
		_, ref, err := e.Conversations().Named(ctx, author.Tenant, "greeter")
		if err != nil {
			t.Fatal(err)
		}
		if want := (rondo.DefinitionRef{ID: first.ID.String(), Name: first.Name, Version: 1, Hash: first.SnapshotHash}); ref != want {
			t.Errorf("new conversations have %v, want %v", ref, want)
		}
		second := publishConversation(t, e, strings.Replace(greeter, `["open","closed"]`, `["open","closed","more"]`, 1))
		definitions := e.Conversations() // knows nothing yet
		then, err := definitions.Frozen(ctx, author.Tenant, ref)
		if err != nil || len(then.Steps) != 2 {
			t.Errorf("the conversation goes on with %v (%v), want the two steps it began with", then, err)
		}
		now, ref, err := definitions.Named(ctx, author.Tenant, "greeter")
		if err != nil || len(now.Steps) != 3 || ref.Hash != second.SnapshotHash {
			t.Errorf("new ones have %v %v (%v), want the newer definition", now, ref, err)
		}
		if again, _, err := definitions.Named(ctx, author.Tenant, "greeter"); err != nil || again != now {
			t.Error("a definition that is known was compiled again")
		}
		if _, _, err := definitions.Named(ctx, stranger.Tenant, "greeter"); rondo.CodeOf(err) != rondo.CodeNotFound {
			t.Errorf("another organisation finds it: %v", err)
		}
	})
}

func TestTheOrderOfStatesOutlivesFreezing(t *testing.T) {
	t.Parallel()
	onEveryKindOfStore(t, func(t *testing.T, e *engine.Engine) {
		const regions = `{"name":"regions","steps":["zero","alpha"],"machine":{"id":"r","type":"parallel","states":{
			"z":{"initial":"zero","states":{"zero":{}}},"a":{"initial":"alpha","states":{"alpha":{}}}}},"signals":[]}`
		publishConversation(t, e, regions)
		_, ref, err := e.Conversations().Named(t.Context(), author.Tenant, "regions")
		if err != nil {
			t.Fatal(err)
		}
		frozen, err := e.Conversations().Frozen(t.Context(), author.Tenant, ref)
		if err != nil {
			t.Fatal(err)
		}
		out, err := frozen.Start(time.Now(), turn.Reply{})
		if err != nil || out.State.Step != "zero" {
			t.Errorf("it begins at %q (%v), want zero: the region that is written first", out.State.Step, err)
		}
	})
}

func TestShippedConversationsAreThereForEveryone(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	definitions := e.Conversations()
	templates := map[string]rondo.Definition{}
	for _, d := range must(e.Templates(ctx, author))(t) {
		if d.Kind == rondo.KindConversation {
			templates[d.Name] = d
		}
	}
	for name := range turn.Shipped() {
		compiled, ref, err := definitions.Named(ctx, author.Tenant, name)
		if err != nil || compiled.Name != name || ref.ID != name || ref.Version != 0 || ref.Hash == "" {
			t.Errorf("%s: %v %v (%v)", name, compiled, ref, err)
		}
		if again, err := e.Conversations().Frozen(ctx, author.Tenant, ref); err != nil || again.Name != name {
			t.Errorf("%s cannot be found again: %v", name, err)
		}
		clone := must(e.CloneDefinition(ctx, author, templates[name].ID, rondo.DefinitionCopy{}))(t)
		published := must(e.PublishDefinition(ctx, author, clone.ID, "own"))(t)
		if _, own, err := definitions.Named(ctx, author.Tenant, name); err != nil || own.ID != published.ID.String() {
			t.Errorf("%s: the organisation's own one does not come first: %v (%v)", name, own, err)
		}
	}
	if _, _, err := definitions.Named(ctx, author.Tenant, "nobody"); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("a name that is not there: %v", err)
	}
}

// TestAShippedDefinitionOfAnEarlierVersionStaysUsable plays an upgrade that
// changed a shipped definition: what it was is still there as a template.
func TestAShippedDefinitionOfAnEarlierVersionStaysUsable(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	older := strings.Replace(greeter, `"greeter","steps"`, `"default","steps"`, 1)
	created := must(e.CreateDefinition(ctx, admin, rondo.NewDefinition{Kind: rondo.KindConversation, Template: true, Source: []byte(older)}))(t)
	mine := must(e.CloneDefinition(ctx, author, must(e.PublishDefinition(ctx, admin, created.ID, "older"))(t).ID, rondo.DefinitionCopy{}))(t)
	hash := must(e.PublishDefinition(ctx, author, mine.ID, "to know its hash"))(t).SnapshotHash
	found, err := e.Conversations().Frozen(ctx, stranger.Tenant, rondo.DefinitionRef{ID: "default", Hash: hash})
	if err != nil || len(found.Steps) != 2 {
		t.Errorf("found %v (%v), want the definition of then", found, err)
	}
	_, err = e.Conversations().Frozen(ctx, author.Tenant, rondo.DefinitionRef{ID: "default", Hash: strings.Repeat("0", 64)})
	if rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("one that never was: %v", err)
	}
}

func TestAnEngineStartsAmongFrozenConversations(t *testing.T) {
	t.Parallel()
	s := memory.Open(memory.Options{Embedded: true})
	publishConversation(t, begin(t, s), greeter)
	begin(t, s) // it reads every snapshot for event types
}

const awaiting = `{"name":"Awaiting","start_step":"wait","steps":{
	"wait":{"kind":"wait_for_event","params":{"event_type":"ext.customer.answered"},"transitions":{"on_event":"done"}},
	"done":{"kind":"emit_final","transitions":{"on_complete":"TERMINAL"}}}}`

func TestARaisedEventReachesItsCaseOnce(t *testing.T) {
	t.Parallel()
	e, ctx := inMemory(t), t.Context()
	draft := must(e.CreateDefinition(ctx, author, rondo.NewDefinition{Source: []byte(awaiting)}))(t)
	must(e.PublishDefinition(ctx, author, draft.ID, "test"))(t)
	created := event.Envelope{
		EventID: rondo.NewIDs(time.Now).New(), Type: event.TypeCaseCreated, SchemaVersion: event.SchemaVersion, OccurredAt: time.Now(),
		CorrelationID: "c-1", CaseID: "c-1", OrgID: author.Tenant, ProductID: "skin",
	}
	must(e.PublishEvent(ctx, author, created.Encode()))(t)
	raised := rondo.RaisedEvent{
		EventID: chat.EventID("7c9e6679-7425-40de-944b-e07fc1f90ae7", 1, 0), Type: "ext.customer.answered", CaseID: "c-1",
		Payload: json.RawMessage(`{"topic":"billing"}`), OccurredAt: time.Now(),
	}
	for range 2 {
		if err := e.Relay().Raise(ctx, author.Tenant, raised); err != nil {
			t.Fatal(err)
		}
	}
	found := must(e.Instances(ctx, author, store.InstanceFilter{OrgID: author.Tenant, CaseID: "c-1"}, store.Page{Limit: 1}))(t)
	if len(found) != 1 || found[0].Status != rondo.StatusCompleted {
		t.Fatalf("the case is %+v, want completed", found)
	}
	id := must(rondo.ParseID(raised.EventID))(t)
	row := must(e.Event(ctx, author, id))(t)
	if row.Outcome != rondo.OutcomeApplied || row.Duplicates != 1 {
		t.Errorf("the ledger has %s, %d repeats, want applied and one repeat", row.Outcome, row.Duplicates)
	}
	if letters := must(e.DeadLetters(ctx, author, store.DeadLetterFilter{}, store.Page{}))(t); len(letters) > 0 {
		t.Errorf("there are dead letters: %v", letters)
	}
}

func TestARaisedEventThatNobodyTakesIsADeadLetter(t *testing.T) {
	t.Parallel()
	for name, raised := range map[string]rondo.RaisedEvent{
		"of no known type":           {Type: "ext.nobody.knows", CaseID: "c-1"},
		"that only Rondo may say":    {Type: event.TypeWorkflowStarted, CaseID: "c-1"},
		"that is for no case at all": {Type: event.TypeConversationCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ctx := inMemory(t), t.Context()
			raised.EventID, raised.OccurredAt = chat.EventID("7c9e6679-7425-40de-944b-e07fc1f90ae7", 1, 0), time.Now()
			for range 2 {
				if err := e.Relay().Raise(ctx, author.Tenant, raised); err != nil {
					t.Fatalf("it would be given again for ever: %v", err)
				}
			}
			letters := must(e.DeadLetters(ctx, author, store.DeadLetterFilter{}, store.Page{}))(t)
			var streams []string
			for _, letter := range letters {
				streams = append(streams, letter.Stream)
			}
			if diff := cmp.Diff([]string{raised.Type}, streams); diff != "" {
				t.Errorf("dead letters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheIDOfAConversationFollowsFromItsStep(t *testing.T) {
	t.Parallel()
	const step = "0192f0c1-0000-7000-8000-000000000001"
	id := engine.ConversationID("acme", step)
	if _, err := rondo.ParseID(id); err != nil || id != engine.ConversationID("acme", step) {
		t.Errorf("%s is not always the same UUID", id)
	}
	for _, other := range []string{engine.ConversationID("beta", step), engine.ConversationID("acme", "not-a-uuid"), engine.ConversationID("acme", step+" ")} {
		if other == id {
			t.Error("two steps share a conversation")
		}
	}
}
