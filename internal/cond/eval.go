package cond

import (
	"strings"
	"unicode/utf8"
)

func (e *Expr) eval(env *Env, n *node) (any, error) {
	switch n.kind {
	case nodeLiteral:
		return n.literal, nil
	case nodePath:
		return e.lookup(env, n)
	case nodeNot, nodeAnd, nodeOr, nodeCompare, nodeSample:
		return e.boolean(env, n)
	case nodeNow:
		if env.Now == nil {
			return nil, e.fail(n, "now() cannot be used here")
		}
		now := float64(env.Now())
		if env.trace != nil {
			env.trace.note(TraceStep{Expr: e.text(n), Result: now})
		}
		return now, nil
	case nodeLen:
		return e.length(env, n)
	case nodeCoalesce:
		return e.coalesce(env, n)
	}
	return nil, e.fail(n, "unknown expression")
}

// boolean evaluates a node where a condition is needed: null counts as false.
func (e *Expr) boolean(env *Env, n *node) (bool, error) {
	switch n.kind {
	case nodeNot:
		operand, err := e.boolean(env, n.children[0])
		return !operand && err == nil, err
	case nodeAnd:
		for _, child := range n.children {
			if operand, err := e.boolean(env, child); err != nil || !operand {
				return false, err
			}
		}
		return true, nil
	case nodeOr:
		for _, child := range n.children {
			if operand, err := e.boolean(env, child); err != nil || operand {
				return operand, err
			}
		}
		return false, nil
	case nodeCompare:
		return e.compare(env, n)
	case nodeSample:
		if env.Sample == nil {
			return false, e.fail(n, "sample(p) cannot be used here")
		}
		share, _ := n.literal.(float64)
		chosen := env.Sample(share)
		if env.trace != nil {
			env.trace.note(TraceStep{Expr: e.text(n), Left: share, Operands: 1, Result: chosen})
		}
		return chosen, nil
	}
	value, err := e.eval(env, n)
	if err != nil {
		return false, err
	}
	truth, ok := value.(bool)
	if !ok && value != nil {
		err = e.fail(n, "this is "+typeName(value)+", but a condition needs true or false: compare it with something")
	}
	if env.trace != nil && (n.kind == nodePath || err != nil) {
		env.trace.noteResult(TraceStep{Expr: e.text(n), Left: value, Operands: 1}, truth, err)
	}
	return truth, err
}

func (e *Expr) coalesce(env *Env, n *node) (any, error) {
	first, err := e.eval(env, n.children[0])
	if err != nil {
		return nil, err
	}
	if first != nil {
		if env.trace != nil {
			env.trace.note(TraceStep{Expr: e.text(n), Left: first, Operands: 1, Result: first})
		}
		return first, nil
	}
	second, err := e.eval(env, n.children[1])
	if err == nil && env.trace != nil {
		env.trace.note(TraceStep{Expr: e.text(n), Right: second, Operands: 2, Result: second})
	}
	return second, err
}

func (e *Expr) compare(env *Env, n *node) (bool, error) {
	left, err := e.eval(env, n.children[0])
	if err != nil {
		return false, err
	}
	right, err := e.eval(env, n.children[1])
	if err != nil {
		return false, err
	}
	result, err := e.compareValues(n, left, right)
	if env.trace != nil {
		env.trace.noteResult(TraceStep{Expr: e.text(n), Left: left, Right: right, Operands: 2}, result, err)
	}
	return result, err
}

func (e *Expr) compareValues(n *node, left, right any) (bool, error) {
	switch n.compare {
	case compareEqual, compareNotEqual:
		same, err := e.same(n, left, right)
		return same == (n.compare == compareEqual) && err == nil, err
	case compareIn:
		return e.contains(n, left, right)
	}
	switch l := left.(type) {
	case float64:
		if r, ok := right.(float64); ok {
			return ordered(n.compare, l < r, l == r, l > r), nil
		}
	case string:
		if r, ok := right.(string); ok {
			order := strings.Compare(l, r) // the order of UTF-8 bytes is that of code points
			return ordered(n.compare, order < 0, order == 0, order > 0), nil
		}
	}
	message := "cannot order " + typeName(left) + " and " + typeName(right) + ": both must be numbers or both strings"
	if left == nil || right == nil {
		message += "; say with coalesce(path, value) what a missing value means"
	}
	return false, e.fail(n, message)
}

func ordered(op comparison, less, equal, greater bool) bool {
	switch op {
	case compareLess:
		return less
	case compareLessEqual:
		return less || equal
	case compareGreaterEqual:
		return greater || equal
	default:
		return greater
	}
}

func (e *Expr) contains(n *node, left, right any) (bool, error) {
	elements, ok := right.([]any)
	if !ok {
		return false, e.fail(n, "in needs an array on its right side, not "+typeName(right))
	}
	for _, element := range elements {
		if same, err := e.same(n, left, element); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func (e *Expr) same(n *node, left, right any) (bool, error) {
	same, ok := equal(left, right, 0)
	if !ok {
		return false, e.fail(n, "a value nests too deep to compare, or is not a JSON value")
	}
	return same, nil
}

func (e *Expr) length(env *Env, n *node) (any, error) {
	value, err := e.eval(env, n.children[0])
	if err != nil {
		return nil, err
	}
	size := 0
	switch v := value.(type) {
	case nil:
	case string:
		size = utf8.RuneCountInString(v)
	case []any:
		size = len(v)
	case map[string]any:
		size = len(v)
	default:
		err = e.fail(n, "len takes an array, a string, an object or null, not "+typeName(value))
	}
	length := float64(size)
	if env.trace != nil {
		env.trace.noteResult(TraceStep{Expr: e.text(n), Left: value, Operands: 1}, length, err)
	}
	if err != nil {
		return nil, err
	}
	return length, nil
}

func (e *Expr) lookup(env *Env, n *node) (any, error) {
	if env.Lookup == nil {
		return nil, e.fail(n, "paths cannot be used here")
	}
	value, err := env.Lookup(n.path)
	if err != nil {
		return nil, &EvalError{Message: e.quote(n) + " cannot be read: " + err.Error(), Err: err}
	}
	switch value.(type) {
	case nil, bool, float64, string, []any, map[string]any:
		return value, nil
	}
	return nil, e.fail(n, "this is not a JSON value")
}

func (e *Expr) fail(n *node, message string) error {
	return &EvalError{Message: e.quote(n) + ": " + message}
}

// text is the source of a node.
func (e *Expr) text(n *node) string { return e.source[n.start:n.end] }

// quote is the source of a node, shortened for messages.
func (e *Expr) quote(n *node) string {
	const most = 80
	text := e.text(n)
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
