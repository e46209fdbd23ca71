package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

type definitionsUpdate struct {
	oneDefinition
	File   string `arg:"" help:"Definition file; the tests beside it are put inside."`
	Reason string `help:"Why; kept with the draft." placeholder:"TEXT"`
}

// Run replaces the content of a draft.
func (c definitionsUpdate) Run(ctx context.Context, s streams) error {
	server, d, err := c.draft(ctx)
	if err != nil {
		return err
	}
	return c.change(ctx, s, server, d, c.File, c.Reason)
}

type definitionsEdit struct {
	oneDefinition
	As     string `enum:"yaml,json" default:"yaml" help:"What to edit it as: yaml or json."`
	Reason string `help:"Why; kept with the draft." placeholder:"TEXT"`
}

// Run opens a draft in an editor and sends what comes of it. What cannot be sent
// is kept in a file.
func (c definitionsEdit) Run(ctx context.Context, s streams) error {
	server, d, err := c.draft(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rondo-edit-")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "definition."+c.As)
	err = c.edit(ctx, s, server, d, file)
	if err == nil {
		return os.RemoveAll(dir)
	}
	_, _ = fmt.Fprintf(s.err, "rondo: what you wrote is kept; mend it, then: rondo definitions update %s %s\n", d.ID, file)
	return err
}

func (c definitionsEdit) edit(ctx context.Context, s streams, server *client.Client, d client.Definition, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := errors.Join(printDocument(out, d.Body, c.As), out.Close()); err != nil {
		return err
	}
	//nolint:gosec // the user's own editor, with the arguments they gave it
	editor := exec.CommandContext(ctx, "/bin/sh", "-c", editorCommand()+` "$1"`, "rondo", file)
	editor.Stdin, editor.Stdout, editor.Stderr = os.Stdin, s.err, s.err
	if err := editor.Run(); err != nil {
		return fmt.Errorf("%s: %w", editorCommand(), err)
	}
	return c.change(ctx, s, server, d, file, c.Reason)
}

// editorCommand is the editor of the user, with its arguments.
func editorCommand() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor := os.Getenv(name); editor != "" {
			return editor
		}
	}
	return "vi"
}

// draft reads the draft that is to be changed.
func (c oneDefinition) draft(ctx context.Context) (*client.Client, client.Definition, error) {
	server, id, err := c.find(ctx, rondo.DefinitionDraft, rondo.DefinitionActive)
	if err != nil {
		return nil, client.Definition{}, err
	}
	d, err := server.Definition(ctx, id)
	if err == nil && d.Status != rondo.DefinitionDraft {
		err = &rondo.Error{
			Code: rondo.CodeConflict, Message: fmt.Sprintf("%s is %s, and only drafts change", d.Name, d.Status),
			Hint: "make a draft of it: rondo definitions clone " + d.ID,
		}
	}
	return server, d, err
}

// change sends a file as the content of a draft that is still as it was read.
func (c oneDefinition) change(ctx context.Context, s streams, server *client.Client, d client.Definition, path, reason string) error {
	file := folder{}
	at := placeOf(filepath.Dir(path))
	at.kind = d.Kind
	if err := file.add(path, at); err != nil {
		return err
	}
	wanted, err := file.definitions[0].draft()
	if err != nil {
		return err
	}
	if same(d.Body, wanted.Body) {
		_, err := fmt.Fprintf(s.err, "rondo: unchanged: the draft has this content\n")
		return err
	}
	return c.showDefinition(s)(server.ChangeDraft(ctx, d.ID, d.ETag, wanted.Body, reason))
}
