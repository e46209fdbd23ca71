package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The closures of the reference workflow, by the numbers of its steps.
func TestChangesOfTheReferenceWorkflowTouchTheirClosures(t *testing.T) {
	t.Parallel()
	w := campaign(t)
	if len(w.Steps) != 13 {
		t.Fatalf("%d steps", len(w.Steps))
	}
	for change, want := range map[string]struct{ seeds, closure []int }{
		"audio.update":       {[]int{5, 6, 7}, []int{5, 6, 7, 9, 12, 13}},
		"intro.update":       {[]int{2, 3, 4}, []int{2, 3, 4, 12}},
		"outcome.update":     {[]int{10, 11}, []int{10, 11, 12}},
		"game_config.update": {[]int{8}, []int{8, 9, 12, 13}},
	} {
		seeds, all, err := w.Seeds(change, nil)
		if err != nil || all {
			t.Fatalf("Seeds(%s) = %v, %t, %v", change, seeds, all, err)
		}
		if diff := cmp.Diff(want.seeds, numbers(seeds)); diff != "" {
			t.Errorf("seeds of %s (-want +got):\n%s", change, diff)
		}
		if diff := cmp.Diff(want.closure, numbers(w.Closure(seeds))); diff != "" {
			t.Errorf("closure of %s (-want +got):\n%s", change, diff)
		}
		touched := Candidates(w, seeds, nil, false)
		for i := range w.Steps {
			if touched[i] != slices.Contains(want.closure, i+1) {
				t.Errorf("%s: candidate %d = %t", change, i+1, touched[i])
			}
		}
	}
	seeds, all, err := w.Seeds("full_rebuild", nil)
	if err != nil || !all || len(seeds) != 13 {
		t.Errorf("Seeds(full_rebuild) = %v, %t, %v", seeds, all, err)
	}
	if got := CriticalPath(w, func(int) int64 { return 10 }); got != 50 {
		t.Errorf("the longest way takes %d, want that of plan, music, mix, bundle, manifest", got)
	}
}

// numbers counts steps from 1, as the reference does.
func numbers(steps []int) []int {
	list := make([]int, len(steps))
	for n, i := range steps {
		list[n] = i + 1
	}
	return list
}

func TestOrderOfAFileThatIsInOrderIsKept(t *testing.T) {
	t.Parallel()
	w := campaign(t)
	if !slices.IsSorted(w.Order()) {
		t.Errorf("order %v", w.Order())
	}
	w = mustCompile(t, one(step("d", "b", "c"), step("b", "a"), step("c", "a"), step("a")))
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, ids(w, w.Order())); diff != "" {
		t.Errorf("order of a diamond (-want +got):\n%s", diff)
	}
}

func TestOrderAndClosureOfRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t, 30)
		w, err := Compile([]byte(s.document()), server{})
		if err != nil {
			t.Fatal(err)
		}
		place := make([]int, len(w.Steps))
		for n, i := range w.Order() {
			place[i] = n
		}
		for i := range w.Steps {
			for _, need := range w.Steps[i].Needs {
				if place[need] >= place[i] {
					t.Fatalf("%s stands before what it depends on", w.Steps[i].ID)
				}
			}
		}
		seeds := rapid.SliceOfN(rapid.IntRange(0, len(w.Steps)-1), 0, 3).Draw(t, "seeds")
		got := w.Closure(seeds)
		if !slices.IsSortedFunc(got, func(a, b int) int { return place[a] - place[b] }) {
			t.Fatal("the closure is not in order")
		}
		slices.Sort(got)
		var want []int
		for i := range w.Steps {
			if slices.ContainsFunc(seeds, func(seed int) bool { return reaches(w, seed, i) }) {
				want = append(want, i)
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("closure of %v is %v, want %v", seeds, got, want)
		}
		before := newAncestry(w.Steps, w.order)
		for i := range w.Steps {
			before.stand(i)
			for j := range w.Steps {
				if i != j && before.has(i, j) != reaches(w, j, i) {
					t.Fatalf("has(%d, %d) = %t", i, j, before.has(i, j))
				}
			}
		}
	})
}

// reaches is the naive answer: whether a way leads from one step to another.
func reaches(w *Workflow, from, to int) bool {
	return from == to || slices.ContainsFunc(w.Steps[to].Needs, func(need int) bool { return reaches(w, from, need) })
}

func TestLongChainsAndWideFans(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{"chain of 1,000": chain(1000), "chain of 10,000": chain(10_000), "fan of 1,000": fan(1000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mustCompile(t, document)
			first := w.Order()[0]
			if n := len(w.Closure([]int{first})); n != len(w.Steps) {
				t.Errorf("the closure of the first step has %d of %d", n, len(w.Steps))
			}
			s := NewSchedule(w, "")
			ready, done := s.Begin(), 0
			for len(ready) > 0 {
				next := ready[0]
				ready = append(ready[1:], s.Done(next, true)...)
				done++
			}
			if status, _, ended := s.Ended(); !ended || status != "completed" || done != len(w.Steps) {
				t.Errorf("%d of %d done, %s", done, len(w.Steps), status)
			}
		})
	}
}
