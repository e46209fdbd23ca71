package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// localUser is who registers files.
const localUser = "local"

// registerTries is how often RegisterLocal looks again when another process
// registers the same file meanwhile.
const registerTries = 5

// RegisterLocal makes the source of a run definition the active one of its name
// and version, for a person who edits a file and runs it: other than
// PublishDefinition it replaces what the version was. A source that is active
// already changes nothing; one that breaks a rule is refused with every finding.
func (e *Engine) RegisterLocal(ctx context.Context, tenant string, source []byte) (rondo.Definition, error) {
	draft, err := definition.ParseDraftOf(rondo.KindRun, source)
	if err != nil {
		return rondo.Definition{}, err
	}
	d := rondo.Definition{OrgID: tenant, Kind: rondo.KindRun, Body: draft.Body, Name: draft.Name, Semver: draft.Semver}
	if broken := e.judge(d, definition.Environment{}).Errors; len(broken) > 0 {
		return rondo.Definition{}, brokenRules(broken)
	}
	_, hash, err := freezeRun(draft.Body)
	if err != nil {
		return rondo.Definition{}, err
	}
	p := rondo.Principal{Tenant: tenant, User: localUser}
	for range registerTries {
		active, found, err := e.activeVersion(ctx, d)
		if err != nil {
			return rondo.Definition{}, err
		}
		if found && active.SnapshotHash == hash {
			return active, nil
		}
		if found {
			_, err = e.ArchiveDefinition(ctx, p, active.ID, "the file changed")
		}
		if err == nil {
			active, err = e.publishSource(ctx, p, draft.Body)
		}
		switch rondo.CodeOf(err) {
		case "":
			return active, nil
		case rondo.CodeConflict, rondo.CodeWrongState: // another process was faster: look again
		default:
			return rondo.Definition{}, err
		}
	}
	return rondo.Definition{}, &rondo.Error{
		Code: rondo.CodeConflict, Message: fmt.Sprintf("version %s of %q is being registered with other contents all the time", draft.Semver, draft.Name),
		Hint: "give each file a name or a version of its own",
	}
}

// publishSource makes a new definition of kind run active. When it cannot be, no
// draft is left.
func (e *Engine) publishSource(ctx context.Context, p rondo.Principal, source []byte) (rondo.Definition, error) {
	draft, err := e.create(ctx, p, rondo.Definition{OrgID: p.Tenant, Kind: rondo.KindRun}, source, "registered from a file")
	if err != nil {
		return rondo.Definition{}, err
	}
	seen, snapshot, err := e.publishable(ctx, p, draft.ID)
	if err != nil {
		return rondo.Definition{}, err
	}
	published, err := e.publish(ctx, p, seen, snapshot, "registered from a file")
	if err != nil {
		if _, discarded := e.ArchiveDefinition(ctx, p, draft.ID, "another was registered first"); discarded != nil {
			return rondo.Definition{}, discarded
		}
	}
	return published, err
}

// activeVersion finds the active definition with the name and version of another.
func (e *Engine) activeVersion(ctx context.Context, d rondo.Definition) (active rondo.Definition, found bool, err error) {
	all, err := e.store.DefinitionList(ctx, store.DefinitionFilter{
		OrgID: d.OrgID, Kind: rondo.KindRun, Status: rondo.DefinitionActive, Name: d.Name,
	}, store.Page{})
	if err != nil {
		return rondo.Definition{}, false, rondo.Op("find the active version", err)
	}
	for _, a := range all {
		if a.Semver == d.Semver {
			return a, true, nil
		}
	}
	return rondo.Definition{}, false, nil
}

// checkRepublished holds that a version of a run, once published, is the same for
// ever: one that was archived may come back with the content it had.
func (e *Engine) checkRepublished(ctx context.Context, d rondo.Definition) error {
	if d.Kind != rondo.KindRun || d.IsTemplate {
		return nil
	}
	all, err := e.store.DefinitionList(ctx, store.DefinitionFilter{
		OrgID: d.OrgID, Kind: rondo.KindRun, Status: rondo.DefinitionArchived, Name: d.Name,
	}, store.Page{})
	if err != nil {
		return rondo.Op("look for archived versions", err)
	}
	for _, was := range all {
		if was.Semver != d.Semver || was.PublishedAt.IsZero() {
			continue
		}
		hash := was.SnapshotHash
		if hash == "" { // published before frozen forms of runs were kept
			if _, hash, err = freezeRun(was.Body); err != nil {
				return err
			}
		}
		if hash != d.SnapshotHash {
			return &rondo.Error{
				Code: rondo.CodeConflict, Message: fmt.Sprintf("version %s of %q was published before with another content", d.Semver, d.Name),
				Hint: "raise the version: runs and callers rely on what a version was",
			}
		}
	}
	return nil
}

// SkillJudge is a Config.RunEnvironment that can judge the skills of a file: each
// finding says what is wrong with a declaration or not allowed here, by its place in
// the file.
type SkillJudge interface {
	JudgeSkills(declared map[string]plan.SkillSpec) []rondo.FieldError
}

// judgeRun says what forbids a run to be driven here, beyond what the rules have
// found already: unknown skills, prompts and configs, and skills that cannot work.
func (e *Engine) judgeRun(body []byte, found []rondo.FieldError) []rondo.FieldError {
	document, _, err := freezeRun(body)
	if err == nil {
		_, err = plan.Compile(document, e.runEnv)
	}
	more := fieldsOf(err)
	if judge, can := e.runEnv.(SkillJudge); can {
		var file struct {
			Skills map[string]plan.SkillSpec `json:"skills"`
		}
		if json.Unmarshal(body, &file) == nil { // its shape is judged by the rules
			more = append(more, judge.JudgeSkills(file.Skills)...)
		}
	}
	if len(found) == 0 {
		return more
	}
	return slices.DeleteFunc(more, func(f rondo.FieldError) bool { // two words for one thing
		return f.Pointer == "" || slices.ContainsFunc(found, func(g rondo.FieldError) bool { return g.Pointer == f.Pointer })
	})
}
