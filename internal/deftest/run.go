package deftest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
)

// Run plays every test on a definition.
func Run(snap *definition.Snapshot, tests []Test) Report {
	report := Report{Results: make([]Result, 0, len(tests))}
	var seen []Seen
	for i := range tests {
		result := runOne(snap, &tests[i])
		if result.Passed {
			report.Passed++
		} else {
			report.Failed++
		}
		seen = append(seen, result.Seen)
		report.Results = append(report.Results, result)
	}
	report.Coverage = coverage(snap, seen)
	return report
}

func runOne(snap *definition.Snapshot, test *Test) Result {
	result := Result{Name: test.Name, Failures: []string{}}
	for id := range test.Given.Steps {
		if snap.Steps[id] == nil {
			result.Failures = append(result.Failures, fmt.Sprintf("given.steps names %q, which the definition does not have", id))
		}
	}
	slices.Sort(result.Failures)
	result.Seen = newPlay(snap, rondo.ID{}, &test.Given).run()
	result.Failures = append(result.Failures, result.Seen.Refused...)
	result.Failures = append(result.Failures, test.Expect.compare(snap, &result.Seen)...)
	result.Passed = len(result.Failures) == 0
	return result
}

// compare lists where what was seen is not what was expected.
func (e *Expect) compare(snap *definition.Snapshot, seen *Seen) (failures []string) {
	differs := func(what string, want, got any) {
		failures = append(failures, fmt.Sprintf("%s: expected %v, saw %v", what, want, got))
	}
	if e.Status != "" && e.Status != seen.Status {
		differs("status", e.Status, seen.standing())
	}
	if e.HaltReason != "" && e.HaltReason != seen.HaltReason {
		differs("halt_reason", e.HaltReason, orNone(seen.HaltReason))
	}
	if e.HaltStepID != "" && e.HaltStepID != seen.HaltStepID {
		differs("halt_step_id", e.HaltStepID, orNone(seen.HaltStepID))
	}
	if e.Path != nil && !slices.Equal(e.Path, seen.Path) {
		differs("path", strings.Join(e.Path, " → "), strings.Join(seen.Path, " → "))
	}
	if e.Waiting != nil && !slices.Equal(sorted(e.Waiting), sorted(seen.Waiting)) {
		differs("waiting", sorted(e.Waiting), sorted(seen.Waiting))
	}
	if e.Took != nil && *e.Took != seen.Took {
		differs("took", time.Duration(*e.Took), time.Duration(seen.Took))
	}
	if missing := notInOrder(e.Events, seen.Events); missing != "" {
		failures = append(failures, fmt.Sprintf("events: expected %s to be sent in this order, saw %s", missing, strings.Join(seen.Events, ", ")))
	}
	for _, path := range sortedKeys(e.Context) {
		if got := valueAt(seen.context, path); !same(e.Context[path], got) {
			differs("context "+path, string(e.Context[path]), orNone(string(got)))
		}
	}
	if e.Waiting == nil && e.Status != rondo.StatusRunning && seen.Status == rondo.StatusRunning {
		for _, id := range seen.Waiting {
			if step := snap.Steps[id]; step != nil && waits(step) {
				failures = append(failures, fmt.Sprintf("the case still waits at %s: say under given.steps what answers it, or silent: true", id))
			}
		}
	}
	return failures
}

// standing is the status with what explains it.
func (s *Seen) standing() string {
	switch {
	case s.Status == "":
		return "that no case began: the payload of given.case was refused"
	case s.Status == rondo.StatusHalted:
		return fmt.Sprintf("halted (%s at %s)", s.HaltReason, s.HaltStepID)
	case s.Status == rondo.StatusRunning && len(s.Waiting) > 0:
		return fmt.Sprintf("running (waiting at %s)", strings.Join(s.Waiting, ", "))
	}
	return string(s.Status)
}

// notInOrder returns the first wanted event type that does not come, in order,
// among those sent.
func notInOrder(want, got []string) string {
	for _, w := range want {
		i := slices.Index(got, w)
		if i < 0 {
			return w
		}
		got = got[i+1:]
	}
	return ""
}

func coverage(snap *definition.Snapshot, seen []Seen) Coverage {
	steps, ways := map[string]bool{}, map[string]bool{}
	for _, s := range seen {
		for _, row := range s.steps {
			steps[row.StepID] = true
			if row.Outcome != "" {
				ways[row.StepID+"."+row.Outcome] = true
			}
		}
		for _, id := range s.Waiting {
			steps[id] = true
		}
	}
	c := Coverage{StepsMissing: []string{}, TransitionsMissed: []string{}}
	for _, id := range snap.Order {
		c.Steps++
		if steps[id] {
			c.StepsTaken++
		} else {
			c.StepsMissing = append(c.StepsMissing, id)
		}
		for _, outcome := range sortedKeys(snap.Steps[id].Transitions) {
			c.Transitions++
			if way := id + "." + outcome; ways[way] {
				c.TransitionsTaken++
			} else {
				c.TransitionsMissed = append(c.TransitionsMissed, way)
			}
		}
	}
	if c.Transitions > 0 {
		c.Percent = float64(c.TransitionsTaken*1000/c.Transitions) / 10
	}
	return c
}

func valueAt(c rondo.Context, path string) json.RawMessage {
	parts := strings.Split(path, ".")
	raw := c[parts[0]]
	for _, name := range parts[1:] {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		raw = members[name]
	}
	return raw
}

// same compares two values by meaning; absent is null.
func same(a, b json.RawMessage) bool {
	left, err := canon.JSON(orNull(a))
	if err != nil {
		return false
	}
	right, err := canon.JSON(orNull(b))
	return err == nil && string(left) == string(right)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func orNone(s string) string { return or(s, "none") }

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
