package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/deftest"
)

// toTry is the definition that people mean who try one: a draft, or else the
// active one.
func (c oneDefinition) toTry(ctx context.Context) (*client.Client, string, error) {
	return c.find(ctx, rondo.DefinitionDraft, rondo.DefinitionActive)
}

type definitionsValidate struct{ oneDefinition }

// Run validates a definition by what its organisation has.
func (c definitionsValidate) Run(ctx context.Context, s streams) error {
	server, id, err := c.toTry(ctx)
	if err != nil {
		return err
	}
	var found client.Validation
	err = c.fetchInto(ctx, s, server, client.Call{Method: http.MethodPost, Path: client.DefinitionPath(id, "validate")}, &found, func() error {
		return fileReport{File: c.ID, Valid: found.Valid, Errors: found.Errors, Warnings: found.Warnings}.print(s)
	})
	if err == nil && !found.Valid {
		return invalidError{c.ID + " cannot be published"}
	}
	return err
}

type definitionsTest struct {
	oneDefinition
	Tests   string `help:"File of tests to run instead of those inside." placeholder:"FILE"`
	Verbose bool   `short:"v" help:"Show the path of every case and the transitions that no test takes."`
}

// Run plays the tests of a definition.
func (c definitionsTest) Run(ctx context.Context, s streams) error {
	body := map[string]any{}
	if c.Tests != "" {
		source, err := os.ReadFile(c.Tests)
		if err != nil {
			return err
		}
		tests, err := deftest.ParseFile(source)
		if err != nil {
			return rondo.Op(c.Tests, err)
		}
		body["tests"] = nonNil(tests)
	}
	server, id, err := c.toTry(ctx)
	if err != nil {
		return err
	}
	var report struct {
		Failed  int `json:"failed"`
		Results []struct {
			deftest.Result
			Path []string `json:"path"`
		} `json:"results"`
		Coverage deftest.Coverage `json:"coverage"`
	}
	err = c.fetchInto(ctx, s, server, client.Call{Method: http.MethodPost, Path: client.DefinitionPath(id, "test"), Body: body}, &report, func() error {
		tested := testedFile{File: c.ID, Passed: report.Failed == 0, Report: deftest.Report{Coverage: report.Coverage}}
		for _, r := range report.Results {
			r.Seen.Path = r.Path
			tested.Report.Results = append(tested.Report.Results, r.Result)
		}
		return printTested(s, c.Verbose, tested)
	})
	if err == nil && report.Failed > 0 {
		return invalidError{outOf(report.Failed, len(report.Results), "test") + " failed"}
	}
	return err
}

type definitionsBacktest struct {
	oneDefinition
	Last int    `help:"How many finished cases, newest first." default:"1000"`
	Of   string `help:"Cases of this definition only. Default: of every one of the same product." placeholder:"ID"`
}

// Validate refuses what no backtest can play.
func (c definitionsBacktest) Validate() error {
	return firstWrong(rule{c.Last >= 1 && c.Last <= deftest.MaxBacktest, fmt.Sprintf("--last must be 1 to %d", deftest.MaxBacktest)})
}

// Run plays finished cases through a definition.
func (c definitionsBacktest) Run(ctx context.Context, s streams) error {
	server, id, err := c.toTry(ctx)
	if err != nil {
		return err
	}
	body := map[string]any{"last": c.Last}
	if c.Of != "" {
		body["definition_id"] = c.Of
	}
	var report struct {
		Compared     int `json:"compared"`
		Same         int `json:"same"`
		Differs      int `json:"differs"`
		Inconclusive int `json:"inconclusive"`
		Cases        []struct {
			CaseID     string  `json:"case_id"`
			Verdict    string  `json:"verdict"`
			DivergesAt *string `json:"diverges_at"`
			Recorded   *string `json:"recorded"`
			Draft      *string `json:"draft"`
			Ends       *string `json:"ends"`
		} `json:"cases"`
	}
	return c.fetchInto(ctx, s, server, client.Call{Method: http.MethodPost, Path: client.DefinitionPath(id, "backtest"), Body: body}, &report, func() error {
		_, err := fmt.Fprintf(s.out, "%s compared: %d the same, %d differ, %d inconclusive\n", count(report.Compared, "case"), report.Same, report.Differs, report.Inconclusive)
		if err != nil || len(report.Cases) == 0 {
			return err
		}
		_, _ = fmt.Fprintln(s.out)
		rows := [][]string{{"CASE", "VERDICT", "AT", "WENT", "WOULD GO", "WOULD END"}}
		for _, found := range report.Cases {
			rows = append(rows, []string{found.CaseID, found.Verdict, orDash(text(found.DivergesAt)), orDash(text(found.Recorded)), orDash(text(found.Draft)), orDash(text(found.Ends))})
		}
		return table(s.out, rows)
	})
}

type definitionsGraph struct {
	oneDefinition
	Format string `enum:"mermaid,svg" default:"mermaid" help:"mermaid or svg."`
}

// Run prints the drawing.
func (c definitionsGraph) Run(ctx context.Context, s streams) error {
	server, id, err := c.toTry(ctx)
	if err != nil {
		return err
	}
	var drawing []byte
	if _, err := server.Do(ctx, client.Call{Path: client.DefinitionPath(id, "graph"), Query: query("format", c.Format)}, &drawing); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, strings.TrimRight(string(drawing), "\n"))
	return err
}

type definitionsRevisions struct{ oneDefinition }

// Run lists who changed what, when and why.
func (c definitionsRevisions) Run(ctx context.Context, s streams) error {
	server, id, err := c.toTry(ctx)
	if err != nil {
		return err
	}
	type revision struct {
		By     string    `json:"changed_by"`
		At     time.Time `json:"created_at"`
		Reason *string   `json:"reason"`
		Diff   struct {
			Before json.RawMessage `json:"before"`
			Patch  []struct {
				Op   string `json:"op"`
				Path string `json:"path"`
			} `json:"patch"`
		} `json:"diff"`
	}
	return fetchAll(ctx, s, c.remote, server, client.DefinitionPath(id, "revisions"), []string{"AT", "BY", "WHAT", "REASON"}, func(r revision) []string {
		what := "created"
		if len(r.Diff.Before) > 0 && string(r.Diff.Before) != "null" {
			var changes []string
			for _, p := range r.Diff.Patch {
				changes = append(changes, p.Op+" "+p.Path)
			}
			what = strings.Join(changes, ", ")
		}
		return []string{moment(r.At), r.By, orDash(what), orDash(text(r.Reason))}
	})
}
