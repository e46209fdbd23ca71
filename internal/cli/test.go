package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/deftest"
)

type testCommand struct {
	Paths    []string `arg:"" name:"path" help:"Definition files, or folders of them, with NAME.tests.yaml beside NAME.yaml."`
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
		env := definition.Environment{ReasonCodes: definition.SystemReasonCodes(), Kinds: found.kinds}
		for _, one := range found.definitions {
			files = append(files, c.test(one, env))
		}
	}
	if len(files) == 0 {
		return errors.New("no definition files there: a definition is a .yaml, .yml or .json file")
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
		return invalidError{fmt.Sprintf("%d of %s do not pass", failed, count(len(files), "definition"))}
	}
	return nil
}

// test plays the tests of one definition: those inside it and those beside it.
func (c testCommand) test(one definitionFile, env definition.Environment) testedFile {
	out := testedFile{File: one.path, Errors: []rondo.FieldError{}, Report: deftest.Report{Results: []deftest.Result{}}}
	draft, err := definition.ParseDraft(one.source)
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	out.Name = draft.Name
	if report := definition.Validate(draft.Body, env); !report.Valid() {
		out.Errors = report.Errors
		return out
	}
	inside, _, err := definition.TestsOf(draft.Body)
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	tests, err := deftest.Parse(slices.Concat(inside, one.tests))
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	document, _, err := definition.Freeze(draft.Body, env)
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	snapshot, err := definition.Compile(document)
	if err != nil {
		out.Errors = fieldsOf(err)
		return out
	}
	out.Report = deftest.Run(snapshot, tests)
	if out.Report.Coverage.Percent < c.Coverage {
		out.Errors = append(out.Errors, rondo.FieldError{
			Code:    "coverage",
			Message: fmt.Sprintf("the tests take %.1f %% of the transitions, %.1f %% is asked for", out.Report.Coverage.Percent, c.Coverage),
		})
	}
	out.Passed = out.Report.Failed == 0 && len(out.Errors) == 0
	return out
}

func (c testCommand) print(s streams, files []testedFile) error {
	if c.Output == "json" {
		return printJSON(s.out, files)
	}
	var b strings.Builder
	for _, f := range files {
		verdict, cover := "ok", f.Report.Coverage
		if !f.Passed {
			verdict = "FAIL"
		}
		fmt.Fprintf(&b, "%-4s  %s: %s, %d of %d transitions (%.1f %%)\n", verdict, f.File,
			count(len(f.Report.Results), "test"), cover.TransitionsTaken, cover.Transitions, cover.Percent)
		for _, e := range f.Errors {
			fmt.Fprintf(&b, "      %s %s\n      %s\n", e.Code, e.Pointer, e.Message)
		}
		for _, r := range f.Report.Results {
			c.printResult(&b, r)
		}
		if c.Verbose && len(cover.TransitionsMissed) > 0 {
			fmt.Fprintf(&b, "      no test takes: %s\n", strings.Join(cover.TransitionsMissed, ", "))
		}
	}
	_, err := fmt.Fprint(s.out, b.String())
	return err
}

func (c testCommand) printResult(b *strings.Builder, r deftest.Result) {
	if !r.Passed {
		fmt.Fprintf(b, "      not ok  %s\n", r.Name)
	} else if c.Verbose {
		fmt.Fprintf(b, "      ok      %s\n", r.Name)
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(b, "                %s\n", failure)
	}
	if c.Verbose {
		fmt.Fprintf(b, "                %s\n", strings.Join(r.Seen.Path, " → "))
	}
}
