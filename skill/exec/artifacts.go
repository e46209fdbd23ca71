package exec

import (
	"context"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/answer"
)

// gather stores the files that the configuration names, in the order of their names.
// Links that lead out of the folder are not followed, and only files are files. A
// pattern that no file has is a failure, unless it is optional.
func (s *Skill) gather(ctx context.Context, call skill.Call, folder string, result skill.Result) (skill.Result, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return skill.Fail(rondo.CodeSkillError, "the command removed its own folder", true), nil
	}
	defer func() { _ = root.Close() }()
	taken := map[string]bool{} // what was looked at, and whether it is a file
	for _, wanted := range s.cfg.Artifacts {
		names, err := fs.Glob(root.FS(), path.Clean(wanted.Path))
		if err != nil {
			return skill.Fail(rondo.CodeSkillError, "the pattern of an artifact cannot be used", false), nil
		}
		slices.Sort(names)
		found := false
		for _, name := range names {
			if file, again := taken[name]; again {
				found = found || file
				continue
			}
			if len(result.Artifacts) == answer.MaxArtifacts {
				return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the command made more than %d artifacts", answer.MaxArtifacts), false), nil
			}
			artifact, ok, err := s.keep(ctx, call, root, name, wanted.Type)
			if ctx.Err() != nil {
				return skill.Result{}, ctx.Err()
			}
			if err != nil {
				return answer.Failure(err), nil
			}
			taken[name] = ok
			if ok {
				found = true
				result.Artifacts = append(result.Artifacts, artifact)
			}
		}
		if !found && !wanted.Optional {
			return skill.Fail(rondo.CodeSkillError, fmt.Sprintf("the command made no file %q, which artifacts names: let it write one into its folder, or add optional: true", wanted.Path), false), nil
		}
	}
	return result, nil
}

func (s *Skill) keep(ctx context.Context, call skill.Call, root *os.Root, name, kind string) (skill.Artifact, bool, error) {
	about, err := root.Lstat(name)
	if err != nil || !about.Mode().IsRegular() {
		return skill.Artifact{}, false, nil // a folder, a link or a pipe is no artifact
	}
	file, err := root.Open(name)
	if err != nil {
		return skill.Artifact{}, false, err
	}
	defer file.Close()
	if kind == "" {
		kind = mime.TypeByExtension(path.Ext(name))
	}
	artifact, err := answer.Store(ctx, call.Blobs, file, s.opts.Limits.Artifact, name, kind)
	return artifact, err == nil, err
}
