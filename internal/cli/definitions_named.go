package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// oneDefinition names a definition in a command.
type oneDefinition struct {
	remote
	ID string `arg:"" help:"Id of the definition, or its name if that is enough."`
}

// find returns the id of the definition. A name is that of the one definition in
// the first of the states that has any, or else of a template.
func (c oneDefinition) find(ctx context.Context, states ...rondo.DefinitionStatus) (*client.Client, string, error) {
	server, err := c.client()
	if err != nil || isID(c.ID) {
		return server, c.ID, err
	}
	id, err := c.named(ctx, server, states)
	if err == nil && id == "" {
		id, err = c.template(ctx, server)
	}
	return server, id, c.orMissing(id, err)
}

// findToCopy is like find, and looks at templates first.
func (c oneDefinition) findToCopy(ctx context.Context) (*client.Client, string, error) {
	server, err := c.client()
	if err != nil || isID(c.ID) {
		return server, c.ID, err
	}
	id, err := c.template(ctx, server)
	if err == nil && id == "" {
		id, err = c.named(ctx, server, []rondo.DefinitionStatus{rondo.DefinitionActive, rondo.DefinitionDraft})
	}
	return server, id, c.orMissing(id, err)
}

func isID(ref string) bool {
	_, err := rondo.ParseID(ref)
	return err == nil
}

// named finds a definition of the organisation by its name; "" = there is none.
func (c oneDefinition) named(ctx context.Context, server *client.Client, states []rondo.DefinitionStatus) (string, error) {
	found, err := server.Definitions(ctx, query("name", c.ID))
	if err != nil {
		return "", err
	}
	for _, state := range states {
		here := slices.DeleteFunc(slices.Clone(found), func(d client.Definition) bool { return d.Status != state })
		switch len(here) {
		case 0:
			continue
		case 1:
			return here[0].ID, nil
		}
		var ids []string
		for _, d := range here {
			ids = append(ids, fmt.Sprintf("%s (product %s, version %s)", d.ID, orDash(d.Product()), versionText(d)))
		}
		return "", &rondo.Error{
			Code: rondo.CodeConflict, Message: fmt.Sprintf("%d definitions in state %s have the name %s", len(here), state, c.ID),
			Hint: "use one of their ids: " + strings.Join(ids, ", "),
		}
	}
	return "", nil
}

// template finds a template by its name; "" = there is none.
func (c oneDefinition) template(ctx context.Context, server *client.Client) (string, error) {
	found, err := server.Templates(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range found {
		if d.Name == c.ID && d.Status == rondo.DefinitionActive {
			return d.ID, nil
		}
	}
	return "", nil
}

func (c oneDefinition) orMissing(id string, err error) error {
	if err == nil && id == "" {
		return &rondo.Error{
			Code: rondo.CodeNotFound, Message: "no such definition or template: " + c.ID,
			Hint: "rondo definitions list shows ids and names, rondo definitions templates the templates",
		}
	}
	return err
}
