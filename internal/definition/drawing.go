package definition

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// drawing is a definition as a picture shows it: its steps, a join for every
// parallel step, TERMINAL, and the ways between them.
type drawing struct {
	name  string
	nodes []drawnNode // topologically, as far as that goes
	ways  []drawnWay  // by node, in reading order
}

type drawnNode struct {
	name, sub string
	shape     shape
	terminal  bool
}

type drawnWay struct {
	from, to int // places in nodes
	label    string
	kind     wayKind
}

type wayKind int

const (
	wayOn     wayKind = iota // an outcome
	wayBad                   // failure or timeout
	wayBranch                // the beginning of a branch
)

type shape int

const (
	shapeWork shape = iota
	shapeChoice
	shapeStop
	shapeEnd
	shapePerson
	shapeWait
	shapeFork
	shapeJoin
	shapeStart // where a conversation begins
	shapeFinal // where a conversation or a part of it ends
)

// readDrawingOf reads a definition of any kind for drawing: it must be
// well-formed, not valid.
func readDrawingOf(kind rondo.DefinitionKind, body json.RawMessage, kinds []rondo.StepKind) (*drawing, error) {
	if kind == rondo.KindCase {
		return readDrawing(body, kinds)
	}
	var p problems
	checkShape(kind, body, &p)
	var drawn *drawing
	if len(p.errors) == 0 {
		if kind == rondo.KindRun {
			drawn = drawRun(body, &p)
		} else {
			drawn = drawConversation(body, &p)
		}
	}
	if len(p.errors) > 0 {
		p.sort()
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "draw definition", Message: "the definition is not well-formed", Fields: p.errors}
	}
	return drawn, nil
}

// drawGraph puts nodes in order; edges are labelled with their outcome.
func drawGraph(name string, g *graph, nodes map[string]drawnNode) *drawing {
	drawn := &drawing{name: name}
	order := g.walk(func([]edge, edge) {})
	places := make(map[string]int, len(order))
	for i, id := range order {
		places[id] = i
		drawn.nodes = append(drawn.nodes, nodes[id])
	}
	for i, id := range order {
		for _, e := range g.out[id] {
			way := drawnWay{from: i, to: places[e.to], label: e.outcome}
			if e.branch {
				way.kind = wayBranch
			}
			drawn.ways = append(drawn.ways, way)
		}
	}
	return drawn
}

// readDrawing reads a definition for drawing: it must be well-formed, not valid.
func readDrawing(body json.RawMessage, kinds []rondo.StepKind) (*drawing, error) {
	var p problems
	d := readDocument(body, &p)
	if d == nil || len(p.errors) > 0 {
		p.sort()
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "draw definition", Message: "the definition is not well-formed", Fields: p.errors}
	}
	d.resolve(kindsOf(Environment{Kinds: kinds}))
	return d.drawing(), nil
}

func (d *document) drawing() *drawing {
	g, joins, terminal := d.drawnGraph()
	order, _ := g.order()
	drawn := &drawing{name: d.name}
	places := make(map[string]int, len(order))
	for i, id := range order {
		places[id] = i
		node := drawnNode{name: id}
		switch {
		case joins[id] != nil:
			node = drawnNode{name: joins[id].joinWords(), shape: shapeJoin}
		case id == terminal:
			node = drawnNode{name: Terminal, shape: shapeEnd, terminal: true}
		default:
			step := d.steps[id]
			node.shape, node.sub = step.shape(), step.subtitle()
		}
		drawn.nodes = append(drawn.nodes, node)
	}
	for _, id := range order {
		for _, e := range g.out[id] {
			way := drawnWay{from: places[id], to: places[e.to], label: strings.TrimPrefix(e.outcome, "on_")}
			switch {
			case e.branch:
				way.kind, way.label = wayBranch, e.outcome
			case e.outcome == OnFailure || e.outcome == OnTimeout:
				way.kind = wayBad
			}
			drawn.ways = append(drawn.ways, way)
		}
	}
	return drawn
}

