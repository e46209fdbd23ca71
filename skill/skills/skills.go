// Package skills makes skills of their specifications: one set for a server, with
// what its operator allows.
//
// # Guarantees
//
//  1. A specification is compiled once; equal ones share the compiled skill.
//  2. Check refuses at publish time what Skill would refuse when a step runs, unknown
//     members of a configuration by name.
//  3. A secret of the environment goes only to hosts that were named for it.
//
// It imports the root package, the skill port, its drivers, internal/canon and
// internal/guard.
package skills

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/guard"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/exec"
	"github.com/rondo-engine/rondo/skill/http"
	"github.com/rondo-engine/rondo/skill/internal/spec"
	"github.com/rondo-engine/rondo/skill/llm"
	"github.com/rondo-engine/rondo/skill/template"
)

// The types of skills.
const (
	TypeExec     = "exec"
	TypeHTTP     = "http"
	TypeLLM      = "llm"
	TypeTemplate = "template"
	TypeRemote   = "remote" // offered on the bus: the engine's own work
	TypeGo       = "go"     // registered by a program
)

// Options are the operator's. The zero value runs templates, https requests to
// public addresses and models there, without secrets.
type Options struct {
	// AllowExec lets skills of type exec run commands.
	AllowExec bool
	// ExecDirs are folders that they may run in beside folders of their own.
	ExecDirs []string
	// AllowPrivate are ranges that http and llm skills may reach although they are not
	// public.
	AllowPrivate []netip.Prefix
	// AllowPlainHTTP lets them use http URLs.
	AllowPlainHTTP bool
	// Ports that they may use. Default 443, and 80 with AllowPlainHTTP; 0 is any.
	Ports []int
	// LLM is the model of llm skills that name none.
	LLM LLM
	// Secret returns the value of an environment variable for a host; see EnvSecrets.
	// Default: none.
	Secret func(name, host string) (value string, ok bool)
	// Go are the skills of type go, by name@version.
	Go     map[string]skill.Skill
	Limits skill.Limits
	// TempDir is where the folders of commands are. Default: the system's.
	TempDir string
}

// LLM is a model that the operator chose.
type LLM struct {
	BaseURL string // default https://api.openai.com/v1
	Model   string
	KeyEnv  string // default OPENAI_API_KEY
}

// Set makes skills. It is safe for concurrent use.
type Set struct {
	opts   Options
	client *guard.Client

	mu       sync.Mutex
	compiled map[string]skill.Skill // by type and digest of the configuration
}

// New makes a set. It does no I/O.
func New(opts Options) *Set {
	return &Set{
		opts: opts, compiled: map[string]skill.Skill{},
		client: guard.New(guard.Options{Private: opts.AllowPrivate, PlainHTTP: opts.AllowPlainHTTP, Ports: opts.Ports}),
	}
}

// maxCompiled bounds the compiled skills that are kept: more definitions than that
// are not in use at a time.
const maxCompiled = 10_000

