package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
)

type testCommand struct {
	Paths    []string `arg:"" name:"path" help:"Definition files, or folders of them; tests are inside, or in NAME.tests.yaml beside NAME.yaml."`
	Kinds    string   `placeholder:"DIR" help:"Folder of step kinds. Default: kinds/ beside the definitions, if there is one."`
	Coverage float64  `placeholder:"PERCENT" default:"0" help:"Fail when the tests of a definition take less than this share of its transitions."`
	Verbose  bool     `short:"v" help:"Show the path of every case and the transitions that no test takes."`
	Output   string   `short:"o" enum:"table,json" default:"table" help:"How to print: table or json."`
}

// testedFile is what the tests of one definition showed.
type testedFile struct {
	File   string             `json:"file"`
	Name   string             `json:"name"`
	Passed bool               `json:"passed"`
	Errors []rondo.FieldError `json:"errors"` // why it could not be tested
	Report deftest.Report     `json:"report"`
}

// Run plays the tests of every definition and fails when one does not hold.
func (c testCommand) Run(_ context.Context, s streams) error {
	files := []testedFile{}
	for _, path := range c.Paths {
		found, err := readFolder(path, c.Kinds)
		if err != nil {
			return err
		}
		found.warn(s)
		env, before := found.environment(), len(files)
		for _, one := range found.definitions {
			if one.kind == rondo.KindCase { // others have no tests
				files = append(files, c.test(one, env))
			}
		}
		if len(files) == before {
			return nothing(path, "test")
		}
	}
	if err := c.print(s, files); err != nil {
		return err
	}
	failed := 0
	for _, f := range files {
		if !f.Passed {
			failed++
		}
	}
	if failed > 0 {
		return invalidError{outOf(failed, len(files), "definition") + " failed"}
	}
	return nil
}

// test plays the tests of one definition: those inside it and those beside it.
func (c testCommand) test(one definitionFile, env definition.Environment) testedFile {
	out := testedFile{File: one.path, Errors: []rondo.FieldError{}, Report: deftest.Report{Results: []deftest.Result{}}}
	draft, err := one.draft()
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	out.Name = draft.Name
	out.Report, out.Errors = play(draft.Body, env)
	if out.Errors = append(out.Errors, one.wrong...); len(out.Errors) == 0 && out.Report.Coverage.Percent < c.Coverage {
		out.Errors = append(out.Errors, rondo.FieldError{
			Code:    "coverage",
			Message: fmt.Sprintf("the tests take %.1f %% of the transitions, %.1f %% is asked for", out.Report.Coverage.Percent, c.Coverage),
		})
	}
	out.Passed = out.Report.Failed == 0 && len(out.Errors) == 0
	return out
}

// play runs the tests of a case definition, or says why they cannot be run.
func play(body json.RawMessage, env definition.Environment) (deftest.Report, []rondo.FieldError) {
	none := deftest.Report{Results: []deftest.Result{}}
	if report := definition.Validate(body, env); !report.Valid() {
		return none, report.Errors
	}
	written, _, err := definition.TestsOf(body)
	if err != nil {
		return none, fieldsOf(err)
	}
	tests, err := deftest.Parse(written)
	if err != nil {
		return none, fieldsOf(err)
	}
	document, _, err := definition.Freeze(body, env)
	if err != nil {
		return none, fieldsOf(err)
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		return none, fieldsOf(err)
	}
	return deftest.Run(snapshot, tests), []rondo.FieldError{}
}

func (c testCommand) print(s streams, files []testedFile) error {
	if c.Output == "json" {
		return printList(s.out, files)
	}
	return printTested(s, c.Verbose, files...)
}

// printTested prints what the tests of definitions showed.
func printTested(s streams, verbose bool, files ...testedFile) error {
	var b strings.Builder
	for _, f := range files {
		verdict, cover := "ok", f.Report.Coverage
		if !f.Passed {
			verdict = "FAIL"
		}
		played := "cannot be tested"
		if cover.Transitions > 0 {
			played = fmt.Sprintf("%s, %d of %s (%.1f %%)", count(len(f.Report.Results), "test"), cover.TransitionsTaken, count(cover.Transitions, "transition"), cover.Percent)
		}
		fmt.Fprintf(&b, "%-4s  %s: %s\n", verdict, f.File, played)
		for _, e := range f.Errors {
			fmt.Fprintf(&b, "      %s\n        %s\n", strings.TrimRight(e.Code+" "+e.Pointer, " "), e.Message)
		}
		for _, r := range f.Report.Results {
			printResult(&b, verbose, r)
		}
		if verbose && len(cover.TransitionsMissed) > 0 {
			fmt.Fprintf(&b, "      no test takes: %s\n", strings.Join(cover.TransitionsMissed, ", "))
		}
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

func printResult(b *strings.Builder, verbose bool, r deftest.Result) {
	if !r.Passed {
		fmt.Fprintf(b, "      not ok  %s\n", r.Name)
	} else if verbose {
		fmt.Fprintf(b, "      ok      %s\n", r.Name)
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(b, "                %s\n", failure)
	}
	if verbose {
		fmt.Fprintf(b, "                %s\n", strings.Join(r.Seen.Path, " → "))
	}
}
