// Package text renders Go templates that tenants wrote over inputs that tenants sent.
//
// # Guarantees
//
//  1. A rendering ends: its output, the size of every value that a function makes and
//     of all of them together, the turns of its loops, the depth of its templates and
//     its time are bounded, and it stops when ctx ends. A value is measured before it
//     is made: none that is too large ever is.
//  2. A member that the input does not have is an error, except where a template asks
//     for it: in the condition of if and with, and in and, or, not, default and has.
//  3. Functions read no clock, file, network or environment: equal inputs give equal
//     texts.
//  4. Errors name places in the template, never values of the input.
//
// It imports the standard library and the root package.
package text

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/rondo-engine/rondo"
)

// Bounds of one rendering.
const (
	MaxSource = 64 << 10
	maxTurns  = 200_000 // of all loops and templates together
	maxDepth  = 1_000   // of templates within templates
	maxTime   = 5 * time.Second
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct{ parsed *template.Template }

// Parse reads a template. Its error says what is wrong and in which line.
func Parse(name, source string) (*Template, error) { return parseWith(name, source, nil) }

// ParseURL reads the template of a URL: every value is escaped so that it stays the
// part of a path or a query that it stands for, unless it ends with `| raw`.
func ParseURL(name, source string) (*Template, error) { return parseWith(name, source, escapeActions) }

func parseWith(name, source string, rewrite func(*parse.ActionNode)) (*Template, error) {
	if len(source) > MaxSource {
		return nil, rondo.Invalid(fmt.Sprintf("the template has more than %d bytes", MaxSource))
	}
	idle := &rendering{limit: 1}
	parsed, err := template.New(name).Option("missingkey=error").Funcs(idle.functions()).Parse(source)
	if err != nil {
		return nil, rondo.Invalid(strings.TrimPrefix(err.Error(), "template: "))
	}
	for _, each := range parsed.Templates() {
		if each.Tree == nil {
			continue
		}
		w := &walker{rewrite: rewrite}
		w.list(each.Root)
		each.Root.Nodes = append([]parse.Node{action(enterName)}, append(each.Root.Nodes, action(leaveName))...)
	}
	return &Template{parsed}, nil
}

// Render executes a template over an input, for at most limit bytes. Its errors have
// code CodeInvalid, unless ctx ended.
func (t *Template) Render(ctx context.Context, input json.RawMessage, limit int64) ([]byte, error) {
	data, err := decode(input)
	if err != nil {
		return nil, rondo.Invalid("the input is not JSON")
	}
	timed, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	r := &rendering{over: timed.Err, limit: limit}
	own, err := t.parsed.Clone()
	if err != nil {
		return nil, rondo.Invalid("the template cannot be used")
	}
	if err := own.Funcs(r.functions()).Execute(r, data); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, errTooLong) {
			return nil, rondo.Invalid(fmt.Sprintf("%v: more than %d bytes", errTooLong, limit))
		}
		return nil, t.problem(err, data)
	}
	return r.out.Bytes(), nil
}

// rendering is one execution: its output and what is left of its bounds.
type rendering struct {
	out   bytes.Buffer
	limit int64
	made  int64 // bytes of all that functions made
	turns int
	depth int
	over  func() error
}

var (
	errTooLong = errors.New("the text becomes too large")
	errTurns   = errors.New("it takes too many turns")
	errDepth   = errors.New("its templates use each other too deeply")
	errTime    = errors.New("it takes too long")
)

// Write takes output up to the limit.
func (r *rendering) Write(p []byte) (int, error) {
	if int64(r.out.Len()+len(p)) > r.limit {
		return 0, errTooLong
	}
	return r.out.Write(p)
}

// enter is called at the beginning of every template.
func (r *rendering) enter() (string, error) {
	r.depth++
	if r.depth > maxDepth {
		return "", errDepth
	}
	return r.turn()
}

// leave is called at the end of every template.
func (r *rendering) leave() string {
	r.depth--
	return ""
}

// turn is called by every turn of a loop and every template.
func (r *rendering) turn() (string, error) {
	r.turns++
	if r.turns > maxTurns {
		return "", errTurns
	}
	if r.over() != nil {
		return "", errTime
	}
	return "", nil
}

// valuesIn finds what messages of text/template quote of a value.
var valuesIn = regexp.MustCompile(`(can't iterate over|can't handle|invalid value|incompatible types for comparison)\b.*$`)

// problem is an execution error without values.
func (t *Template) problem(err error, input any) error {
	for _, bound := range []error{errTurns, errDepth, errTime} {
		if errors.Is(err, bound) {
			return rondo.Invalid(bound.Error())
		}
	}
	message := strings.TrimPrefix(err.Error(), "template: ")
	if said, ok := t.absent(message, input); ok {
		message = said
	} else {
		message = valuesIn.ReplaceAllString(message, "$1 what is there")
	}
	const most = 500
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return rondo.Invalid(message)
}

// decode reads an input; whole numbers are integers, so that they print and compare
// as people expect.
func decode(input json.RawMessage) (any, error) {
	if len(input) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return numbers(value), nil
}

func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		if fraction, err := v.Float64(); err == nil {
			return fraction
		}
		return v.String()
	}
	return value
}
