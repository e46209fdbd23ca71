package plan

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

// wide is a workflow of n steps in a hundred lanes, with joins, whose steps read what
// is before them and the trigger.
func wide(n int) []byte {
	type step struct {
		ID        string   `json:"id"`
		Skill     string   `json:"skill"`
		DependsOn []string `json:"depends_on"`
		Input     any      `json:"input"`
	}
	steps := make([]step, n)
	for i := range n {
		input := map[string]any{"brief": map[string]string{"trigger": "brief"}, "level": map[string]any{"const": 0.8}}
		steps[i] = step{ID: name(i), Skill: "simulated.work@1", DependsOn: []string{}, Input: input}
		for _, back := range []int{100, 101, 150} {
			if i-back >= 0 && (back == 100 || i%7 == 0) {
				before := name(i - back)
				steps[i].DependsOn = append(steps[i].DependsOn, before)
				input["from_"+before] = map[string]string{"step": before, "path": "data.value"}
			}
		}
	}
	return []byte(asJSON(map[string]any{"name": "wide", "version": "1.0.0", "steps": steps, "changes": map[string]any{"some.update": []string{name(50)}}}))
}

// plan10k compiles a workflow and forecasts an initial run of which everything is in
// the cache, so that every input is resolved and every key made.
func plan10k(tb testing.TB, document []byte) {
	tb.Helper()
	w, err := Compile(document, server{})
	if err != nil {
		tb.Fatal(err)
	}
	f := NewForecast(ForecastInput{Workflow: w, Tenant: "t", Trigger: json.RawMessage(`{"brief":{"title":"Summer Sale Campaign","style":"energetic"}}`)})
	for asks := f.Next(); len(asks) > 0; asks = f.Next() {
		found := make(map[string]Found, len(asks))
		for _, ask := range asks {
			found[ask.Key] = Found{Entry: &rondo.CacheEntry{Key: ask.Key, Data: json.RawMessage(fmt.Sprintf(`{"value":%d}`, ask.Step))}}
		}
		f.Answer(time.Time{}, found)
	}
	for _, p := range f.Steps() {
		if p.Decision != WouldReuse {
			tb.Fatalf("step %d: %s %s", p.Step, p.Decision, p.Reason)
		}
	}
}

func TestTenThousandStepsArePlanned(t *testing.T) { plan10k(t, wide(10_000)) }

func BenchmarkPlan10k(b *testing.B) {
	document := wide(10_000)
	b.ReportAllocs()
	for b.Loop() {
		plan10k(b, document)
	}
}
