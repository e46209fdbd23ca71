package cli

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

func TestWhyATurnMovedOrDidNotIsToldInWords(t *testing.T) {
	t.Parallel()
	notHeld := rondo.Candidate{Name: "GO", Result: "not held"}
	held := rondo.Candidate{Name: "GO", Result: "held"}
	chosen := func(name string) rondo.Candidate { return rondo.Candidate{Name: name, Result: "chosen"} }
	for name, test := range map[string]struct {
		turn rondo.TurnRecord
		want string
	}{
		"the start":   {rondo.TurnRecord{Kind: rondo.TurnByStart}, ""},
		"no rule":     {rondo.TurnRecord{Kind: rondo.TurnByText}, "no signal held"},
		"none held":   {rondo.TurnRecord{Kind: rondo.TurnByCard, Signals: []rondo.Candidate{notHeld}}, "no signal held"},
		"handed over": {rondo.TurnRecord{Kind: rondo.TurnByText, Event: "HANDOFF", Handled: true, Transitions: []rondo.Candidate{chosen("m HANDOFF[0] → m.desk")}}, "the agent handed over; m HANDOFF[0] → m.desk chosen"},
		"not sure enough": {
			rondo.TurnRecord{Kind: rondo.TurnByText, Signals: []rondo.Candidate{{Name: "minConfidence", Result: "refused", Reason: "too low"}}}, "too low",
		},
		"no transition": {
			rondo.TurnRecord{Kind: rondo.TurnByText, Signals: []rondo.Candidate{held}, Event: "GO", From: "a"}, "GO; GO: no transition for it in a",
		},
		"a guard": {
			rondo.TurnRecord{Kind: rondo.TurnByText, Signals: []rondo.Candidate{held}, Event: "GO", Transitions: []rondo.Candidate{
				{Name: "m.a GO[0] → m.b", Result: "refused", Reason: "the guard does not hold: context.turnCount > 3"},
			}},
			"GO; m.a GO[0] → m.b: guard context.turnCount > 3 was false",
		},
		"regions": {
			rondo.TurnRecord{Kind: rondo.TurnByTimer, Event: "GO", Handled: true, From: "a", To: "b", Transitions: []rondo.Candidate{
				chosen("m.y GO[0]"), chosen("m.x.c GO[0] → m.x.d"), {Name: "m.z GO[0]", Result: "lost", Reason: "taken below"}, chosen("m.w.a GO[0] → m.w.b"),
			}},
			"m.w.a GO[0] → m.w.b chosen; m.x.c GO[0] → m.x.d chosen; m.y GO[0] chosen",
		},
	} {
		if got := why(test.turn); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestADefinitionIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for want, ref := range map[string]rondo.DefinitionRef{
		"returns, version 3": {ID: "0190", Name: "returns", Version: 3},
		"0190, version 3":    {ID: "0190", Version: 3},
		"payment":            {ID: "payment"},
	} {
		if got := definitionWord(ref); got != want {
			t.Errorf("%+v is called %q, want %q", ref, got, want)
		}
	}
}

func TestAConversationOfACaseSaysWhichAndWhatItIsCalled(t *testing.T) {
	t.Parallel()
	of := rondo.Conversation{Case: &rondo.CaseLink{CaseID: "C-1"}, Metadata: []byte(`{"title":"Your return"}`)}
	if caseOf(of) != "C-1" || titleOf(of) != "Your return" {
		t.Errorf("%q, %q, want C-1 and its title", caseOf(of), titleOf(of))
	}
	if own := (rondo.Conversation{Metadata: []byte(`7`)}); caseOf(own) != "" || titleOf(own) != "" {
		t.Errorf("%q, %q, want no case and no title", caseOf(own), titleOf(own))
	}
}

func TestWhyAReplayedTurnDiffers(t *testing.T) {
	t.Parallel()
	for want, turn := range map[string]replayedTurn{
		"the same": {},
		"the workflow is completed before: the turn is not taken": {Refused: true, Differs: true},
		"it broke":            {Error: "it broke", Differs: true},
		"it begins elsewhere": {Kind: rondo.TurnByStart, Differs: true},
		"GO leads elsewhere":  {Kind: rondo.TurnByText, Differs: true, Then: replayedStance{Event: "GO", Handled: true}, Now: replayedStance{Event: "GO", Handled: true}},
		"then GO, now no event": {
			Kind: rondo.TurnByText, Differs: true, Then: replayedStance{Event: "GO", Handled: true},
		},
	} {
		if got := turn.why(); got != want {
			t.Errorf("%+v: %q, want %q", turn, got, want)
		}
	}
}
