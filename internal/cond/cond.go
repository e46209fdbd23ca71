// Package cond is the condition language of workflow definitions: comparisons,
// boolean logic, dotted paths into what a case knows, literals, and the helpers
// sample, now, len and coalesce. Nothing else parses.
//
// # Grammar
//
//	expr    = and { "||" and } .
//	and     = compare { "&&" compare } .
//	compare = unary [ ( "<" | "<=" | "==" | "!=" | ">=" | ">" | "in" ) unary ] .
//	unary   = "!" unary | primary .
//	primary = literal | path | call | "(" expr ")" .
//	call    = "sample" "(" number ")" | "now" "(" ")" | "len" "(" expr ")"
//	        | "coalesce" "(" expr "," expr ")" .
//	path    = ident { "." ident } .                     (no space around dots)
//	literal = number | string | "true" | "false" | "null" | array .
//	array   = "[" [ literal { "," literal } ] "]" .
//
// Words of the language (true, false, null, in and the helpers) cannot begin a
// path; after a dot they are names like any other.
//
// # Guarantees
//
//  1. Parse and evaluation never panic and always end: length, node count and
//     nesting are bounded.
//  2. Nothing is coerced. What has no meaning (ordering null, a number as a
//     condition) is an error, never a silent false.
//  3. An Expr is immutable and safe for concurrent use.
//  4. Errors name places and types, never values: values may be confidential.
//     Only a Trace, which is asked for, shows what was looked at.
//
// It imports the standard library only, and does no I/O.
package cond

import (
	"fmt"
	"slices"
)

// Limits on one expression. Parse refuses what exceeds them.
const (
	MaxLength = 2048 // bytes of source
	MaxNodes  = 512  // literals, paths, operators and calls
	MaxDepth  = 32   // parentheses, "!", calls and arrays inside each other
)

// Expr is a parsed expression.
type Expr struct {
	source  string
	root    *node
	paths   [][]string
	samples []float64
	usesNow bool
}

// Env is what an expression may ask for while it is evaluated.
type Env struct {
	// Lookup finds the value at a path; nil means missing. Values are nil, bool,
	// float64, string, []any and map[string]any. It must not change path.
	Lookup func(path []string) (any, error)
	// Now is the time in epoch milliseconds. Take it once per evaluation.
	Now func() int64
	// Sample decides whether this case is in the share p of all cases.
	Sample func(p float64) bool

	trace *Trace // nil = nobody asks
}

// ParseError says what is wrong with a source text, and where.
type ParseError struct {
	Offset  int // in bytes
	Message string
}

func (e *ParseError) Error() string { return fmt.Sprintf("at offset %d: %s", e.Offset, e.Message) }

// EvalError says why an expression has no value here.
type EvalError struct {
	Message string
	Err     error // what Lookup returned, if that was the cause
}

func (e *EvalError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *EvalError) Unwrap() error { return e.Err }

// Parse reads an expression. Its error is a *ParseError.
func Parse(src string) (*Expr, error) {
	if len(src) > MaxLength {
		return nil, &ParseError{Offset: MaxLength, Message: fmt.Sprintf("the expression is longer than %d bytes: split it over several conditions", MaxLength)}
	}
	p := parser{lex: lexer{src: src}, expr: &Expr{source: src}}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	p.expr.root = root
	return p.expr, nil
}

// Source is the text that was parsed.
func (e *Expr) Source() string { return e.source }

// Paths are the distinct paths used, in the order they first appear. The caller
// owns the result.
func (e *Expr) Paths() [][]string {
	paths := make([][]string, len(e.paths))
	for i, path := range e.paths {
		paths[i] = slices.Clone(path)
	}
	return paths
}

// Samples are the arguments of the sample calls, in order. The caller owns the
// result.
func (e *Expr) Samples() []float64 { return slices.Clone(e.samples) }

// UsesNow reports whether the expression calls now().
func (e *Expr) UsesNow() bool { return e.usesNow }

// Eval computes the value. Its error is an *EvalError.
func (e *Expr) Eval(env Env) (any, error) { return e.eval(&env, e.root) }

// True computes the expression as a condition: null counts as false, any other
// value that is not a boolean is an *EvalError.
func (e *Expr) True(env Env) (bool, error) {
	return e.boolean(&env, e.root)
}

// Trace computes the expression as True does and says what was looked at on the
// way. The trace is there even with an error: it ends where the error is.
func (e *Expr) Trace(env Env) (bool, *Trace, error) {
	t := &Trace{}
	env.trace = t
	result, err := e.boolean(&env, e.root)
	if err != nil {
		t.Error = err.Error()
	}
	t.Result = result
	return result, t, err
}
