package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
	"github.com/rondo-engine/rondo/internal/plan"
)

type validateCommand struct {
	Paths  []string `arg:"" name:"path" help:"Definition files (JSON, JSON with comments, YAML), or folders of them."`
	Kinds  string   `type:"existingdir" placeholder:"DIR" help:"Folder of step kinds. Default: kinds/ beside the definitions, if there is one."`
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
	var reports []fileReport
	wrong, unread := 0, 0
	for _, path := range c.Paths {
		found, err := readFolder(path, c.Kinds)
		if err != nil {
			unread++
			reports = append(reports, fileReport{File: path, Errors: unreadable(err), Warnings: []rondo.FieldError{}})
			continue
		}
		found.warn(s)
		if len(found.definitions) == 0 {
			return nothing(path, "validate")
		}
		env := found.environment()
		for _, one := range found.definitions {
			report := one.check(env)
			if !report.Valid {
				wrong++
			}
			reports = append(reports, report)
		}
	}
	if err := c.print(s, reports); err != nil {
		return err
	}
	var summary []string
	if unread > 0 {
		summary = append(summary, fmt.Sprintf("%s cannot be read", outOf(unread, len(reports), "file")))
	}
	if wrong > 0 {
		summary = append(summary, fmt.Sprintf("%s cannot be published", outOf(wrong, len(reports), "file")))
	}
	switch {
	case unread > 0:
		return errors.New(strings.Join(summary, ", "))
	case wrong > 0:
		return invalidError{summary[0]}
	}
	return nil
}

// unreadable tells why a path could not be read, as findings.
func unreadable(err error) []rondo.FieldError {
	found := []rondo.FieldError{{Code: "unreadable", Message: err.Error()}}
	if e, ok := errors.AsType[*rondo.Error](err); ok {
		found = append(found, e.Fields...)
	}
	return found
}

// check judges one file and the tests beside it.
func (d definitionFile) check(env definition.Environment) fileReport {
	report := fileReport{File: d.path, Errors: []rondo.FieldError{}, Warnings: []rondo.FieldError{}}
	switch {
	case isExport(d.source):
		report.Errors = append(report.Errors, rondo.FieldError{Code: "is_export", Message: exportHint})
	case d.kind == rondo.KindCase:
		found := definition.Check(d.source, env)
		report.Errors, report.Warnings = found.Errors, found.Warnings
	default:
		draft, err := definition.ParseDraftOf(d.kind, d.source)
		if err != nil {
			report.Errors = fieldsOf(err)
		} else {
			found := definition.ValidateOf(d.kind, draft.Body, env)
			report.Errors, report.Warnings = found.Errors, found.Warnings
		}
		if d.kind == rondo.KindRun {
			report.judgeRun(d.source)
		}
	}
	report.Errors = append(report.Errors, d.wrong...)
	if _, err := deftest.Parse(d.tests); err != nil {
		report.Errors = append(report.Errors, fieldsOf(err)...)
	}
	report.Valid = len(report.Errors) == 0
	return report
}

// judgeRun adds what only shows when a run is compiled and its skills are made. What
// a server may know or allow is a warning.
func (r *fileReport) judgeRun(source []byte) {
	body, err := definition.PlainJSON(source)
	if err != nil {
		return // that is said already
	}
	wrong, forbidden := app.JudgeSkills(body)
	_, err = plan.Compile(body, nil)
	if e, ok := errors.AsType[*rondo.Error](err); ok {
		for _, f := range e.Fields {
			switch f.Code {
			case "skill_unknown", "registry_unknown":
				r.Warnings = append(r.Warnings, f)
			default:
				wrong = append(wrong, f)
			}
		}
	}
	r.Warnings = append(r.Warnings, forbidden...)
	for _, f := range wrong {
		if !slices.ContainsFunc(r.Errors, func(known rondo.FieldError) bool { return known.Pointer == f.Pointer }) {
			r.Errors = append(r.Errors, f)
		}
	}
	slices.SortStableFunc(r.Errors, func(a, b rondo.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
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
		return printList(s.out, reports)
	}
	for _, r := range reports {
		if err := r.print(s); err != nil {
			return err
		}
	}
	return nil
}

func (r fileReport) print(s streams) error {
	verdict := "valid"
	if !r.Valid {
		verdict = count(len(r.Errors), "error")
	}
	if len(r.Warnings) > 0 {
		verdict += ", " + count(len(r.Warnings), "warning")
	}
	_, err := fmt.Fprintf(s.out, "%s: %s\n", r.File, verdict)
	printFindings(s, "error", r.Errors)
	printFindings(s, "warning", r.Warnings)
	return err
}

// printFindings prints everything that is wrong with something, place by place.
func printFindings(s streams, grade string, findings []rondo.FieldError) {
	for _, f := range findings {
		place := strings.TrimRight(fmt.Sprintf("  %-7s  %-24s %s", grade, f.Code, f.Pointer), " ")
		_, _ = fmt.Fprintf(s.out, "%s\n           %s\n", place, f.Message)
	}
}

// count writes "1 error" or "2 errors".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// outOf writes "1 of 3 files".
func outOf(n, total int, thing string) string { return fmt.Sprintf("%d of %s", n, count(total, thing)) }
