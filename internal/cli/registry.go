package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// definitionsCommand is the registry of a server.
type definitionsCommand struct {
	Apply     applyCommand            `cmd:"" help:"Bring a server in line with a folder of definitions; doing it again does nothing."`
	List      definitionsList         `cmd:"" help:"List definitions, newest first."`
	Templates definitionsTemplates    `cmd:"" help:"List the templates to clone from."`
	Get       definitionsGet          `cmd:"" help:"Show one definition; --as yaml prints it as a file."`
	Edit      definitionsEdit         `cmd:"" help:"Change a draft in your editor."`
	Update    definitionsUpdate       `cmd:"" help:"Replace a draft by a file."`
	Validate  definitionsValidate     `cmd:"" help:"Say what forbids publishing a definition."`
	Test      definitionsTest         `cmd:"" help:"Run the tests of a definition on the server."`
	Backtest  definitionsBacktest     `cmd:"" help:"Say which finished cases would have gone another way."`
	Graph     definitionsGraph        `cmd:"" help:"Draw a definition as Mermaid text or SVG."`
	Diff      definitionsDiff         `cmd:"" help:"Say what turns one definition into another."`
	Revisions definitionsRevisions    `cmd:"" help:"List the changes of a definition, oldest first."`
	Clone     definitionsClone        `cmd:"" help:"Copy a definition or template into a draft."`
	Publish   definitionsPublish      `cmd:"" help:"Make a draft the active definition."`
	Archive   definitionsArchive      `cmd:"" help:"Take a definition out of use, or discard a draft."`
	Export    definitionsExport       `cmd:"" help:"Print a definition with the step kinds and reason codes that it needs."`
	Import    definitionsImportOfFile `cmd:"" help:"Create what is missing of an export, and a draft."`
}

type definitionsList struct {
	remote
	Product string `help:"Of this product only." placeholder:"ID"`
	Status  string `help:"draft, active or archived only." placeholder:"STATUS"`
	Kind    string `help:"case, conversation or run only." placeholder:"KIND"`
	Name    string `help:"With exactly this name only." placeholder:"NAME"`
}

// Run lists definitions.
func (c definitionsList) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.Definitions(ctx, query("product_id", c.Product, "status", c.Status, "kind", c.Kind, "name", c.Name))
	if err != nil {
		return err
	}
	if c.json() {
		return printList(s.out, found)
	}
	return printDefinitions(s, found...)
}

func printDefinitions(s streams, found ...client.Definition) error {
	rows := [][]string{{"ID", "KIND", "PRODUCT", "NAME", "VERSION", "STATUS", "UPDATED"}}
	for _, d := range found {
		rows = append(rows, []string{d.ID, string(d.Kind), orDash(d.Product()), d.Name, versionText(d), string(d.Status), moment(d.UpdatedAt)})
	}
	return table(s.out, rows)
}

func versionText(d client.Definition) string { return strings.Trim(string(d.Version), `"`) }

type definitionsTemplates struct{ remote }

// Run lists the templates.
func (c definitionsTemplates) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	found, err := server.Templates(ctx)
	if err != nil {
		return err
	}
	if c.json() {
		return printList(s.out, found)
	}
	rows := [][]string{{"NAME", "KIND", "VERSION", "STATUS", "DESCRIPTION"}}
	for _, d := range found {
		rows = append(rows, []string{d.Name, string(d.Kind), versionText(d), string(d.Status), orDash(description(d.Body))})
	}
	return table(s.out, rows)
}

// description is what a definition says about itself.
func description(body json.RawMessage) string {
	var written struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(body, &written) // without one there is nothing to show
	return written.Description
}

type definitionsGet struct {
	oneDefinition
	As string `enum:",yaml,json" default:"" help:"Print the definition alone, as a file: yaml or json." placeholder:"FORMAT"`
}

// Run shows one definition: its record, then its content; or its content alone.
func (c definitionsGet) Run(ctx context.Context, s streams) error {
	server, id, err := c.find(ctx, rondo.DefinitionActive, rondo.DefinitionDraft)
	if err != nil {
		return err
	}
	d, err := server.Definition(ctx, id)
	switch {
	case err != nil:
		return err
	case c.As != "":
		return printDocument(s.out, d.Body, c.As)
	case c.json():
		return printJSON(s.out, d)
	}
	product := d.Product()
	if product == "" {
		product = "every product"
	}
	of := text(d.OrgID)
	if d.IsTemplate {
		of = "every organisation, as a template"
	}
	mode, deadline := string(d.Mode), "after "+span(time.Duration(d.Timeout*float64(time.Second)))
	if d.Kind == rondo.KindConversation { // they are of cases
		mode, deadline = "", ""
	}
	if err := details(s.out,
		"Name", d.Name, "Id", d.ID, "Kind", string(d.Kind), "Product", product, "Of", of,
		"Version", versionText(d)+", "+string(d.Status), "Created", moment(d.CreatedAt)+" by "+d.CreatedBy,
		"Updated", moment(d.UpdatedAt), "Published", maybeMoment(d.PublishedAt), "Default mode", mode,
		"Deadline", deadline); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(s.out)
	return printDocument(s.out, d.Body, "yaml")
}

