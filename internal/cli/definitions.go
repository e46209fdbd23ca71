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
	Kinds  string   `type:"existingdir" placeholder:"DIR" help:"Folder of step kinds of your own: one contract a file, named after its kind."`
	Output string   `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
}

// fileReport is what validation found in one file.
type fileReport struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Errors   []rondo.FieldError `json:"errors"`
	Warnings []rondo.FieldError `json:"warnings"`
}

// Run checks every file and fails when one has errors, or cannot be read: that
// never hides what is wrong with the others.
func (c validateCommand) Run(_ context.Context, s streams) error {
	env, err := environmentWith(c.Kinds)
	if err != nil {
		return err
	}
	reports := make([]fileReport, 0, len(c.Files))
	wrong, unread := 0, 0
	for _, file := range c.Files {
		source, err := os.ReadFile(file)
		if err != nil {
			unread++
			reports = append(reports, fileReport{
				File:     file,
				Errors:   []rondo.FieldError{{Code: "unreadable", Message: err.Error()}},
				Warnings: []rondo.FieldError{},
			})
			continue
		}
		found := definition.Check(source, env)
		if !found.Valid() {
			wrong++
		}
		reports = append(reports, fileReport{File: file, Valid: found.Valid(), Errors: found.Errors, Warnings: found.Warnings})
	}
	if err := c.print(s, reports); err != nil {
		return err
	}
	var summary []string
	if unread > 0 {
		summary = append(summary, fmt.Sprintf("%d of %d files cannot be read", unread, len(reports)))
	}
	if wrong > 0 {
		summary = append(summary, fmt.Sprintf("%d of %d files cannot be published", wrong, len(reports)))
	}
	switch {
	case unread > 0:
		return errors.New(strings.Join(summary, ", "))
	case wrong > 0:
		return invalidError{summary[0]}
	}
	return nil
}

// environmentWith is what definition files are judged by: the built-in reason
// codes and kinds, and the kinds of a folder. What else an organisation has
// added is known to its server only.
func environmentWith(kindsDir string) (definition.Environment, error) {
	env := definition.Environment{ReasonCodes: definition.SystemReasonCodes()}
	if kindsDir == "" {
		return env, nil
	}
	var err error
	env.Kinds, err = readKinds("", kindsDir)
	return env, err
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
			verdict = count(len(r.Errors), "error")
		}
		if len(r.Warnings) > 0 {
			verdict += ", " + count(len(r.Warnings), "warning")
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

// count writes "1 error" or "2 errors".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

type graphCommand struct {
	File   string `arg:"" help:"Definition file: JSON, JSON with comments, or YAML."`
	Kinds  string `type:"existingdir" placeholder:"DIR" help:"Folder of step kinds of your own: one contract a file, named after its kind."`
	Format string `enum:"mermaid,svg" default:"mermaid" help:"mermaid or svg."`
}

// Run prints the drawing of a definition. One with errors is drawn as far as it
// goes: seeing it helps to mend it.
func (c graphCommand) Run(_ context.Context, s streams) error {
	env, err := environmentWith(c.Kinds)
	if err != nil {
		return err
	}
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
	drawing, err := draw(draft.Body, env.Kinds...)
	if err != nil {
		return err
	}
	if found := definition.Check(source, env); !found.Valid() {
		_, _ = fmt.Fprintf(s.err, "rondo: warning: %s has %s, so the drawing may lack some of it; to see them: rondo validate %s\n",
			c.File, count(len(found.Errors), "error"), c.File)
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
