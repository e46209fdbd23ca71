package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// Draft is a well-formed definition: an object with a name, where every member
// is known and of its type. Whether it can be published is for Validate to say.
type Draft struct {
	Body            json.RawMessage // plain compact JSON, members in the order written
	Name            string
	Semver          string // of a run: the version its author wrote; "" otherwise
	DefaultMode     rondo.Mode
	WorkflowTimeout time.Duration
}

// ParseDraft reads a definition file: JSON, JSON with comments and trailing
// commas, or YAML of the same shape. The error is a *rondo.Error that lists
// everything that is wrong, or has the code too_large.
func ParseDraft(src []byte) (Draft, error) {
	if len(src) > maxBytes {
		return Draft{}, &rondo.Error{Code: rondo.CodeTooLarge, Message: tooLarge, Hint: "split the workflow"}
	}
	body, err := plainJSON(src)
	if err != nil {
		return Draft{}, unreadable(err)
	}
	var p problems
	d := readDocument(body, &p)
	if len(p.errors) > 0 || d == nil {
		p.sort()
		return Draft{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the definition is not well-formed",
			Hint: "correct each field listed", Fields: p.errors,
		}
	}
	return Draft{Body: body, Name: d.name, DefaultMode: d.defaultMode, WorkflowTimeout: d.timeout}, nil
}

const tooLarge = "the definition is larger than 1 MiB"

// Check judges a definition file, in any syntax that ParseDraft reads, by every
// rule there is: those of ParseDraft and those of Validate. What is not of its
// shape is reported and left out, and the rest is judged without it, so that an
// author sees all mistakes at once.
func Check(src []byte, env Environment) Report {
	if len(src) > maxBytes {
		return unreadableReport(rondo.FieldError{Code: string(rondo.CodeTooLarge), Message: tooLarge + "; split the workflow"})
	}
	body, err := plainJSON(src)
	if err != nil {
		return unreadableReport(syntaxField(err))
	}
	return Validate(body, env)
}

func unreadableReport(field rondo.FieldError) Report {
	return Report{Errors: []rondo.FieldError{field}, Warnings: []rondo.FieldError{}}
}

// plainJSON turns any accepted syntax into compact JSON that passes the limits.
func plainJSON(src []byte) ([]byte, error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	var plain []byte
	var err error
	if looksLikeJSON(src) {
		plain, err = stripComments(src)
	} else {
		plain, err = yamlToJSON(src)
	}
	if err != nil {
		return nil, err
	}
	if err := canon.Check(plain, canon.Limits{Bytes: maxBytes, Depth: maxDepth}); err != nil {
		bad, ok := errors.AsType[*canon.Error](err)
		if !ok {
			return nil, err
		}
		line, column := position(plain, bad.Offset)
		return nil, &syntaxError{Line: line, Column: column, Pointer: bad.Pointer, Message: bad.Message}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, plain); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func unreadable(err error) error {
	return &rondo.Error{
		Code: rondo.CodeInvalid, Message: "the definition cannot be read",
		Hint: "it must be JSON (comments and trailing commas are fine) or YAML", Fields: []rondo.FieldError{syntaxField(err)},
	}
}

func syntaxField(err error) rondo.FieldError {
	field := rondo.FieldError{Code: "syntax", Message: err.Error()}
	if bad, ok := errors.AsType[*syntaxError](err); ok {
		field.Pointer = bad.Pointer
	}
	return field
}
