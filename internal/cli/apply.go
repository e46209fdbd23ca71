package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/definition"
)

type applyCommand struct {
	remote
	Path      string `arg:"" help:"Folder of definitions, kinds and reason codes, or one case definition."`
	Product   string `help:"Product of the case definitions at the top of the folder. Default: every product." placeholder:"ID"`
	Kinds     string `help:"Folder of step kinds. Default: kinds/ beside the definitions, if there is one." placeholder:"DIR"`
	DryRun    bool   `help:"Say what would be done and do nothing."`
	NoPublish bool   `help:"Leave changed definitions as drafts."`
	NoTests   bool   `help:"Publish although tests fail."`
	Reason    string `help:"Why; kept with what changes." default:"rondo definitions apply" placeholder:"TEXT"`
}

// applied is what became of one thing of the folder.
type applied struct {
	File     string                   `json:"file"`
	What     string                   `json:"what"` // step kind, reason code or definition
	Name     string                   `json:"name"`
	State    string                   `json:"state"`              // unchanged, added, changed, drafted, published or refused
	ID       string                   `json:"id,omitempty"`       // of the definition
	Version  string                   `json:"version"`            // "" = none yet
	Replaces string                   `json:"replaces,omitempty"` // version of the definition that is, or was, active
	Why      string                   `json:"why,omitempty"`      // when it is not the content that changed
	Changes  []rondo.DefinitionChange `json:"changes"`            // of a definition that was there
	Errors   []rondo.FieldError       `json:"errors,omitzero"`    // what forbids publishing
}

// The states of what was applied.
const (
	stateUnchanged = "unchanged"
	stateAdded     = "added"
	stateChanged   = "changed"
	stateDrafted   = "drafted"
	statePublished = "published"
	stateRefused   = "refused"
)

// wantedDefinition is a definition as the folder has it, its tests inside.
type wantedDefinition struct {
	definitionFile
	definition.Draft
}

// line is what only one active definition can have.
func (w wantedDefinition) line() string {
	switch {
	case w.kind == rondo.KindRun:
		return fmt.Sprintf("run %s %s", w.Name, w.Semver)
	case w.kind != rondo.KindCase:
		return fmt.Sprintf("%s %s", w.kind, w.Name)
	case w.product == "":
		return "case definition of every product"
	}
	return "case definition of product " + w.product
}

// applying is one run of the command.
type applying struct {
	applyCommand
	server      *client.Client
	want        folder
	definitions []wantedDefinition
	kinds       []client.StepKind // of the server, as far as they are known
	codes       []client.ReasonCode
	report      []applied
}

// Run brings the server in line with the folder. Everything is judged before
// anything is changed.
func (c applyCommand) Run(ctx context.Context, s streams) error {
	a := &applying{applyCommand: c}
	if err := a.read(s); err != nil {
		return err
	}
	var err error
	if a.server, err = c.client(); err != nil {
		return err
	}
	if a.kinds, err = a.server.StepKinds(ctx); err != nil {
		return err
	}
	if a.codes, err = a.server.ReasonCodes(ctx, nil); err != nil {
		return err
	}
	if wrong := a.judge(); wrong > 0 {
		if err := a.print(s); err != nil {
			return err
		}
		return invalidError{outOf(wrong, len(a.definitions), "definition") + " cannot be published; nothing was changed"}
	}
	err = a.apply(ctx)
	if printed := a.print(s); printed != nil { // also what was done before it failed
		return printed
	}
	return err
}

// read reads the folder. Of a single definition's folder only the kinds and codes
// that it names are wanted.
func (a *applying) read(s streams) error {
	info, err := os.Stat(a.Path)
	if err != nil {
		return err
	}
	if a.want, err = readFolder(a.Path, a.Kinds); err != nil {
		return err
	}
	a.want.warn(s)
	for _, one := range a.want.definitions {
		if one.kind == rondo.KindCase && a.Product != "" && (one.product == "" || !info.IsDir()) {
			one.product = a.Product
		}
		draft, err := one.draft()
		if err == nil && len(one.wrong) > 0 {
			err = &rondo.Error{Code: rondo.CodeInvalid, Message: "its tests cannot be read", Fields: one.wrong}
		}
		if err != nil {
			return rondo.Op(one.path, err)
		}
		a.definitions = append(a.definitions, wantedDefinition{one, draft})
	}
	if !info.IsDir() {
		body := a.definitions[0].Body
		a.want.kinds = slices.DeleteFunc(a.want.kinds, func(k kindFile) bool { return !uses(body, k.Name) })
		a.want.codes = slices.DeleteFunc(a.want.codes, func(c client.ReasonCode) bool { return !bytes.Contains(body, []byte(`"`+c.Code+`"`)) })
	}
	if len(a.definitions)+len(a.want.kinds)+len(a.want.codes) == 0 {
		return nothing(a.Path, "apply")
	}
	return a.distinct()
}

