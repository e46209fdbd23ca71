package definition

import (
	"cmp"
	"maps"
	"slices"
)

// edge is one way from a step to another: a transition, the beginning of a
// branch, or a transition to JOIN, which leads to where the branches meet.
type edge struct {
	from, outcome, to string
	branch            bool // outcome is the name of a branch
}

// at is where the edge is written.
func (e edge) at() string {
	if e.branch {
		return pointer("steps", e.from, "params", "branches", e.outcome)
	}
	return pointer("steps", e.from, "transitions", e.outcome)
}

// graph is how the steps of a definition lead to each other.
type graph struct {
	start string
	nodes []string // sorted
	out   map[string][]edge
}

// graph keeps the ways whose two ends exist. Those of one step are in reading
// order: its branches, then the good way, then the others. Call it after
// resolve.
func (d *document) graph() *graph {
	g := &graph{start: d.start, nodes: sortedKeys(d.steps), out: make(map[string][]edge, len(d.steps))}
	for _, from := range g.nodes {
		step := d.steps[from]
		for _, b := range step.branches {
			if d.steps[b.Start] != nil {
				g.out[from] = append(g.out[from], edge{from: from, outcome: b.Name, to: b.Start, branch: true})
			}
		}
		for _, outcome := range outcomeOrder(step.transitions) {
			to := step.transitions[outcome]
			if to == Join {
				to = d.afterJoin(step.fork)
			}
			if d.steps[to] != nil {
				g.out[from] = append(g.out[from], edge{from: from, outcome: outcome, to: to})
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
		case OnComplete, OnTrue, "on_pass", OnEvent:
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
	order = g.walk(func(path []edge, e edge) {
		first := slices.IndexFunc(path, func(p edge) bool { return p.from == e.to })
		cycle := []edge{e}
		if first >= 0 {
			cycle = append(slices.Clone(path[first:]), e)
		}
		cycles = append(cycles, cycle)
	})
	return order, cycles
}

// walk returns the order of order, and tells of every edge that closes a cycle:
// it leads back to a step on the path, or to where the path begins.
func (g *graph) walk(closes func(path []edge, e edge)) (order []string) {
	const inPath, done = 1, 2
	state := map[string]int{}
	var path []edge
	var visit func(node string)
	visit = func(node string) {
		state[node] = inPath
		for _, e := range slices.Backward(g.out[node]) {
			switch state[e.to] {
			case inPath:
				closes(path, e)
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
	return order
}
