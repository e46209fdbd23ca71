package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/demo"
	"github.com/rondo-engine/rondo/skill"
)

var simulatedNames = []string{
	"simulated.plan@1", "simulated.image@1", "simulated.segment@1", "simulated.video@1", "simulated.music@1", "simulated.sfx@1",
	"simulated.mix@1", "simulated.config@1", "simulated.bundle@1", "simulated.manifest@1", "simulated.validate@1",
}

func TestSimulatedSkillsGiveTheSameForTheSameInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		skills := demo.SimulatedSkills(demo.SkillOptions{})
		if len(skills) != len(simulatedNames) {
			t.Errorf("there are %d skills, want %d", len(skills), len(simulatedNames))
		}
		for _, name := range simulatedNames {
			begun := time.Now()
			one, err := skills[name].Do(t.Context(), skill.Call{Input: json.RawMessage(`{"a":1,"b":[2]}`)})
			took := time.Since(begun)
			if err != nil || !one.OK || !json.Valid(one.Data) {
				t.Errorf("%s: %+v, %v", name, one, err)
			}
			if took < 300*time.Millisecond || took > 8*time.Second {
				t.Errorf("%s took %s, want 0.3 to 8 s", name, took)
			}
			same, _ := skills[name].Do(t.Context(), skill.Call{Input: json.RawMessage(`{"b":[2],"a":1.0}`), Attempt: 3})
			if diff := cmp.Diff(one.Data, same.Data); diff != "" {
				t.Errorf("%s: the same input gives other data:\n%s", name, diff)
			}
			other, _ := skills[name].Do(t.Context(), skill.Call{Input: json.RawMessage(`{"a":2,"b":[2]}`)})
			if cmp.Diff(one.Data, other.Data) == "" {
				t.Errorf("%s: another input gives the same data", name)
			}
			for _, artifact := range one.Artifacts {
				if len(artifact.Bytes) < 10 || len(artifact.Bytes) > 8<<10 || artifact.Type == "" || artifact.Name == "" {
					t.Errorf("%s: the artifact %s of type %s has %d bytes", name, artifact.Name, artifact.Type, len(artifact.Bytes))
				}
			}
			if one.Debug == nil || one.Debug.Calls != 1 {
				t.Errorf("%s: debug is %+v", name, one.Debug)
			}
		}
	})
}

func TestSimulatedSkillsAreFasterOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, fast := demo.SimulatedSkills(demo.SkillOptions{}), demo.SimulatedSkills(demo.SkillOptions{Speed: 100})
		took := func(s skill.Skill) time.Duration {
			begun := time.Now()
			if _, err := s.Do(t.Context(), skill.Call{Input: json.RawMessage(`{}`)}); err != nil {
				t.Error(err)
			}
			return time.Since(begun)
		}
		for _, name := range simulatedNames {
			if a, b := took(slow[name]), took(fast[name]); (a/100 - b).Abs() > time.Microsecond {
				t.Errorf("%s: %s, hundred times as fast %s", name, a, b)
			}
		}
	})
}

func TestSimulatedSkillsStopWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := demo.SimulatedSkills(demo.SkillOptions{})["simulated.video@1"].Do(ctx, skill.Call{Input: json.RawMessage(`{}`)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's own", err)
		}
	})
}

func TestSimulatedFaultsAreAsManyAsAskedForAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := func(seed uint64) (failed int, which []bool) {
			one := demo.SimulatedSkills(demo.SkillOptions{Speed: 1000, FaultRate: 0.3, Seed: seed})["simulated.config@1"]
			for i := range 500 {
				result, err := one.Do(t.Context(), skill.Call{Input: json.RawMessage(`{}`), StepID: "a", Attempt: i, RunID: rondo.ID{1}})
				if err != nil {
					t.Fatal(err)
				}
				which = append(which, result.OK)
				if !result.OK {
					failed++
					if result.Retryable == nil || !*result.Retryable {
						t.Error("a simulated fault may not be retried")
					}
				}
			}
			return failed, which
		}
		failed, which := count(1)
		if failed < 110 || failed > 190 {
			t.Errorf("%d of 500 failed, want about 150", failed)
		}
		if _, again := count(1); cmp.Diff(which, again) != "" {
			t.Error("the same seed fails elsewhere")
		}
		if _, other := count(2); cmp.Diff(which, other) == "" {
			t.Error("another seed fails at the same places")
		}
	})
}
