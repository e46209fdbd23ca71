package definition

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// maxBends bounds how many layers the lines of a drawing pass in all. Beyond it,
// in runs of thousands of steps, lines go straight.
const maxBends = 50_000

type point struct{ x, y float64 }

// box is one step, join or TERMINAL, placed on the drawing; x is its middle, y its
// top.
type box struct {
	name, sub  string
	shape      shape
	x, y, w, h float64
}

// line is one transition: its points from the bottom of one box to the top of
// another. One that leads back up has its tip at the first point.
type line struct {
	points []point
	label  string
	kind   wayKind
	lane   int // which of its step's lines, from the left
	back   bool
}

// loop is what leads from a box to itself.
type loop struct {
	box   *box
	label string
}

type layout struct {
	boxes         []*box
	edges         []*line
	loops         []*loop
	width, height float64
}

// node is a box, or the bend of a line that passes a layer.
type node struct {
	box         *box // nil = bend
	layer       int
	x           float64
	up, down    []*node
	leansToSide bool // a halt: kept right of the way that goes on
}

func (n *node) width() float64 {
	if n.box == nil {
		return laneSpread
	}
	return n.box.w
}

// weight is how much a node minds being moved: the way that goes on is straight
// and the others give way.
func (n *node) weight() float64 {
	if n.box == nil || n.leansToSide {
		return 1e-6
	}
	return 1
}

// newLayout places steps in layers by their longest way from the start, then
// orders each layer so that lines cross little, then spreads the layers.
func newLayout(d *drawing) *layout {
	nodes := make([]*node, len(d.nodes))
	for i, n := range d.nodes {
		w, h := float64(boxWidth), float64(boxHeight)
		if n.shape == shapeJoin || n.shape == shapeStart || n.terminal {
			w, h = 120, 32
		}
		nodes[i] = &node{box: &box{name: n.name, sub: n.sub, shape: n.shape, w: w, h: h}, leansToSide: n.shape == shapeStop}
	}
	deepest := 0
	for _, w := range d.ways {
		if w.to > w.from { // others lead back
			nodes[w.to].layer = max(nodes[w.to].layer, nodes[w.from].layer+1)
			deepest = max(deepest, nodes[w.to].layer)
		}
	}
	layers := make([][]*node, deepest+1)
	for _, n := range nodes {
		layers[n.layer] = append(layers[n.layer], n)
	}
	l := &layout{}
	type route struct {
		line *line
		via  []*node
	}
	var routes []route
	lanes := map[int]int{}
	loops := map[int]*loop{}
	bends := 0
	for _, w := range d.ways {
		if w.to == w.from {
			if loops[w.to] == nil {
				loops[w.to] = &loop{box: nodes[w.to].box, label: w.label}
				l.loops = append(l.loops, loops[w.to])
			} else {
				loops[w.to].label += ", " + w.label
			}
			continue
		}
		// What leads back runs between the same two boxes the other way round.
		upper, lower := nodes[min(w.from, w.to)], nodes[max(w.from, w.to)]
		via := []*node{upper}
		for layer := upper.layer + 1; layer < lower.layer && bends < maxBends; layer++ {
			bend := &node{layer: layer}
			layers[layer] = append(layers[layer], bend)
			via = append(via, bend)
			bends++
		}
		via = append(via, lower)
		for i := 1; i < len(via); i++ {
			via[i-1].down = append(via[i-1].down, via[i])
			via[i].up = append(via[i].up, via[i-1])
		}
		routes = append(routes, route{&line{label: w.label, lane: lanes[w.from], kind: w.kind, back: w.to < w.from}, via})
		lanes[w.from]++
	}
	spread(layers)
	l.measure(layers)
	beside := sides{}
	for _, r := range routes {
		r.line.points = beside.pointsOf(r.via)
		if r.line.back { // beside what leads down between the same two
			for i := range r.line.points {
				r.line.points[i].x += laneSpread
			}
		}
		l.edges = append(l.edges, r.line)
	}
	for _, n := range nodes {
		l.boxes = append(l.boxes, n.box)
	}
	return l
}

// spread orders each layer by where its neighbours are and gives every node
// room; a few sweeps settle it. What hangs together may drift as a whole, so it
// moves back after each sweep.
func spread(layers [][]*node) {
	up := func(n *node) []*node { return n.up }
	down := func(n *node) []*node { return n.down }
	for range 8 {
		for _, layer := range layers {
			arrange(layer, up)
		}
		for _, layer := range slices.Backward(layers) {
			arrange(layer, down)
		}
		drift := math.Inf(1)
		for n := range connected(layers) {
			drift = min(drift, n.x)
		}
		for n := range connected(layers) {
			n.x -= drift
		}
	}
	for _, layer := range layers {
		arrange(layer, up)
	}
}

