package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rondo-engine/rondo/client"
)

type kindsCommand struct {
	List    kindsList    `cmd:"" help:"List the step kinds: built-in ones and the organisation's own."`
	Get     kindsGet     `cmd:"" help:"Show the versions of a step kind, newest first."`
	Put     kindsPut     `cmd:"" help:"Publish the next version of a step kind."`
	Archive kindsArchive `cmd:"" help:"Take a step kind out of use; published definitions keep it."`
}

type kindsList struct{ remote }

// Run lists the kinds.
func (c kindsList) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	kinds, err := server.StepKinds(ctx)
	if err != nil {
		return err
	}
	return c.printKinds(s, kinds)
}

func (r remote) printKinds(s streams, kinds []client.StepKind) error {
	if r.json() {
		return printList(s.out, kinds)
	}
	rows := [][]string{{"NAME", "VERSION", "OF", "BEHAVIOUR", "STATUS", "CREATED"}}
	for _, kind := range kinds {
		var contract struct {
			Behaviour string `json:"behaviour"`
		}
		_ = json.Unmarshal(kind.Contract, &contract) // what cannot be read is shown as absent
		of := text(kind.OrgID)
		if of == "" {
			of = "built in"
		}
		rows = append(rows, []string{kind.Name, fmt.Sprint(kind.Version), of, orDash(contract.Behaviour), kind.Status, maybeMoment(kind.CreatedAt)})
	}
	return table(s.out, rows)
}

type kindsGet struct {
	remote
	Name string `arg:"" help:"Name of the kind."`
	As   string `enum:",yaml,json" default:"" help:"Print the newest contract alone, as a file: yaml or json." placeholder:"FORMAT"`
}

// Run shows the versions, and the contract of the newest.
func (c kindsGet) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	versions, err := server.StepKindVersions(ctx, c.Name)
	if err != nil {
		return err
	}
	if c.As != "" && len(versions) > 0 {
		return printDocument(s.out, versions[0].Contract, c.As)
	}
	if err := c.printKinds(s, versions); err != nil || c.json() || len(versions) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(s.out)
	return printDocument(s.out, versions[0].Contract, "yaml")
}

type kindsPut struct {
	remote
	Name string `arg:"" help:"Name of the kind."`
	File string `arg:"" help:"File with its contract, JSON or YAML; - = standard input."`
}

// Run publishes a version.
func (c kindsPut) Run(ctx context.Context, s streams) error {
	contract, err := readDocument(c.File)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	kind, err := server.PutStepKind(ctx, c.Name, contract)
	if err != nil {
		return err
	}
	return c.printKind(s, kind)
}

type kindsArchive struct {
	remote
	Name string `arg:"" help:"Name of the kind."`
}

// Run archives a kind.
func (c kindsArchive) Run(ctx context.Context, s streams) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	kind, err := server.ArchiveStepKind(ctx, c.Name)
	if err != nil {
		return err
	}
	return c.printKind(s, kind)
}

func (r remote) printKind(s streams, kind client.StepKind) error {
	if r.json() {
		return printJSON(s.out, kind)
	}
	return r.printKinds(s, []client.StepKind{kind})
}
