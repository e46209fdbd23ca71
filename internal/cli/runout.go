package cli

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
)

// copyArtifacts writes artifacts into a folder under their names and returns the
// paths. Two of one name are told apart by a folder named after their step. What
// Rondo does not have the bytes of is left out.
func copyArtifacts(ctx context.Context, server *client.Client, artifacts []rondo.Artifact, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // a name of an artifact never leads out of it
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	uses := map[string]int{}
	for _, a := range artifacts {
		uses[artifactName(a)]++
	}
	var out []string
	for _, a := range artifacts {
		if a.Size < 0 {
			continue
		}
		name := artifactName(a)
		if uses[name] > 1 {
			name = path.Join(a.StepID, name)
			if err := root.Mkdir(a.StepID, 0o750); err != nil && !errors.Is(err, os.ErrExist) {
				return out, err
			}
		}
		if err := copyArtifact(ctx, server, a, root, name); err != nil {
			return out, rondo.Op(name, err)
		}
		out = append(out, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return out, nil
}

func copyArtifact(ctx context.Context, server *client.Client, a rondo.Artifact, root *os.Root, name string) error {
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = server.ArtifactContent(ctx, a.ID.String(), file)
	return errors.Join(err, file.Close())
}

// artifactName is a plain file name: what a skill called it, without folders, else
// its step with the ending of its type.
func artifactName(a rondo.Artifact) string {
	name := path.Base(path.Clean("/" + strings.ReplaceAll(a.Filename, `\`, "/")))
	if name != "/" && name != "." {
		return name
	}
	return cmp.Or(a.StepID, a.ID.String()) + ending(a.Type)
}

// ending is the usual ending of files of a type: that which is called like the
// type, if there is one.
func ending(mimeType string) string {
	kind, _, _ := mime.ParseMediaType(mimeType) // what is no type has no ending
	endings, _ := mime.ExtensionsByType(kind)
	_, sub, _ := strings.Cut(kind, "/")
	switch {
	case kind == "text/plain":
		return ".txt"
	case len(endings) == 0:
		return ""
	case slices.Contains(endings, "."+sub):
		return "." + sub
	}
	return endings[0]
}
