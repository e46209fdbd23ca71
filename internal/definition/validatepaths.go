package definition

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo/internal/cond"
)

// checkExpression judges the source of a condition by itself.
func (v *validator) checkExpression(step *writtenStep) {
	_, alias := step.given["expr"] // what the kind sets by default gives way to the step's own
	if step.expr != nil && alias {
		v.add("expr_twice", step.at("params", "expr"), "the expression is written twice; keep the step's own expr and remove this one")
		var second string
		if json.Unmarshal(step.given["expr"], &second) == nil {
			v.checkSyntax(second, step.at("params", "expr"))
		}
	}
	src, at := step.expression()
	switch {
	case strings.TrimSpace(src) != "":
		v.checkSyntax(src, at)
	case v.lost(step.at("expr"), step.at("params")):
	case step.expr == nil && alias && typeOf(step.given["expr"]) != "a string": // the params schema has said so
	default:
		v.add("expr_missing", at, "write what decides, e.g. \"expr\": \"ai_review.confidence < 0.7\"")
	}
}

func (v *validator) checkSyntax(src, at string) {
	expr, err := cond.Parse(src)
	if err != nil {
		v.add("expr_invalid", at, "%s", err)
		return
	}
	if err := neverDecides(expr); err != nil {
		v.warn("condition_never_boolean", at, "%s; every case would halt here with condition_error", err)
	}
}

// neverDecides says why an expression that does not look at the case has no
// truth value, whoever is sampled; nil when it has one or looks at the case.
func neverDecides(expr *cond.Expr) (why error) {
	if len(expr.Paths()) > 0 {
		return nil
	}
	for _, chosen := range []bool{true, false} {
		_, err := expr.True(cond.Env{Now: func() int64 { return 0 }, Sample: func(float64) bool { return chosen }})
		if err == nil {
			return nil
		}
		why = err
	}
	return why
}

// checkPaths judges what expressions and payload templates refer to: a step that
// has run before. Where the ways to a step are not known (it cannot be reached,
// there is a cycle, no start or a lost way), anything that exists will do.
func (v *validator) checkPaths() {
	order, cycles := v.doc.graph().order()
	var before map[string]*knowledge
	if len(cycles) == 0 && v.doc.steps[v.doc.start] != nil {
		before = v.doc.produced(order)
	}
	for id := range before {
		if v.doc.steps[id].waysLost {
			before = nil
			break
		}
	}
	for _, id := range order {
		if step := v.doc.steps[id]; step.contract != nil {
			v.checkStepPaths(step, before[id])
		}
	}
}

func (v *validator) checkStepPaths(step *writtenStep, known *knowledge) {
	switch step.contract.Behaviour {
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
	case BehaviourRequest:
		for _, name := range sortedKeys(step.contract.Request) {
			param := step.contract.Request[name].Template
			for _, path := range templatePaths(step.params[param]) {
				v.checkPath(path, step.at("params", param), known, v.warn)
			}
		}
	case BehaviourDelay:
		var until string
		if step.param("until", &until) && isPath(until) {
			v.checkPath(strings.Split(until, "."), step.at("params", "until"), known, v.add)
		}
	case BehaviourWait:
		var src string
		if step.param("match", &src) {
			v.checkMatch(src, step.at("params", "match"), known)
		}
	}
}

// checkMatch judges the paths of a match: event is the envelope, everything
// else is the context.
func (v *validator) checkMatch(src, at string, known *knowledge) {
	expr, err := cond.Parse(src)
	if err != nil {
		return // behave has said so
	}
	aboutEvent := false
	for _, path := range expr.Paths() {
		if path[0] != "event" {
			v.checkPath(path, at, known, v.add)
			continue
		}
		aboutEvent = true
		if len(path) > 1 && !slices.Contains(envelopeMembers[:], path[1]) {
			v.warn("path_unknown", at, "%s: an envelope is not known to have %s; what a module says is under event.payload", quote(strings.Join(path, ".")), quote(path[1]))
		}
	}
	if !aboutEvent {
		v.warn("match_ignores_event", at, "the match does not look at the event; compare something under event.payload, or remove it")
	}
}

// envelopeMembers are the members that every event may have.
var envelopeMembers = [...]string{
	"event_id", "event_type", "schema_version", "occurred_at", "correlation_id", "causation_id",
	"case_id", "org_id", "product_id", "payload", "traceparent",
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
	if !step.producesOutput() {
		add("path_never_produced", at, "%s is never there: a step of kind %s leaves no output", shown, step.kind)
		return false
	}
	if len(path) < 2 {
		return true
	}
	if members, closed := step.outputMembers(); members != nil && !slices.Contains(members, path[1]) {
		report := v.warn
		if closed {
			report = add
		}
		report("path_not_in_output", at, "%s: the output of a %s step is not known to have %s, only %s%s", shown, step.kind, quote(path[1]), list(members, "and"), suggestion(path[1], members))
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
