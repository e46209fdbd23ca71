package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo/internal/definition"
)

type graphCommand struct {
	File   string `arg:"" help:"Definition file: JSON, JSON with comments, or YAML."`
	Kinds  string `type:"existingdir" placeholder:"DIR" help:"Folder of step kinds. Default: kinds/ beside the definition, if there is one."`
	Format string `enum:"mermaid,svg" default:"mermaid" help:"mermaid or svg."`
}

// Run prints the drawing of a definition. One with errors is drawn as far as it
// goes: seeing it helps to mend it.
func (c graphCommand) Run(_ context.Context, s streams) error {
	found, err := readFolder(c.File, c.Kinds)
	if err != nil {
		return err
	}
	if len(found.definitions) != 1 {
		return fmt.Errorf("%s holds %s; name one file", c.File, count(len(found.definitions), "definition"))
	}
	one, env := found.definitions[0], found.environment()
	draft, err := one.draft()
	if err != nil {
		for _, f := range fieldsOf(err) {
			_, _ = fmt.Fprintf(s.err, "  %-24s %s\n           %s\n", f.Code, f.Pointer, f.Message)
		}
		return invalidError{c.File + " is not a definition"}
	}
	draw := definition.MermaidOf
	if c.Format == "svg" {
		draw = definition.SVGOf
	}
	drawing, err := draw(one.kind, draft.Body, env.Kinds...)
	if err != nil {
		return err
	}
	if report := one.check(env); !report.Valid {
		_, _ = fmt.Fprintf(s.err, "rondo: warning: %s has %s, so the drawing may lack some of it; to see them: rondo validate %s\n",
			c.File, count(len(report.Errors), "error"), c.File)
	}
	_, err = fmt.Fprintln(s.out, strings.TrimRight(drawing, "\n"))
	return err
}
