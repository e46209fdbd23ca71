package definition

import (
	"cmp"
	"maps"
	"slices"
)

// edge is one transition between two steps; reserved targets have none.
type edge struct {
	from, outcome, to string
}

// graph is the transitions of a definition.
type graph struct {
	start string
	nodes []string // sorted
	out   map[string][]edge
}

// newGraph keeps the transitions whose two ends exist. Edges of one step are in
// reading order: the good way first.
func newGraph(start string, transitions map[string]map[string]string) *graph {
	g := &graph{start: start, nodes: sortedKeys(transitions), out: map[string][]edge{}}
	for _, from := range g.nodes {
		for _, outcome := range outcomeOrder(transitions[from]) {
			to := transitions[from][outcome]
			if _, exists := transitions[to]; exists {
				g.out[from] = append(g.out[from], edge{from, outcome, to})
			}
		}
	}
	return g
}

// outcomeOrder sorts outcomes as people read them: the good way first, failure
// and timeout last.
func outcomeOrder[V any](transitions map[string]V) []string {
	rank := func(outcome string) int {
		switch outcome {
		case OnComplete, OnTrue, "on_pass", "on_event":
			return 0
		case OnFailure:
			return 2
		case OnTimeout:
			return 3
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(transitions), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// reachableFrom returns the steps that edges lead to from one step; the step
// itself only if it lies on a cycle.
func (g *graph) reachableFrom(from string) map[string]bool {
	found := map[string]bool{}
	queue := []string{from}
	for len(queue) > 0 {
		node := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, e := range g.out[node] {
			if !found[e.to] {
				found[e.to] = true
				queue = append(queue, e.to)
			}
		}
	}
	return found
}

// order returns every step topologically, the good way of each step before its
// other ways, and the cycles that stand in the way, each as the edges that form
// it. With cycles the order is only nearly topological.
func (g *graph) order() (order []string, cycles [][]edge) {
	const inPath, done = 1, 2
	state := map[string]int{}
	var path []edge
	var visit func(node string)
	visit = func(node string) {
		state[node] = inPath
		for _, e := range slices.Backward(g.out[node]) {
			switch state[e.to] {
			case inPath:
				first := slices.IndexFunc(path, func(p edge) bool { return p.from == e.to })
				cycle := []edge{e}
				if first >= 0 {
					cycle = append(slices.Clone(path[first:]), e)
				}
				cycles = append(cycles, cycle)
			case 0:
				path = append(path, e)
				visit(e.to)
				path = path[:len(path)-1]
			}
		}
		state[node] = done
		order = append(order, node)
	}
	if _, exists := g.out[g.start]; exists {
		visit(g.start)
	}
	for _, node := range slices.Backward(g.nodes) {
		if state[node] == 0 {
			visit(node)
		}
	}
	slices.Reverse(order)
	return order, cycles
}
