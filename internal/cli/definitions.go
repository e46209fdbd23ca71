package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

type validateCommand struct {
	Files  []string `arg:"" name:"file" help:"Definition files: JSON, JSON with comments, or YAML."`
	Output string   `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
}

// fileReport is what validation found in one file.
type fileReport struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Errors   []rondo.FieldError `json:"errors"`
	Warnings []rondo.FieldError `json:"warnings"`
}

// Run checks every file and fails when one has errors. Reason codes and kinds
// are the built-in ones: what an organisation adds is known to its server only.
func (c validateCommand) Run(_ context.Context, s streams) error {
	reports := make([]fileReport, 0, len(c.Files))
	wrong := 0
	for _, file := range c.Files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r := check(file, source)
		reports = append(reports, r)
		if !r.Valid {
			wrong++
		}
	}
	if err := c.print(s, reports); err != nil {
		return err
	}
	if wrong > 0 {
		return invalidError{fmt.Sprintf("%d of %d files cannot be published", wrong, len(reports))}
	}
	return nil
}

func check(file string, source []byte) fileReport {
	r := fileReport{File: file, Errors: []rondo.FieldError{}, Warnings: []rondo.FieldError{}}
	draft, err := definition.ParseDraft(source)
	if err != nil {
		r.Errors = append(r.Errors, fieldsOf(err)...)
		return r
	}
	report := definition.Validate(draft.Body, definition.Environment{ReasonCodes: definition.SystemReasonCodes()})
	r.Valid = report.Valid()
	r.Errors = append(r.Errors, report.Errors...)
	r.Warnings = append(r.Warnings, report.Warnings...)
	return r
}

// fieldsOf makes every error a list of findings.
func fieldsOf(err error) []rondo.FieldError {
	if e, ok := errors.AsType[*rondo.Error](err); ok && len(e.Fields) > 0 {
		return e.Fields
	}
	return []rondo.FieldError{{Code: string(rondo.CodeOf(err)), Message: err.Error()}}
}

func (c validateCommand) print(s streams, reports []fileReport) error {
	if c.Output == "json" {
		return printJSON(s.out, reports)
	}
	for _, r := range reports {
		verdict := "valid"
		if !r.Valid {
			verdict = fmt.Sprintf("%d errors", len(r.Errors))
		}
		if len(r.Warnings) > 0 {
			verdict += fmt.Sprintf(", %d warnings", len(r.Warnings))
		}
		if _, err := fmt.Fprintf(s.out, "%s: %s\n", r.File, verdict); err != nil {
			return err
		}
		for _, e := range r.Errors {
			_, _ = fmt.Fprintf(s.out, "  error    %-24s %s\n           %s\n", e.Code, e.Pointer, e.Message)
		}
		for _, e := range r.Warnings {
			_, _ = fmt.Fprintf(s.out, "  warning  %-24s %s\n           %s\n", e.Code, e.Pointer, e.Message)
		}
	}
	return nil
}

type graphCommand struct {
	File   string `arg:"" help:"Definition file: JSON, JSON with comments, or YAML."`
	Format string `enum:"mermaid,svg" default:"mermaid" help:"mermaid or svg."`
}

// Run prints the drawing of a definition.
func (c graphCommand) Run(_ context.Context, s streams) error {
	source, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	draft, err := definition.ParseDraft(source)
	if err != nil {
		for _, f := range fieldsOf(err) {
			_, _ = fmt.Fprintf(s.err, "  %-24s %s\n           %s\n", f.Code, f.Pointer, f.Message)
		}
		return invalidError{c.File + " is not a definition"}
	}
	draw := definition.Mermaid
	if c.Format == "svg" {
		draw = definition.SVG
	}
	drawing, err := draw(draft.Body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, strings.TrimRight(drawing, "\n"))
	return err
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
