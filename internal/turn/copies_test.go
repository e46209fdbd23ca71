package turn

import (
	"testing"

	"github.com/rondo-engine/rondo"
)

// What comes out shares nothing with what went in: changing one never shows in the
// other.
func TestAnOutcomeSharesNothingWithTheStateBefore(t *testing.T) {
	d := compiled(t, lamp)
	before := decided(t, d, begun(t, d), says(`{"data":{"held":1,"other":"x"}}`)).State
	before = decided(t, d, before, says(`{"data":{"held":2}}`)).State // held back: there is a proposal
	before.Pending = []rondo.RaisedEvent{{EventID: "e", Payload: []byte(`{"p":1}`)}}
	before.Timers = []rondo.ConversationTimer{{ID: "deadline", Kind: rondo.TimerDeadline}}
	before.Choices = []string{"a"}
	want := js(t, before)
	for name, take := range map[string]func() (Outcome, error){
		"turn": func() (Outcome, error) {
			return d.Decide(Input{Before: before, Kind: rondo.TurnByText, Reply: talks("hm"), Now: noon})
		},
		"timer": func() (Outcome, error) { return d.Fire(before, "none", noon) },
		"end":   func() (Outcome, error) { return d.End(before, "completed", noon) },
	} {
		out, err := take()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for field, value := range out.State.CollectedData {
			value[0] = '!'
			delete(out.State.CollectedData, field)
		}
		for field, p := range out.State.Provenance {
			p.Value[0] = '!'
			delete(out.State.Provenance, field)
		}
		for _, p := range out.State.Proposed {
			p.Value[0] = '!'
		}
		clear(out.State.Proposed)
		out.State.Pending[0].Payload[0] = '!'
		out.State.Machine[0] = '!'
		*out.State.Progress = 9
		for i := range out.State.Timers {
			out.State.Timers[i].ID = "!"
		}
		if got := js(t, before); got != want {
			t.Errorf("%s: the state before is now\n%s\nand was\n%s", name, got, want)
		}
	}
}