// connected yields the nodes that a line leads to or from.
func connected(layers [][]*node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, layer := range layers {
			for _, n := range layer {
				if len(n.up)+len(n.down) > 0 && !yield(n) {
					return
				}
			}
		}
	}
}

// arrange puts each node of a layer in line with its neighbours, then makes
// room. Halts stay right of the way that goes on.
func arrange(layer []*node, neighbours func(*node) []*node) {
	for _, n := range layer {
		near := mainWay(neighbours(n))
		if len(near) == 0 {
			continue
		}
		sum := 0.0
		for _, other := range near {
			sum += other.x
		}
		n.x = sum / float64(len(near))
		if n.leansToSide {
			n.x += boxWidth
		}
	}
	slices.SortStableFunc(layer, func(a, b *node) int { return cmp.Compare(a.x, b.x) })
	makeRoom(layer)
}

// makeRoom pushes apart what would overlap, each node as little as its weight
// allows, so that branches spread evenly below the step they part from. The
// order stays. It is least squares under order: neighbours that are too near
// merge into a run that moves as one.
func makeRoom(layer []*node) {
	type run struct {
		first, last int
		sum, weight float64
	}
	offsets := make([]float64, len(layer)) // where a node would be if all stood side by side
	var runs []run
	for i, n := range layer {
		if i > 0 {
			offsets[i] = offsets[i-1] + (layer[i-1].width()+n.width())/2 + gapX
		}
		next := run{i, i, (n.x - offsets[i]) * n.weight(), n.weight()}
		for len(runs) > 0 && runs[len(runs)-1].sum/runs[len(runs)-1].weight >= next.sum/next.weight {
			before := runs[len(runs)-1]
			runs = runs[:len(runs)-1]
			next = run{before.first, next.last, before.sum + next.sum, before.weight + next.weight}
		}
		runs = append(runs, next)
	}
	for _, r := range runs {
		for i := r.first; i <= r.last; i++ {
			layer[i].x = r.sum/r.weight + offsets[i]
		}
	}
}

// mainWay leaves out halts and bends as long as something else remains, so that
// the way most cases take is a straight line.
func mainWay(near []*node) []*node {
	var main []*node
	for _, n := range near {
		if n.box != nil && !n.leansToSide {
			main = append(main, n)
		}
	}
	if main == nil {
		return near
	}
	return main
}

// measure turns layers into heights and moves everything into view.
func (l *layout) measure(layers [][]*node) {
	left, right := 0.0, 0.0
	for i, layer := range layers {
		for _, n := range layer {
			half := n.width() / 2
			if i == 0 && n == layer[0] {
				left, right = n.x-half, n.x+half
			}
			left, right = min(left, n.x-half), max(right, n.x+half)
		}
	}
	for _, layer := range layers {
		for _, n := range layer {
			n.x += margin - left
			if n.box != nil {
				n.box.x, n.box.y = n.x, margin+float64(n.layer)*(boxHeight+gapY)+(boxHeight-n.box.h)/2
			}
		}
	}
	l.width = right - left + 2*margin
	l.height = 2*margin + float64(len(layers))*boxHeight + float64(len(layers)-1)*gapY
}

// sides remembers how the lines at a box stand side by side.
type sides map[side]map[*node]float64

type side struct {
	of   *node
	down bool
}

// pointsOf turns the nodes of a line into points.
func (s sides) pointsOf(via []*node) []point {
	from, to := via[0], via[len(via)-1]
	points := []point{{from.x + s.sideways(from, true, via[1])*boxWidth/4, from.box.y + from.box.h}}
	for _, bend := range via[1 : len(via)-1] {
		top := margin + float64(bend.layer)*(boxHeight+gapY)
		points = append(points, point{bend.x, top}, point{bend.x, top + boxHeight})
	}
	return append(points, point{to.x + s.sideways(to, false, via[len(via)-2])*laneSpread, to.box.y})
}

// sideways says how many places to the right of the middle a line meets a box:
// lines meet it side by side in the order of their other ends, the straightest
// in the middle.
func (s sides) sideways(n *node, down bool, other *node) float64 {
	places, known := s[side{n, down}]
	if !known {
		others := n.up
		if down {
			others = n.down
		}
		sorted := slices.Clone(others)
		slices.SortStableFunc(sorted, func(a, b *node) int { return cmp.Compare(a.x, b.x) })
		middle := 0
		for i := range sorted {
			if math.Abs(sorted[i].x-n.x) < math.Abs(sorted[middle].x-n.x) {
				middle = i
			}
		}
		const most = 1.9 // stay on the box
		places = make(map[*node]float64, len(sorted))
		for i, end := range slices.Backward(sorted) { // the first of several to the same end counts
			places[end] = min(max(float64(i-middle), -most), most)
		}
		s[side{n, down}] = places
	}
	return places[other]
}
