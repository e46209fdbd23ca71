// Package exec runs commands as skills: the call goes in as one line of JSON, or a
// part of it as it is, artifacts of other steps as files; the answer comes out as
// JSON, files become artifacts.
//
// # Guarantees beside those of the port
//
//  1. Nothing runs unless the operator allowed it (Options.Allow).
//  2. Every attempt has a folder of its own, which is removed afterwards, and an
//     environment that names nothing but what the configuration lists.
//  3. The command and all that it started in its process group are gone when Do
//     returns. What leaves the group (setsid) can only be held by a container.
//     Should Rondo itself be killed, the command is killed too on Linux; elsewhere,
//     and for what the command started, only a container does that.
//
// It imports the standard library, the root package, the skill port and, for paths
// into the input, internal/plan.
package exec

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/internal/spec"
)

// Options are the operator's.
type Options struct {
	// Allow lets commands run. Default: none does.
	Allow bool
	// Dirs are folders that a configuration may name as dir, or lie below. Default: none.
	Dirs []string
	// Getenv reads the variables that a configuration passes on. Default os.LookupEnv.
	Getenv func(name string) (string, bool)
	// TempDir is where the folders of attempts are. Default os.TempDir.
	TempDir string
	Limits  skill.Limits
}

// Config is a skill of type exec as a file declares it.
type Config struct {
	Command string   `json:"command"` // a program in PATH, or a path
	Args    []string `json:"args"`
	// Env lists variables: NAME passes the server's own value on, NAME=value sets one.
	Env []string `json:"env"`
	// Dir is the folder to run in instead of the attempt's own; the operator must
	// have allowed it.
	Dir string `json:"dir"`
	// Stdin is the path of the member of the input that is the whole standard input: a
	// text as it is, anything else as a line of JSON. Default: a line of JSON with the
	// ids of the call and the whole input.
	Stdin string `json:"stdin"`
	// Files are put into the attempt's folder before the command starts: a name, and
	// the path of the member of the input that is an artifact or a text.
	Files map[string]string `json:"files"`
	// Output is how standard output is read: json (default) or text.
	Output    string     `json:"output"`
	Artifacts []Artifact `json:"artifacts"`
}

// Artifact names files of the attempt's folder.
type Artifact struct {
	Path string `json:"path"` // a pattern such as out/*.png
	Type string `json:"type"` // MIME; default: by the name's ending
	// Optional says that there need not be such a file. Default: without one the
	// attempt has failed.
	Optional bool `json:"optional"`
}

// Skill runs one command. It is safe for concurrent use.
type Skill struct {
	cfg  Config
	opts Options
}

var _ skill.Skill = (*Skill)(nil)

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// New checks a configuration; it starts nothing. Its errors are CodeInvalidDef, and
// CodeForbidden when commands are off.
func New(raw json.RawMessage, opts Options) (*Skill, error) {
	cfg, err := Check(raw)
	if err != nil {
		return nil, err
	}
	if !opts.Allow {
		return nil, &rondo.Error{
			Code: rondo.CodeForbidden, Message: "skills of type exec are off",
			Hint: "start with --allow-exec: commands run with the rights of Rondo itself",
		}
	}
	if opts.Getenv == nil {
		opts.Getenv = os.LookupEnv
	}
	opts.Limits = opts.Limits.Or()
	if cfg.Dir != "" && !below(cfg.Dir, opts.Dirs) {
		return nil, &rondo.Error{
			Code: rondo.CodeForbidden, Message: "this folder is not one that commands may run in: " + cfg.Dir,
			Hint: "leave dir out to run in a folder of the attempt's own, or let the operator allow the folder",
		}
	}
	return &Skill{cfg: *cfg, opts: opts}, nil
}

// Check reads a configuration strictly.
func Check(raw json.RawMessage) (*Config, error) {
	var cfg Config
	var problems spec.Problems
	if !spec.Decode(raw, &cfg, &problems) {
		return nil, problems.Err("exec")
	}
	if cfg.Command == "" {
		problems.Add("/command", "required", "name the program to run")
	}
	if strings.ContainsRune(cfg.Command, 0) {
		problems.Add("/command", "format", "a program's name has no NUL")
	}
	for _, arg := range cfg.Args {
		if strings.ContainsRune(arg, 0) {
			problems.Add("/args", "format", "an argument has no NUL")
		}
	}
	for _, entry := range cfg.Env {
		if name, _, _ := strings.Cut(entry, "="); !variable.MatchString(name) || strings.ContainsRune(entry, 0) {
			problems.Add("/env", "format", "an entry is NAME, to pass a variable on, or NAME=value")
		}
	}
	if cfg.Output != "" && cfg.Output != "json" && cfg.Output != "text" {
		problems.Add("/output", "enum", "output is json or text")
	}
	if cfg.Stdin != "" {
		if err := plan.CheckPath(cfg.Stdin); err != nil {
			problems.Add("/stdin", "format", err.Error())
		}
	}
	checkFiles(cfg.Files, &problems)
	for _, artifact := range cfg.Artifacts {
		if _, err := path.Match(artifact.Path, ""); err != nil || artifact.Path == "" || !filepath.IsLocal(artifact.Path) {
			problems.Add("/artifacts", "format", "path is a pattern within the attempt's folder, such as out/*.png")
		}
	}
	return &cfg, problems.Err("exec")
}

// checkFiles holds the names of files within the attempt's folder, each to one file.
func checkFiles(files map[string]string, problems *spec.Problems) {
	cleaned := map[string]bool{}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		clean := path.Clean(name)
		switch {
		case !filepath.IsLocal(name) || clean == "." || strings.HasSuffix(name, "/") || strings.ContainsRune(name, 0):
			problems.Add("/files", "format", "a name is that of a file within the attempt's folder, such as in/page.html")
		case cleaned[clean]:
			problems.Add("/files", "duplicate", "two names are the same file: "+clean)
		}
		cleaned[clean] = true
		if err := plan.CheckPath(files[name]); err != nil {
			problems.Add("/files", "format", err.Error())
		}
	}
	for _, name := range names {
		for folder := path.Dir(path.Clean(name)); folder != "." && folder != "/"; folder = path.Dir(folder) {
			if cleaned[folder] {
				problems.Add("/files", "duplicate", "a name is a file and a folder: "+folder)
			}
		}
	}
}

// below reports whether a folder is one of the roots or lies below one, links
// followed.
func below(dir string, roots []string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for _, root := range roots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if relative, err := filepath.Rel(root, resolved); err == nil && filepath.IsLocal(relative) {
			return true
		}
	}
	return false
}
