package turn

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rondo-engine/rondo"
)

// anyJSON draws values that agents might send.
func anyJSON(depth int) *rapid.Generator[string] {
	plain := rapid.SampledFrom([]string{
		`null`, `true`, `false`, `0`, `1.50`, `-1e3`, `12345678901234567890`, `""`, `"ask"`, `"confirm"`, `"complete"`, `"error"`, `"$&"`, `"{}"`, `"\u2028<&>"`, `"\ud83d\ude00"`,
	})
	if depth == 0 {
		return plain
	}
	return rapid.OneOf(plain, rapid.Custom(func(t *rapid.T) string {
		list := rapid.SliceOfN(anyJSON(depth-1), 0, 3).Draw(t, "list")
		out := "["
		for i, item := range list {
			out += []string{"", ","}[min(i, 1)] + item
		}
		return out + "]"
	}), anyObject(depth-1))
}

// anyObject draws objects with the names that matter, and others.
func anyObject(depth int) *rapid.Generator[string] {
	names := rapid.SampledFrom([]string{"action", "prompt", "data", "confidence", "citations", "signal", "on", "held", "amount", "payment_method", "confirmed", "choices", "event", "x", "é", "type"})
	return rapid.Custom(func(t *rapid.T) string {
		out := "{"
		for i, name := range rapid.SliceOfNDistinct(names, 0, 4, rapid.ID[string]).Draw(t, "names") {
			out += []string{"", ","}[min(i, 1)] + fmt.Sprintf("%q:", name) + anyJSON(depth).Draw(t, name)
		}
		return out + "}"
	})
}

// anyReply draws answers.
func anyReply(t *rapid.T) Reply {
	var list []rondo.Activity
	for range rapid.IntRange(0, 3).Draw(t, "activities") {
		a := rondo.Activity{
			Type: rapid.SampledFrom([]string{"message", "message", "message", "handoff", "endOfConversation", "typing", "event", ""}).Draw(t, "type"),
			Text: rapid.SampledFrom([]string{"", "hi", "{}", "$&", "}{"}).Draw(t, "text"),
			Code: rapid.SampledFrom([]string{"", "completedSuccessfully", "error"}).Draw(t, "code"),
		}
		if rapid.Bool().Draw(t, "bot") {
			a.From = bot()
		}
		switch rapid.IntRange(0, 4).Draw(t, "where") {
		case 0:
			a.Value = json.RawMessage(anyJSON(3).Draw(t, "value"))
		case 1:
			a.Text += "```json\n" + anyJSON(3).Draw(t, "fenced") + "\n```"
		case 2:
			a.Entities = []json.RawMessage{json.RawMessage(anyJSON(2).Draw(t, "entity")), json.RawMessage(anyJSON(2).Draw(t, "entity"))}
		case 3:
			a.Attachments = []rondo.Attachment{{ContentType: rondo.AdaptiveCardType, Content: json.RawMessage(anyJSON(3).Draw(t, "card"))}}
		}
		list = append(list, a)
	}
	return Normalize(list, counted())
}

// Whatever agents answer: turns never panic, leave what came in as it is, and come
// to the same whether the state was stored in between or not.
func TestTurnsNeverPanicAndAreThoseOfTheStoredState(t *testing.T) {
	definitions := []*Definition{
		shipped(t, "default"), shipped(t, "payment"), compiled(t, lamp),
		compiled(t, small(`"merge":{"default":"confirm_on_change"}`)), compiled(t, small(`"merge":{"default":"append"}`)),
	}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(definitions).Draw(t, "definition")
		out, err := d.Start(noon, anyReply(t))
		if err != nil {
			t.Fatal(err)
		}
		state := out.State
		now := noon
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "seconds")) * time.Second)
			take := anyStep(t, d, state, now)
			kept := cloneState(state)
			read := readAgain(t, state)
			next, err := take(state)
			again, errAgain := take(read)
			if !reflect.DeepEqual(kept, cloneState(state)) {
				t.Fatalf("the state that came in was changed: %s", cmp.Diff(kept, state))
			}
			if fmt.Sprint(err) != fmt.Sprint(errAgain) {
				t.Fatalf("after storing: %v, without: %v", errAgain, err)
			}
			if diff := cmp.Diff(next, again, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("a stored state goes on in another way (-kept +stored):\n%s", diff)
			}
			if err != nil {
				if rondo.CodeOf(err) != rondo.CodeWorkflowLogic {
					t.Fatal(err)
				}
				continue
			}
			mustHold(t, d, state, next)
			if state = next.State; state.Status == rondo.WorkflowCompleted {
				return
			}
		}
	})
}

// anyStep draws a turn, or a timer that goes off.
func anyStep(t *rapid.T, d *Definition, state rondo.ConversationState, now time.Time) func(rondo.ConversationState) (Outcome, error) {
	if len(state.Timers) > 0 && rapid.IntRange(0, 3).Draw(t, "timer") == 0 {
		id := state.Timers[0].ID
		return func(s rondo.ConversationState) (Outcome, error) { return d.Fire(s, id, now) }
	}
	reply := anyReply(t)
	return func(s rondo.ConversationState) (Outcome, error) {
		return d.Decide(Input{Before: s, Kind: rondo.TurnByText, Reply: reply, Now: now})
	}
}

func readAgain(t *rapid.T, s rondo.ConversationState) rondo.ConversationState {
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read rondo.ConversationState
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// mustHold are the rules that every outcome keeps.
func mustHold(t *rapid.T, d *Definition, before rondo.ConversationState, o Outcome) {
	turns := 1
	if o.Record.Kind == rondo.TurnByTimer {
		turns = 0
	}
	s := o.State
	switch {
	case s.TurnCount != before.TurnCount+turns || o.Meta.TurnNumber != s.TurnCount:
		t.Fatalf("turn %d after %d", s.TurnCount, before.TurnCount)
	case s.Step == "" || s.CollectedData == nil || o.Meta.CollectedThisTurn == nil:
		t.Fatalf("something is missing: %+v", s)
	case s.Progress == nil || *s.Progress < 0 || *s.Progress > 1 || (s.Status == rondo.WorkflowCompleted) != (o.Progress.PercentComplete == 100):
		t.Fatalf("progress is %+v", o.Progress)
	case (o.Status == rondo.ConversationCompleted) != (s.Status == rondo.WorkflowCompleted):
		t.Fatalf("the conversation is %s, the workflow %s", o.Status, s.Status)
	case o.Record.From != before.Step || o.Record.To != s.Step:
		t.Fatalf("the record says from %s to %s", o.Record.From, o.Record.To)
	}
	for field := range s.CollectedData {
		if _, known := s.Provenance[field]; !known {
			t.Fatalf("nobody knows where %s comes from", field)
		}
	}
	if p := o.Parsed; (p.Kind == rondo.TurnStructured) != (p.Data != nil) || (p.Kind == rondo.TurnParseError) != (len(p.ParseErrors) > 0) {
		t.Fatalf("parsed as %+v", p)
	}
	if _, err := json.Marshal(o); err != nil {
		t.Fatal(err)
	}
}
