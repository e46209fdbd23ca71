package cli

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
)

type applyCommand struct {
	remote
	Path      string `arg:"" help:"Folder of definitions, kinds and reason codes, or one case definition."`
	Product   string `help:"Product of the case definitions at the top of the folder. Default: every product." placeholder:"ID"`
	Kinds     string `help:"Folder of step kinds. Default: kinds/ beside the definitions, if there is one." placeholder:"DIR"`
	DryRun    bool   `help:"Say what would be done and do nothing."`
	NoPublish bool   `help:"Leave changed definitions as drafts."`
	Reason    string `help:"Why; kept with what changes." default:"rondo definitions apply" placeholder:"TEXT"`
}

// applied is what became of one thing of the folder.
type applied struct {
	File    string                   `json:"file"`
	What    string                   `json:"what"` // step kind, reason code or definition
	Name    string                   `json:"name"`
	State   string                   `json:"state"`           // unchanged, added, changed, drafted or published
	ID      string                   `json:"id,omitempty"`    // of the definition
	Version string                   `json:"version"`         // "" = none yet
	Why     string                   `json:"why,omitempty"`   // when it is not the content that changed
	Changes []rondo.DefinitionChange `json:"changes"`         // of a definition that was there
	Errors  []rondo.FieldError       `json:"errors,omitzero"` // what forbids publishing
}

// The states of what was applied.
const (
	stateUnchanged = "unchanged"
	stateAdded     = "added"
	stateChanged   = "changed"
	stateDrafted   = "drafted"
	statePublished = "published"
)

// applying is one run of the command.
type applying struct {
	applyCommand
	server *client.Client
	want   wanted
	kinds  []client.StepKind // of the server, as far as they are known
	codes  []client.ReasonCode
	report []applied
}

// Run brings the server in line with the folder. Everything is judged before
// anything is changed.
func (c applyCommand) Run(ctx context.Context, s streams) error {
	want, err := readWanted(c.Path, c.Product, c.Kinds)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	a := &applying{applyCommand: c, server: server, want: want}
	if a.kinds, err = server.StepKinds(ctx); err != nil {
		return err
	}
	if a.codes, err = server.ReasonCodes(ctx, nil); err != nil {
		return err
	}
	if wrong := a.judge(); wrong > 0 {
		if err := a.print(s); err != nil {
			return err
		}
		return invalidError{fmt.Sprintf("%d of %s cannot be published; nothing was changed", wrong, count(len(want.definitions), "definition"))}
	}
	err = a.apply(ctx)
	if printed := a.print(s); printed != nil { // also what was done before it failed
		return printed
	}
	return err
}

