package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/cond"
)

// checkExpression judges the source of a condition by itself.
func (v *validator) checkExpression(step *writtenStep) {
	_, alias := step.params["expr"]
	if step.expr != nil && alias {
		v.add("expr_twice", step.at("params", "expr"), "the expression is written twice; keep the step's own expr and remove this one")
		var second string
		if json.Unmarshal(step.params["expr"], &second) == nil {
			v.checkSyntax(second, step.at("params", "expr"))
		}
	}
	src, at := step.expression()
	switch {
	case strings.TrimSpace(src) != "":
		v.checkSyntax(src, at)
	case v.lost(step.at("expr"), step.at("params")):
	case step.expr == nil && alias && typeOf(step.params["expr"]) != "a string": // the params schema has said so
	default:
		v.add("expr_missing", at, "write what decides, e.g. \"expr\": \"ai_review.confidence < 0.7\"")
	}
}

func (v *validator) checkSyntax(src, at string) {
	if _, err := cond.Parse(src); err != nil {
		v.add("expr_invalid", at, "%s", err)
	}
}

// checkPaths judges what expressions, payload templates and search paths refer
// to: a step that has run before. Where the ways to a step are not known (it
// cannot be reached, there is a cycle, no start or a lost way), anything that
// exists will do.
func (v *validator) checkPaths() {
	g := v.doc.graph()
	order, cycles := g.order()
	var before map[string]*knowledge
	if len(cycles) == 0 && v.doc.steps[v.doc.start] != nil {
		before = v.produced(g, order)
	}
	for id := range before {
		if v.doc.steps[id].waysLost {
			before = nil
			break
		}
	}
	for _, id := range order {
		step, contract := v.doc.steps[id], v.contract(v.doc.steps[id])
		known := before[id]
		if contract == nil {
			continue
		}
		switch contract.Behaviour {
		case BehaviourCondition:
			src, at := step.expression()
			if expr, err := cond.Parse(src); err == nil {
				for _, path := range expr.Paths() {
					v.checkPath(path, at, known, v.add)
				}
			}
		case BehaviourEmit:
			at := step.at("params", "payload_template")
			for _, path := range templatePaths(step.params["payload_template"]) {
				v.checkPath(path, at, known, v.warn)
			}
		}
	}
	for i, written := range v.doc.search {
		at := pointer("search", fmt.Sprint(i))
		switch {
		case v.lost(at):
		case !isPath(written):
			v.add("path_invalid", at, "%s is not a path; write names joined by dots, e.g. ai_review.confidence", quote(written))
		case !v.lost("/steps"):
			v.checkRoot(strings.Split(written, "."), at, v.add)
		}
	}
}

// knowledge is which steps have left an output when a step begins.
type knowledge struct {
	maybe  map[string]bool // on some way
	always map[string]bool // on every way
}

// produced computes, for every step that can be reached, what is known before
// it. A step leaves an output on all its outcomes but failure and timeout.
func (v *validator) produced(g *graph, order []string) map[string]*knowledge {
	before := map[string]*knowledge{v.doc.start: {maybe: map[string]bool{}, always: map[string]bool{}}}
	for _, id := range order {
		known := before[id]
		if known == nil {
			continue
		}
		for _, e := range g.out[id] {
			produces := e.outcome != OnFailure && e.outcome != OnTimeout && v.producesOutput(id)
			next := before[e.to]
			if next == nil {
				next = &knowledge{maybe: map[string]bool{}, always: map[string]bool{}}
				before[e.to] = next
				for s := range known.always {
					next.always[s] = true
				}
				if produces {
					next.always[id] = true
				}
			} else {
				for s := range next.always {
					if !known.always[s] && (s != id || !produces) {
						delete(next.always, s)
					}
				}
			}
			for s := range known.maybe {
				next.maybe[s] = true
			}
			if produces {
				next.maybe[id] = true
			}
		}
	}
	return before
}

func (v *validator) producesOutput(id string) bool {
	contract := v.contract(v.doc.steps[id])
	return contract == nil || contract.Behaviour == BehaviourRequest || contract.Behaviour == BehaviourCondition
}

type addFunc func(code, at, format string, args ...any)

// checkPath judges one path used by a step before which known is known; nil
// when nobody can say.
func (v *validator) checkPath(path []string, at string, known *knowledge, add addFunc) {
	if !v.checkRoot(path, at, add) || v.doc.steps[path[0]] == nil || known == nil {
		return
	}
	shown := quote(strings.Join(path, "."))
	switch {
	case !known.maybe[path[0]]:
		add("path_never_produced", at, "%s is never there: no way leads through %s before this step", shown, quote(path[0]))
	case !known.always[path[0]]:
		v.warn("path_not_on_every_way", at, "%s is missing on some ways to this step; say what missing means (coalesce in an expression), or see to it that it is there", shown)
	}
}

// checkRoot judges whether anything in the definition could ever make the path,
// and reports whether it could.
func (v *validator) checkRoot(path []string, at string, add addFunc) bool {
	shown := quote(strings.Join(path, "."))
	switch path[0] {
	case "case_id", "org_id", "product_id", "patient_id":
		if len(path) > 1 {
			add("path_unknown", at, "%s has no parts; use %s alone", quote(path[0]), path[0])
			return false
		}
		return true
	case "case":
		if len(path) > 1 && path[1] != "images" && path[1] != "metadata" {
			add("path_unknown", at, "%s: a case has images and metadata only%s", shown, suggestion(path[1], []string{"images", "metadata"}))
			return false
		}
		return true
	}
	step := v.doc.steps[path[0]]
	if step == nil {
		known := append([]string{"case", "case_id", "org_id", "product_id", "patient_id"}, sortedKeys(v.doc.steps)...)
		add("path_unknown", at, "%s: there is no step %s%s", shown, quote(path[0]), suggestion(path[0], known))
		return false
	}
	if !v.producesOutput(step.id) {
		add("path_never_produced", at, "%s is never there: a step of kind %s leaves no output", shown, step.kind)
		return false
	}
	contract := v.contract(step)
	if contract == nil || len(path) < 2 || contract.OutputSchema == nil || contract.OutputSchema.props == nil {
		return true
	}
	if props := contract.OutputSchema.props; !slices.Contains(props, path[1]) {
		report := v.warn
		if contract.OutputSchema.closed {
			report = add
		}
		report("path_not_in_output", at, "%s: the output of a %s step is not known to have %s, only %s%s", shown, step.kind, quote(path[1]), list(props, "and"), suggestion(path[1], props))
	}
	return true
}

// templatePaths returns the paths of a payload template: every string that is
// exactly {{path}}.
func templatePaths(raw json.RawMessage) [][]string {
	var template any
	if json.Unmarshal(raw, &template) != nil {
		return nil
	}
	var paths [][]string
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case string:
			if path, ok := TemplatePath(node); ok {
				paths = append(paths, path)
			}
		case []any:
			for _, item := range node {
				walk(item)
			}
		case map[string]any:
			for _, key := range sortedKeys(node) {
				walk(node[key])
			}
		}
	}
	walk(template)
	return paths
}

// TemplatePath reports whether a string of a payload template is exactly
// {{path}}, and returns the path. Every other string is literal.
func TemplatePath(s string) ([]string, bool) {
	inner, ok := strings.CutPrefix(s, "{{")
	if !ok {
		return nil, false
	}
	if inner, ok = strings.CutSuffix(inner, "}}"); !ok {
		return nil, false
	}
	if !isPath(inner) {
		return nil, false
	}
	return strings.Split(inner, "."), true
}