type definitionsDiff struct {
	remote
	From string `arg:"" help:"Id or name of the definition to compare with."`
	To   string `arg:"" help:"Id or name of the definition that it became."`
}

// Run says in words what changed.
func (c definitionsDiff) Run(ctx context.Context, s streams) error {
	_, from, err := oneDefinition{c.remote, c.From}.find(ctx, rondo.DefinitionActive, rondo.DefinitionDraft)
	if err != nil {
		return err
	}
	server, to, err := oneDefinition{c.remote, c.To}.find(ctx, rondo.DefinitionDraft, rondo.DefinitionActive)
	if err != nil {
		return err
	}
	return c.fetchWith(ctx, s, server, client.Call{Path: client.DefinitionPath(to, "diff"), Query: query("against", from)}, func(answer json.RawMessage) error {
		var diff client.Diff
		if err := json.Unmarshal(answer, &diff); err != nil {
			return err
		}
		if len(diff.Changes) == 0 {
			_, err = fmt.Fprintln(s.out, "both say the same")
		}
		for _, change := range diff.Changes {
			if _, err = fmt.Fprintln(s.out, change.Message); err != nil {
				return err
			}
		}
		return err
	})
}

type definitionsClone struct {
	remote
	ID      string  `arg:"" help:"Name of a template, or id or name of a definition."`
	Product *string `help:"Product of the draft; empty = every product. Default: as it is." placeholder:"ID"`
	Name    string  `help:"Name of the draft. Default: as it is." placeholder:"NAME"`
	Reason  string  `help:"Why; kept with the draft." placeholder:"TEXT"`
}

// Run makes a draft. A name is that of a template first: those are there to be
// copied.
func (c definitionsClone) Run(ctx context.Context, s streams) error {
	server, id, err := oneDefinition{c.remote, c.ID}.findToCopy(ctx)
	if err != nil {
		return err
	}
	return c.showDefinition(s)(server.CloneDefinition(ctx, id, c.Product, c.Name, c.Reason))
}

type definitionsPublish struct {
	oneDefinition
	Reason string `help:"Why; kept with the definition." placeholder:"TEXT"`
}

// Run publishes a draft.
func (c definitionsPublish) Run(ctx context.Context, s streams) error {
	server, id, err := c.find(ctx, rondo.DefinitionDraft)
	if err != nil {
		return err
	}
	return c.showDefinition(s)(server.PublishDefinition(ctx, id, c.Reason))
}

type definitionsArchive struct {
	remote
	ID     string `arg:"" help:"Id of the definition."`
	Reason string `help:"Why; kept with the definition." placeholder:"TEXT"`
}

// Run archives a definition, which only its id can name: a name could mean
// another one tomorrow.
func (c definitionsArchive) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	return c.showDefinition(s)(server.ArchiveDefinition(ctx, c.ID, c.Reason))
}

// showDefinition shows what a call answered.
func (r remote) showDefinition(s streams) func(client.Definition, error) error {
	return func(d client.Definition, err error) error {
		switch {
		case err != nil:
			return err
		case r.json():
			return printJSON(s.out, d)
		}
		return printDefinitions(s, d)
	}
}

type definitionsExport struct{ oneDefinition }

// Run prints the export. It is JSON whatever the output is.
func (c definitionsExport) Run(ctx context.Context, s streams) error {
	server, id, err := c.find(ctx, rondo.DefinitionActive, rondo.DefinitionDraft)
	if err != nil {
		return err
	}
	file, err := server.ExportDefinition(ctx, id)
	if err != nil {
		return err
	}
	return printJSON(s.out, file)
}

type definitionsImportOfFile struct {
	remote
	File string `arg:"" help:"File that export printed; - = standard input."`
}

// Run imports a file and says what it made.
func (c definitionsImportOfFile) Run(ctx context.Context, s streams) error {
	file, err := readDocument(c.File)
	if err != nil {
		return err
	}
	if !isExport(file) {
		return &rondo.Error{
			Code: rondo.CodeInvalid, Message: c.File + " is not an export: it has no format and definition",
			Hint: "if it is a plain definition, use: rondo definitions apply " + c.File,
		}
	}
	return c.fetch(ctx, s, client.Call{Method: http.MethodPost, Path: client.DefinitionPath("import", ""), Body: json.RawMessage(file)}, func(answer json.RawMessage) error {
		var made client.Imported
		if err := json.Unmarshal(answer, &made); err != nil {
			return err
		}
		for _, name := range made.StepKinds {
			_, _ = fmt.Fprintf(s.out, "step kind %s: published\n", name)
		}
		for _, code := range made.ReasonCodes {
			_, _ = fmt.Fprintf(s.out, "reason code %s: added\n", code)
		}
		d, what := made.Definition, "unchanged: the %s version %s has this content"
		if made.Created {
			what = "%s version %s created"
		}
		_, err := fmt.Fprintf(s.out, "%s: "+what+"  (%s)\n", d.Name, d.Status, versionText(d), d.ID)
		return err
	})
}