// apply changes what differs, in the order in which things need each other.
func (a *applying) apply(ctx context.Context) error {
	for _, part := range []func(context.Context) error{a.applyKinds, a.applyCodes, a.applyDefinitions} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judge validates every definition by what the server would have after the
// kinds and codes of the folder, and reports those that break rules.
func (a *applying) judge() int {
	var env definition.Environment
	for _, k := range a.kinds {
		if k.OrgID != nil {
			env.Kinds = append(env.Kinds, rondo.StepKind{Name: k.Name, Version: k.Version, Contract: k.Contract, Status: k.Status})
		}
	}
	for _, k := range a.want.kinds {
		k.Version = math.MaxInt
		env.Kinds = append(env.Kinds, k)
	}
	for _, c := range slices.Concat(a.codes, a.want.codes) { // later ones shadow
		env.ReasonCodes = append(env.ReasonCodes, rondo.ReasonCode{
			Scope: c.Scope, Code: c.Code, RequiresNote: c.RequiresNote, ApplicableStepKinds: c.ApplicableStepKinds, Active: c.Active,
		})
	}
	for _, one := range a.want.definitions {
		if found := definition.ValidateOf(one.kind, one.draft.Body, env); !found.Valid() {
			a.report = append(a.report, applied{File: one.file, What: "definition", Name: one.draft.Name, State: "invalid", Errors: found.Errors})
		}
	}
	return len(a.report)
}

// kindsDir is about where a kind was read.
func (a *applying) kindsDir(name string) string {
	if a.Kinds != "" {
		return filepath.Join(a.Kinds, name)
	}
	return filepath.Join(a.Path, "kinds", name)
}

func (a *applying) applyKinds(ctx context.Context) error {
	for _, want := range a.want.kinds {
		done := applied{File: a.kindsDir(want.Name), What: "step kind", Name: want.Name, State: stateAdded}
		at := slices.IndexFunc(a.kinds, func(k client.StepKind) bool { return k.Name == want.Name && k.OrgID != nil })
		if at >= 0 {
			done.State, done.Version = stateChanged, fmt.Sprint(a.kinds[at].Version)
			if same(a.kinds[at].Contract, want.Contract) {
				done.State = stateUnchanged
			}
		}
		if done.State != stateUnchanged && !a.DryRun {
			kind, err := a.server.PutStepKind(ctx, want.Name, want.Contract)
			if err != nil {
				return rondo.Op(done.File, err)
			}
			done.Version = fmt.Sprint(kind.Version)
			if at >= 0 {
				a.kinds[at] = kind
			} else {
				a.kinds = append(a.kinds, kind)
			}
		}
		a.report = append(a.report, done)
	}
	return nil
}

func (a *applying) applyCodes(ctx context.Context) error {
	for _, want := range a.want.codes {
		done := applied{File: a.want.codesFile, What: "reason code", Name: want.Scope + "/" + want.Code, State: stateAdded}
		at := slices.IndexFunc(a.codes, func(c client.ReasonCode) bool {
			return c.Scope == want.Scope && c.Code == want.Code && c.OrgID != nil
		})
		if at >= 0 {
			done.State = stateChanged
			have := a.codes[at]
			want.ID, want.OrgID = have.ID, have.OrgID
			if text(want.Description) == "" {
				want.Description = nil
			}
			if reflect.DeepEqual(have, want) {
				done.State = stateUnchanged
			}
		}
		var err error
		switch {
		case a.DryRun:
		case done.State == stateAdded:
			_, err = a.server.CreateReasonCode(ctx, want)
		case done.State == stateChanged:
			_, err = a.server.ChangeReasonCode(ctx, want.ID, want)
		}
		if err != nil {
			return rondo.Op(a.want.codesFile+": "+done.Name, err)
		}
		a.report = append(a.report, done)
	}
	return nil
}

func (a *applying) applyDefinitions(ctx context.Context) error {
	for _, want := range a.want.definitions {
		done, err := a.applyDefinition(ctx, want)
		if err != nil {
			return rondo.Op(want.file, err)
		}
		a.report = append(a.report, done)
	}
	return nil
}

func (a *applying) applyDefinition(ctx context.Context, want wantedDefinition) (applied, error) {
	done := applied{File: want.file, What: "definition", Name: want.draft.Name, State: statePublished}
	active, err := a.find(ctx, want, rondo.DefinitionActive)
	if err != nil {
		return done, err
	}
	if active != nil {
		done.ID, done.Version = active.ID, versionText(*active)
		switch found, err := definition.Diff(active.Body, want.draft.Body); {
		case err != nil:
			return done, err
		case want.kind == rondo.KindRun && len(found.Changes()) > 0:
			return done, &rondo.Error{
				Code: rondo.CodeConflict, Message: fmt.Sprintf("version %s is published with other content", want.draft.Semver), Hint: "raise version in the file",
			}
		case !same(active.Body, want.draft.Body):
			done.Changes = found.Changes()
		case a.stale(*active) == "":
			done.State = stateUnchanged
			return done, nil
		default:
			done.Why = a.stale(*active)
		}
	}
	if a.NoPublish {
		done.State = stateDrafted
	}
	if a.DryRun {
		return done, nil
	}
	draft, err := a.find(ctx, want, rondo.DefinitionDraft)
	if err != nil {
		return done, err
	}
	if draft == nil {
		made, err := a.server.CreateDefinition(ctx, client.NewDefinition{Kind: want.kind, ProductID: want.product, Definition: want.draft.Body, Reason: a.Reason})
		if err != nil {
			return done, err
		}
		draft = &made
	} else if a.NoPublish {
		done.State, done.Changes = stateUnchanged, nil
	}
	if !a.NoPublish {
		published, err := a.server.PublishDefinition(ctx, draft.ID, a.Reason)
		if err != nil {
			return done, err
		}
		draft = &published
	}
	done.ID, done.Version = draft.ID, versionText(*draft)
	return done, nil
}

// find returns the active definition of the wanted one's line, or a draft of it
// that has the wanted content already.
func (a *applying) find(ctx context.Context, want wantedDefinition, status rondo.DefinitionStatus) (*client.Definition, error) {
	query := url.Values{"kind": {string(want.kind)}, "status": {string(status)}}
	if want.product != "" {
		query.Set("product_id", want.product)
	}
	found, err := a.server.Definitions(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		here := d.Product() == want.product
		if want.kind != rondo.KindCase {
			here = d.Name == want.draft.Name && (want.kind != rondo.KindRun || versionText(d) == want.draft.Semver)
		}
		if here && (status == rondo.DefinitionActive || same(d.Body, want.draft.Body)) {
			return &d, nil
		}
	}
	return nil, nil
}

// stale names a kind of which a newer version was published than the one that an
// active definition is frozen with; "" = there is none.
func (a *applying) stale(d client.Definition) string {
	for _, kind := range a.kinds {
		if kind.CreatedAt != nil && d.PublishedAt != nil && kind.CreatedAt.After(*d.PublishedAt) && uses(d.Body, kind.Name) {
			return "step kind " + kind.Name + " has a newer version"
		}
	}
	for _, done := range a.report { // a dry run has published none
		if a.DryRun && done.What == "step kind" && done.State == stateChanged && uses(d.Body, done.Name) {
			return "step kind " + done.Name + " has a newer version"
		}
	}
	return ""
}

func same(a, b []byte) bool {
	first, err := canon.Digest(a)
	if err != nil {
		return false
	}
	second, err := canon.Digest(b)
	return err == nil && first == second
}

func (a *applying) print(s streams) error {
	if a.json() {
		for i := range a.report {
			a.report[i].Changes = nonNil(a.report[i].Changes)
		}
		return printJSON(s.out, nonNil(a.report))
	}
	for _, done := range a.report {
		state := done.State
		if a.DryRun && state != stateUnchanged && state != "invalid" {
			state = "would be " + state
		}
		line := fmt.Sprintf("%-18s  %s %s", state, done.What, done.Name)
		if done.Version != "" {
			line += ", version " + done.Version
		}
		if done.Why != "" {
			line += ": " + done.Why
		}
		if _, err := fmt.Fprintf(s.out, "%s  (%s)\n", strings.TrimRight(line, " "), done.File); err != nil {
			return err
		}
		for _, change := range done.Changes {
			_, _ = fmt.Fprintf(s.out, "%-18s    %s\n", "", change.Message)
		}
		printFindings(s, done.Errors)
	}
	return nil
}