// Skill returns the skill of a name and its specification. Errors are
// CodeInvalidDef, CodeForbidden for what the operator did not allow, and CodeNotFound
// for a go skill that is not registered.
func (s *Set) Skill(name string, wanted skill.Spec) (skill.Skill, error) {
	if wanted.Type == TypeGo {
		registered, ok := s.opts.Go[name]
		if !ok {
			return nil, &rondo.Error{
				Code: rondo.CodeNotFound, Op: "skill " + name, Message: "no Go function is registered under this name",
				Hint: "register it in the program that embeds Rondo, or declare the skill in the file",
			}
		}
		return registered, nil
	}
	key, err := digest(wanted)
	if err != nil {
		return nil, rondo.Op("skill "+name, err)
	}
	s.mu.Lock()
	found, ok := s.compiled[key]
	s.mu.Unlock()
	if ok {
		return found, nil
	}
	made, err := s.compile(wanted)
	if err != nil {
		return nil, rondo.Op("skill "+name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) >= maxCompiled {
		clear(s.compiled)
	}
	s.compiled[key] = made
	return made, nil
}

// digest names a specification.
func digest(wanted skill.Spec) (string, error) {
	if len(wanted.Config) == 0 {
		return wanted.Type, nil
	}
	sum, err := canon.Digest(wanted.Config)
	if err != nil {
		return "", malformed(wanted)
	}
	return wanted.Type + " " + sum, nil
}

// malformed says where a configuration is not JSON.
func malformed(wanted skill.Spec) error {
	var problems spec.Problems
	var anything json.RawMessage
	if spec.Decode(wanted.Config, &anything, &problems) {
		problems.Add("", "malformed", "config cannot be read")
	}
	return problems.Err(wanted.Type)
}

func (s *Set) compile(wanted skill.Spec) (skill.Skill, error) {
	switch wanted.Type {
	case TypeExec:
		return made(exec.New(wanted.Config, exec.Options{Allow: s.opts.AllowExec, Dirs: s.opts.ExecDirs, Limits: s.opts.Limits, TempDir: s.opts.TempDir}))
	case TypeHTTP:
		return made(http.New(wanted.Config, http.Options{Client: s.client, Secret: s.opts.Secret, Limits: s.opts.Limits}))
	case TypeLLM:
		return made(llm.New(wanted.Config, s.model()))
	case TypeTemplate:
		return made(template.New(wanted.Config, template.Options{Limits: s.opts.Limits}))
	case TypeRemote:
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Message: "remote skills are done by workers on the bus, not here"}
	default:
		return nil, &rondo.Error{
			Code: rondo.CodeInvalidDef, Message: "there is no type of skill " + strings.TrimSpace(wanted.Type+" "),
			Hint: "types are exec, http, llm, template and remote",
		}
	}
}

func (s *Set) model() llm.Options {
	return llm.Options{
		BaseURL: s.opts.LLM.BaseURL, Model: s.opts.LLM.Model, KeyEnv: s.opts.LLM.KeyEnv,
		Client: s.client, Secret: s.opts.Secret, Limits: s.opts.Limits,
	}
}

// Effective is a specification with the operator's defaults filled in where they
// decide what comes out (model and base_url of llm), and the hex digests of what the
// skill is given from outside of its configuration, by path: env.NAME of each
// variable of this process that a command is given. A configuration that cannot be
// read stays as it is.
func (s *Set) Effective(wanted skill.Spec) (effective skill.Spec, outside map[string]string) {
	switch wanted.Type {
	case TypeLLM:
		wanted.Config = llm.Effective(wanted.Config, s.model())
	case TypeExec:
		outside = exec.Outside(wanted.Config, os.LookupEnv)
	}
	return wanted, outside
}

// made keeps a nil of a driver's own type from becoming a skill.
func made[S skill.Skill](s S, err error) (skill.Skill, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Check says what is wrong with a specification, for those who publish it. That exec
// is off is said here too: the step could never run.
func (s *Set) Check(wanted skill.Spec) error {
	switch wanted.Type {
	case TypeRemote:
		var none struct{}
		var problems spec.Problems
		spec.Decode(wanted.Config, &none, &problems)
		return problems.Err(TypeRemote)
	case TypeGo:
		return &rondo.Error{
			Code: rondo.CodeInvalidDef, Message: "a file cannot declare a skill of type go",
			Hint: "leave the declaration out: Go functions are registered by the program that embeds Rondo",
		}
	default:
		_, err := s.Skill("", wanted)
		return err
	}
}

// Sweep removes what commands of processes that were killed left behind.
func (s *Set) Sweep() {
	if s.opts.AllowExec {
		exec.Sweep(s.opts.TempDir)
	}
}

// Names lists the go skills.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.opts.Go))
	for name := range s.opts.Go {
		names = append(names, name)
	}
	return names
}