// drawnGraph is the graph with the ends that ways lead to as nodes of their own:
// the way of a parallel step goes on from its join.
func (d *document) drawnGraph() (g *graph, joins map[string]*writtenStep, terminal string) {
	g = &graph{start: d.start, nodes: sortedKeys(d.steps), out: map[string][]edge{}}
	node := func(name string) string { // one that no step has
		for d.steps[name] != nil {
			name += " "
		}
		g.nodes = append(g.nodes, name)
		return name
	}
	joinOf := map[string]string{}
	joins = map[string]*writtenStep{}
	for _, id := range sortedKeys(d.steps) {
		if len(d.steps[id].branches) > 0 {
			joinOf[id] = node(Join + " " + id)
			joins[joinOf[id]] = d.steps[id]
		}
	}
	if d.leadsTo(Terminal) {
		terminal = node(Terminal)
	}
	for _, id := range sortedKeys(d.steps) {
		step := d.steps[id]
		for _, b := range step.branches {
			if d.steps[b.Start] != nil {
				g.out[id] = append(g.out[id], edge{from: id, outcome: b.Name, to: b.Start, branch: true})
			}
		}
		for _, outcome := range outcomeOrder(step.transitions) {
			from, to := id, step.transitions[outcome]
			switch {
			case to == Terminal:
				to = terminal
			case to == Join:
				to = joinOf[step.fork]
			case d.steps[to] == nil:
				to = ""
			}
			if join, forks := joinOf[id]; forks && outcome == OnComplete {
				from = join
			}
			if to != "" {
				g.out[from] = append(g.out[from], edge{from: from, outcome: outcome, to: to})
			}
		}
	}
	return g, joins, terminal
}

func (d *document) leadsTo(target string) bool {
	for _, step := range d.steps {
		for _, to := range step.transitions {
			if to == target {
				return true
			}
		}
	}
	return false
}

// shape is how a step looks. A kind that is not known is work, unless it is
// written with branches.
func (w *writtenStep) shape() shape {
	if len(w.branches) > 0 {
		return shapeFork
	}
	if w.contract == nil {
		return shapeWork
	}
	switch w.contract.Behaviour {
	case BehaviourCondition:
		return shapeChoice
	case BehaviourHalt:
		return shapeStop
	case BehaviourFinal:
		return shapeEnd
	case BehaviourManual:
		return shapePerson
	case BehaviourDelay, BehaviourWait:
		return shapeWait
	case BehaviourParallel:
		return shapeFork
	}
	return shapeWork
}

// subtitle is the second line of a step: what decides, why it halts, what it
// waits for, or its kind.
func (w *writtenStep) subtitle() string {
	var text string
	var length float64
	switch w.shape() {
	case shapeChoice:
		if src, _ := w.expression(); src != "" {
			return src
		}
	case shapeStop:
		if w.param("reason_code", &text) && text != "" {
			return "halt: " + text
		}
	case shapePerson:
		if w.param("title", &text) && text != "" {
			return "person: " + text
		}
	case shapeWait:
		switch {
		case w.param("event_type", &text):
			return "waits for " + text
		case w.param("until", &text):
			return "until " + text
		case w.param("seconds", &length):
			return "delay of " + span(length)
		}
	case shapeFork:
		if len(w.branches) > 0 {
			return fmt.Sprintf("%d side by side", len(w.branches))
		}
	}
	return w.kind
}

// span writes seconds as people do: 1m30s, 24h.
func span(seconds float64) string {
	text := duration(min(max(seconds, 0), maxWorkflowTimeout.Seconds())).String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// joinWords says what the join of a parallel step waits for.
func (w *writtenStep) joinWords() string {
	switch need, all := w.need(), len(w.branches); need {
	case all:
		return "join all"
	case 0:
		return "join"
	case 1:
		return "join any"
	default:
		return fmt.Sprintf("join %d of %d", need, all)
	}
}