// distinct refuses two files for what only one can be active of: each would
// replace the other for ever.
func (a *applying) distinct() error {
	seen := map[string]string{}
	for _, one := range a.definitions {
		if other, twice := seen[one.line()]; twice {
			return &rondo.Error{
				Code: rondo.CodeInvalid, Message: fmt.Sprintf("%s and %s are both the %s, of which one can be active", other, one.path, one.line()),
				Hint: "put case definitions of a product into products/ID/, or give --product; leave one of them out",
			}
		}
		seen[one.line()] = one.path
	}
	return nil
}

// judge validates every definition by what the server would have after the
// kinds and codes of the folder, plays its tests, and reports what must not be
// published.
func (a *applying) judge() int {
	var env definition.Environment
	for _, k := range a.kinds {
		if k.OrgID != nil {
			env.Kinds = append(env.Kinds, rondo.StepKind{Name: k.Name, Version: k.Version, Contract: k.Contract, Status: k.Status})
		}
	}
	for _, k := range a.want.kinds {
		k.Version = math.MaxInt
		env.Kinds = append(env.Kinds, k.StepKind)
	}
	env.ReasonCodes = asCodes(slices.Concat(a.codes, a.want.codes)) // later ones shadow
	for _, one := range a.definitions {
		if wrong := a.forbids(one, env); len(wrong) > 0 {
			a.report = append(a.report, applied{File: one.path, What: "definition", Name: one.Name, State: stateRefused, Errors: wrong})
		}
	}
	return len(a.report)
}

// forbids is what forbids to publish a definition.
func (a *applying) forbids(one wantedDefinition, env definition.Environment) []rondo.FieldError {
	if found := definition.ValidateOf(one.kind, one.Body, env); !found.Valid() {
		return found.Errors
	}
	if a.NoTests || one.kind != rondo.KindCase {
		return nil
	}
	played, wrong := play(one.Body, env)
	for _, result := range played.Results {
		if !result.Passed {
			wrong = append(wrong, rondo.FieldError{Code: "test_failed", Message: result.Name + ": " + strings.Join(result.Failures, "; ")})
		}
	}
	return wrong
}

func (a *applying) print(s streams) error {
	if a.json() {
		for i := range a.report {
			a.report[i].Changes = nonNil(a.report[i].Changes)
		}
		return printList(s.out, a.report)
	}
	for _, done := range a.report {
		if _, err := fmt.Fprintln(s.out, a.line(done)); err != nil {
			return err
		}
		for _, change := range done.Changes {
			_, _ = fmt.Fprintf(s.out, "%-18s    %s\n", "", change.Message)
		}
		printFindings(s, "error", done.Errors)
	}
	return nil
}

// line says what became of one thing.
func (a *applying) line(done applied) string {
	state := done.State
	if a.DryRun && state != stateUnchanged && state != stateRefused {
		state = "would be " + state
	}
	line := fmt.Sprintf("%-18s  %s %s", state, done.What, done.Name)
	switch {
	case done.Version != "":
		line += ", version " + done.Version
	case done.Replaces != "":
		line += ", after version " + done.Replaces
	}
	if done.Why != "" {
		line += ": " + done.Why
	}
	return fmt.Sprintf("%s  (%s)", line, done.File)
}

// uses reports whether a step of a definition is of a kind.
func uses(body json.RawMessage, kind string) bool {
	var written struct {
		Steps map[string]struct {
			Kind string `json:"kind"`
		} `json:"steps"`
	}
	_ = json.Unmarshal(body, &written) // what is not of that shape uses no kinds
	for _, step := range written.Steps {
		if step.Kind == kind {
			return true
		}
	}
	return false
}
