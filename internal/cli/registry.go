package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/rondo-engine/rondo/client"
)

// definitionsCommand is the registry of a server.
type definitionsCommand struct {
	Apply     applyCommand            `cmd:"" help:"Bring a server in line with a folder of definitions; doing it again does nothing."`
	List      definitionsList         `cmd:"" help:"List definitions, newest first."`
	Templates definitionsTemplates    `cmd:"" help:"List the templates to clone from."`
	Get       definitionsGet          `cmd:"" help:"Show one definition."`
	Diff      definitionsDiff         `cmd:"" help:"Say what turns one definition into another."`
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
	query := url.Values{}
	for name, value := range map[string]string{"product_id": c.Product, "status": c.Status, "kind": c.Kind, "name": c.Name} {
		if value != "" {
			query.Set(name, value)
		}
	}
	found, err := server.Definitions(ctx, query)
	if err != nil {
		return err
	}
	return c.printDefinitions(s, found)
}

func (r remote) printDefinitions(s streams, found []client.Definition) error {
	if r.json() {
		return printList(s.out, found)
	}
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
	return c.printDefinitions(s, found)
}

type definitionsGet struct {
	remote
	ID string `arg:"" help:"Id of the definition."`
}

// Run shows one definition: its record, then its content.
func (c definitionsGet) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	d, err := server.Definition(ctx, c.ID)
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(s.out, d)
	}
	if err := c.printDefinitions(s, []client.Definition{d}); err != nil {
		return err
	}
	return printJSON(s.out, d.Body)
}

type definitionsDiff struct {
	remote
	From string `arg:"" help:"Id of the definition to compare with."`
	To   string `arg:"" help:"Id of the definition that it became."`
}

// Run says in words what changed.
func (c definitionsDiff) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	diff, err := server.DiffDefinitions(ctx, c.From, c.To)
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(s.out, diff)
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
}

type definitionsClone struct {
	remote
	ID      string  `arg:"" help:"Id of the definition or template."`
	Product *string `help:"Product of the draft; empty = every product. Default: as it is." placeholder:"ID"`
	Name    string  `help:"Name of the draft. Default: as it is." placeholder:"NAME"`
	Reason  string  `help:"Why; kept with the draft." placeholder:"TEXT"`
}

// Run makes a draft.
func (c definitionsClone) Run(ctx context.Context, s streams) error {
	return c.one(s, func(server *client.Client) (client.Definition, error) {
		return server.CloneDefinition(ctx, c.ID, c.Product, c.Name, c.Reason)
	})
}

type definitionsPublish struct {
	remote
	ID     string `arg:"" help:"Id of the draft."`
	Reason string `help:"Why; kept with the definition." placeholder:"TEXT"`
}

// Run publishes a draft.
func (c definitionsPublish) Run(ctx context.Context, s streams) error {
	return c.one(s, func(server *client.Client) (client.Definition, error) {
		return server.PublishDefinition(ctx, c.ID, c.Reason)
	})
}

type definitionsArchive struct {
	remote
	ID     string `arg:"" help:"Id of the definition."`
	Reason string `help:"Why; kept with the definition." placeholder:"TEXT"`
}

// Run archives a definition.
func (c definitionsArchive) Run(ctx context.Context, s streams) error {
	return c.one(s, func(server *client.Client) (client.Definition, error) {
		return server.ArchiveDefinition(ctx, c.ID, c.Reason)
	})
}

// one does something that answers with a definition, and shows it.
func (r remote) one(s streams, do func(*client.Client) (client.Definition, error)) error {
	server, err := r.client()
	if err != nil {
		return err
	}
	d, err := do(server)
	if err != nil {
		return err
	}
	if r.json() {
		return printJSON(s.out, d)
	}
	return r.printDefinitions(s, []client.Definition{d})
}

type definitionsExport struct {
	remote
	ID string `arg:"" help:"Id of the definition."`
}

// Run prints the export. It is JSON whatever the output is.
func (c definitionsExport) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	file, err := server.ExportDefinition(ctx, c.ID)
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
	server, err := c.client()
	if err != nil {
		return err
	}
	made, err := server.ImportDefinition(ctx, json.RawMessage(file))
	if err != nil {
		return err
	}
	if c.json() {
		return printJSON(s.out, made)
	}
	for _, name := range made.StepKinds {
		_, _ = fmt.Fprintf(s.out, "step kind %s: published\n", name)
	}
	for _, code := range made.ReasonCodes {
		_, _ = fmt.Fprintf(s.out, "reason code %s: added\n", code)
	}
	what := "is there already"
	if made.Created {
		what = "created"
	}
	_, err = fmt.Fprintf(s.out, "%s %s %s: %s %s\n", made.Definition.Name, versionText(made.Definition), made.Definition.ID, made.Definition.Status, what)
	return err
}
