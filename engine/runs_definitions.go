package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/engine/runs"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/definition"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// maxRunDefinitions bounds the cache of compiled workflows; when it is full it
// starts over, which costs one compile per workflow in use.
const maxRunDefinitions = 1024

// RunDefinitions finds the workflows of runs in the registry. What it returns is
// compiled once for its environment and kept by hash; a hash names its content,
// so an entry is never stale.
type RunDefinitions struct {
	store store.Definitions
	env   plan.Environment

	mu       sync.RWMutex
	compiled map[string]*plan.Workflow
}

var _ runs.Definitions = (*RunDefinitions)(nil)

// RunDefinitions are the run definitions of the engine's registry.
func (e *Engine) RunDefinitions() *RunDefinitions { return NewRunDefinitions(e.store, e.runEnv) }

// NewRunDefinitions finds workflows in a registry. env is what they may use beside
// what their files declare; nil = nothing.
func NewRunDefinitions(s store.Definitions, env plan.Environment) *RunDefinitions {
	return &RunDefinitions{store: s, env: env, compiled: map[string]*plan.Workflow{}}
}

// Named returns an active workflow, of the highest active version when version is
// "".
func (r *RunDefinitions) Named(ctx context.Context, tenant, name, version string) (*plan.Workflow, error) {
	active, err := r.active(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	for _, d := range active {
		if version == "" || d.Semver == version {
			return r.workflow(d)
		}
	}
	if len(active) == 0 {
		return nil, &rondo.Error{
			Code: rondo.CodeWorkflowNotFound, Message: fmt.Sprintf("there is no active workflow %q", name),
			Hint: "publish a definition of kind run with that name; GET /workflows lists those there are",
		}
	}
	return nil, &rondo.Error{
		Code: rondo.CodeWorkflowNotFound, Message: fmt.Sprintf("version %q of the workflow %q is not active", version, name),
		Hint: fmt.Sprintf("leave the version out for the highest, %s, or publish that version", active[0].Semver),
	}
}

// List returns the active workflows, by name and then from the highest version.
func (r *RunDefinitions) List(ctx context.Context, tenant string) ([]*plan.Workflow, error) {
	active, err := r.active(ctx, tenant, "")
	if err != nil {
		return nil, err
	}
	workflows := make([]*plan.Workflow, 0, len(active))
	for _, d := range active {
		w, err := r.workflow(d)
		if rondo.CodeOf(err) == rondo.CodeInvalidDef {
			continue // the environment has no use for it any more; running it says why
		}
		if err != nil {
			return nil, err
		}
		workflows = append(workflows, w)
	}
	return workflows, nil
}

// Frozen returns the workflow that a run was started with, whatever became of its
// definition since.
func (r *RunDefinitions) Frozen(ctx context.Context, tenant, hash string) (*plan.Workflow, error) {
	if known := r.known(hash); known != nil {
		return known, nil
	}
	document, err := r.store.Snapshot(ctx, hash)
	if rondo.CodeOf(err) == rondo.CodeNotFound {
		document, err = r.published(ctx, tenant, hash)
	}
	if err != nil {
		return nil, rondo.Op("read the definition of the run", err)
	}
	return r.compile(hash, document)
}

// active lists the active definitions of an organisation, of one name or of every
// name, by name and then from the highest version.
func (r *RunDefinitions) active(ctx context.Context, tenant, name string) ([]rondo.Definition, error) {
	if tenant == "" { // which would be everyone
		return nil, nil
	}
	found, err := r.store.DefinitionList(ctx, store.DefinitionFilter{
		OrgID: tenant, Kind: rondo.KindRun, Status: rondo.DefinitionActive, Name: name,
	}, store.Page{})
	if err != nil {
		return nil, rondo.Op("find the workflow", err)
	}
	slices.SortFunc(found, func(a, b rondo.Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), definition.CompareSemver(b.Semver, a.Semver), cmp.Compare(b.Semver, a.Semver))
	})
	return found, nil
}

// published freezes a definition that was published before frozen forms of runs
// were kept. Its body has not changed since: only drafts do.
func (r *RunDefinitions) published(ctx context.Context, tenant, hash string) ([]byte, error) {
	if tenant == "" {
		return nil, rondo.NotFound("workflow")
	}
	found, err := r.store.DefinitionList(ctx, store.DefinitionFilter{OrgID: tenant, Kind: rondo.KindRun}, store.Page{})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if d.SnapshotHash != "" || d.PublishedAt.IsZero() {
			continue
		}
		if document, found, err := freezeRun(d.Body); err == nil && found == hash {
			return document, nil
		}
	}
	return nil, rondo.NotFound("workflow")
}

func (r *RunDefinitions) workflow(d rondo.Definition) (*plan.Workflow, error) {
	if known := r.known(d.SnapshotHash); known != nil {
		return known, nil
	}
	document, hash, err := freezeRun(d.Body)
	if err != nil {
		return nil, err
	}
	return r.compile(hash, document)
}

func (r *RunDefinitions) known(hash string) *plan.Workflow {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.compiled[hash]
}

func (r *RunDefinitions) compile(hash string, document []byte) (*plan.Workflow, error) {
	if known := r.known(hash); known != nil {
		return known, nil
	}
	w, err := plan.Compile(document, r.env)
	if err != nil {
		return nil, rondo.Op("compile the workflow", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.compiled[hash]; first != nil {
		return first, nil
	}
	if len(r.compiled) >= maxRunDefinitions {
		clear(r.compiled)
	}
	r.compiled[hash] = w
	return w, nil
}

// freezeRun makes the document that drives runs, the canonical form of the body,
// and its hash.
func freezeRun(body []byte) (document []byte, hash string, err error) {
	if document, err = canon.JSON(body); err != nil {
		return nil, "", &rondo.Error{
			Code: rondo.CodeInvalidDef, Op: "freeze run definition", Message: "the definition has no canonical form",
			Hint: "write every member once, and numbers that lose no digits", Err: err,
		}
	}
	sum := sha256.Sum256(document)
	return document, hex.EncodeToString(sum[:]), nil
}

// frozenRun reports whether a frozen document is one of a run: it is the
// definition itself, while those of the other kinds hold theirs.
func frozenRun(document []byte) bool {
	var frozen struct {
		Definition json.RawMessage   `json:"definition"`
		Steps      []json.RawMessage `json:"steps"`
	}
	return json.Unmarshal(document, &frozen) == nil && frozen.Definition == nil && frozen.Steps != nil
}
