package cli

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/client"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
)

// apply changes what differs, in the order in which things need each other.
func (a *applying) apply(ctx context.Context) error {
	for _, part := range []func(context.Context) error{a.applyKinds, a.applyCodes, a.applyDefinitions} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) applyKinds(ctx context.Context) error {
	for _, want := range a.want.kinds {
		done := applied{File: want.path, What: "step kind", Name: want.Name, State: stateAdded}
		at := slices.IndexFunc(a.kinds, func(k client.StepKind) bool { return k.Name == want.Name && k.OrgID != nil })
		if at >= 0 {
			done.State, done.Version = stateChanged, fmt.Sprint(a.kinds[at].Version)
			if same(a.kinds[at].Contract, want.Contract) {
				done.State = stateUnchanged
			}
		}
		if done.State != stateUnchanged && a.DryRun {
			done.Replaces, done.Version = done.Version, ""
		} else if done.State != stateUnchanged {
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
	for _, want := range a.definitions {
		done, err := a.applyDefinition(ctx, want)
		if err != nil {
			return rondo.Op(want.path, err)
		}
		a.report = append(a.report, done)
	}
	return nil
}

func (a *applying) applyDefinition(ctx context.Context, want wantedDefinition) (applied, error) {
	done := applied{File: want.path, What: "definition", Name: want.Name, State: statePublished}
	active, err := a.find(ctx, want, rondo.DefinitionActive)
	if err != nil {
		return done, err
	}
	if active != nil {
		done.ID, done.Replaces = active.ID, versionText(*active)
		switch found, err := definition.Diff(active.Body, want.Body); {
		case err != nil:
			return done, err
		case want.kind == rondo.KindRun && len(found.Changes()) > 0:
			return done, &rondo.Error{
				Code: rondo.CodeConflict, Message: fmt.Sprintf("version %s is published with other content", want.Semver), Hint: "raise version in the file",
			}
		case !same(active.Body, want.Body):
			done.Changes = found.Changes()
		case a.stale(*active) == "":
			done.State, done.Version, done.Replaces = stateUnchanged, done.Replaces, ""
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
		made, err := a.server.CreateDefinition(ctx, client.NewDefinition{Kind: want.kind, ProductID: want.product, Definition: want.Body, Reason: a.Reason})
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
			here = d.Name == want.Name && (want.kind != rondo.KindRun || versionText(d) == want.Semver)
		}
		if here && (status == rondo.DefinitionActive || same(d.Body, want.Body)) {
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
