package plan

import (
	"container/heap"
	"fmt"
	"strings"
)

// lowestFirst is a heap of places.
type lowestFirst []int

func (h lowestFirst) Len() int           { return len(h) }
func (h lowestFirst) Less(i, j int) bool { return h[i] < h[j] }
func (h lowestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowestFirst) Push(x any)        { *h = append(*h, x.(int)) }
func (h *lowestFirst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// sortSteps puts steps in topological order, of those that could be next always
// the one that stands first in the file. Steps in or behind a circle are left out.
func sortSteps(steps []Step) []int {
	waits := make([]int, len(steps))
	var ready lowestFirst
	for i := range steps {
		if waits[i] = len(steps[i].Needs); waits[i] == 0 {
			ready = append(ready, i) // in order, so it is a heap
		}
	}
	order := make([]int, 0, len(steps))
	for len(ready) > 0 {
		next, _ := heap.Pop(&ready).(int)
		order = append(order, next)
		for _, fed := range steps[next].Feeds {
			if waits[fed]--; waits[fed] == 0 {
				heap.Push(&ready, fed)
			}
		}
	}
	return order
}

// circles returns circles among the steps that order leaves out, each as the way
// along dependencies that leads back to its first step. Every set of steps that
// cannot be ordered has at least one.
func circles(steps []Step, order []int) [][]int {
	const fresh, ordered, onWay, left = 0, 1, 2, 3
	state := make([]int, len(steps))
	for _, i := range order {
		state[i] = ordered
	}
	var found [][]int
	for start := range steps {
		var way []int
		at := start
		for state[at] == fresh {
			state[at] = onWay
			way = append(way, at)
			for _, need := range steps[at].Needs { // one is not ordered, or at would be
				if state[need] != ordered {
					at = need
					break
				}
			}
		}
		if state[at] == onWay {
			first := len(way) - 1
			for way[first] != at {
				first--
			}
			found = append(found, way[first:])
		}
		for _, i := range way {
			state[i] = left
		}
	}
	return found
}

// maxShown is how many steps of a circle are named.
const maxShown = 20

// circleText reads "a → b → a".
func circleText(steps []Step, circle []int) string {
	var b strings.Builder
	for n, i := range circle {
		if n == maxShown {
			fmt.Fprintf(&b, "… (%d more) → ", len(circle)-n)
			break
		}
		b.WriteString(steps[i].ID + " → ")
	}
	return b.String() + steps[circle[0]].ID
}

// ancestry answers which steps are before which. It learns what it has to: most
// workflows read direct dependencies only and never pay for the rest.
type ancestry struct {
	steps  []Step
	order  []int
	direct []int      // the last reader that directly depends on the step, counted from 1
	before [][]uint64 // a bit for each step; nil until needed
}

func newAncestry(steps []Step, order []int) *ancestry {
	return &ancestry{steps: steps, order: order, direct: make([]int, len(steps))}
}

// stand says which reader is asked about next.
func (a *ancestry) stand(reader int) {
	for _, need := range a.steps[reader].Needs {
		a.direct[need] = reader + 1
	}
}

// has reports whether reader depends on step, directly or not.
func (a *ancestry) has(reader, step int) bool {
	if a.direct[step] == reader+1 {
		return true
	}
	if len(a.order) < len(a.steps) {
		return true // there is a circle: that is what is to be said
	}
	if a.before == nil {
		a.learn()
	}
	return a.before[reader][step/64]&(1<<(step%64)) != 0
}

func (a *ancestry) learn() {
	words := (len(a.steps) + 63) / 64
	all := make([]uint64, words*len(a.steps))
	a.before = make([][]uint64, len(a.steps))
	for _, i := range a.order {
		own := all[i*words : (i+1)*words]
		for _, need := range a.steps[i].Needs {
			for w, word := range a.before[need] {
				own[w] |= word
			}
			own[need/64] |= 1 << (need % 64)
		}
		a.before[i] = own
	}
}

// Closure returns the seeds and everything that depends on them, directly or not,
// in topological order.
func (w *Workflow) Closure(seeds []int) []int {
	touched := w.closure(seeds)
	var list []int
	for _, i := range w.order {
		if touched[i] {
			list = append(list, i)
		}
	}
	return list
}

func (w *Workflow) closure(seeds ...[]int) []bool {
	touched := make([]bool, len(w.Steps))
	for _, some := range seeds {
		for _, i := range some {
			touched[i] = true
		}
	}
	for _, i := range w.order {
		if touched[i] {
			for _, fed := range w.Steps[i].Feeds {
				touched[fed] = true
			}
		}
	}
	return touched
}

// CriticalPath returns the time of the longest way through the workflow when step
// i takes ms(i) and everything that can runs at once.
func CriticalPath(w *Workflow, ms func(step int) int64) int64 {
	ends := make([]int64, len(w.Steps))
	var longest int64
	for _, i := range w.order {
		var begin int64
		for _, need := range w.Steps[i].Needs {
			begin = max(begin, ends[need])
		}
		ends[i] = begin + max(ms(i), 0)
		longest = max(longest, ends[i])
	}
	return longest
}
