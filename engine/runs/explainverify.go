package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/store"
)

// verifyLooks is how many runs are looked at for another result of a key.
const verifyLooks = 50

// explainVerified says what a step gave that it had not given before for the same
// key, compared with the youngest run before this one that has another result. Runs
// that are not kept any more cannot be compared with.
func (s *Service) explainVerified(ctx context.Context, run *rondo.Run, row *rondo.RunStep, step *StepExplain) error {
	const op = "find what a step gave before"
	page := store.Page{Limit: verifyLooks, After: run.ID} // newest first
	users, err := s.store.CacheUsers(ctx, run.TenantID, row.CacheKey, page)
	if err != nil {
		return rondo.Op(op, err)
	}
	for _, use := range users {
		rows, err := s.store.RunSteps(ctx, use.RunID, 0, true)
		if err != nil {
			return rondo.Op(op, err)
		}
		was, here := lastByStep(rows)[use.StepID]
		if !here || was.CacheKey != row.CacheKey || was.OutputHash == "" || was.OutputHash == row.OutputHash {
			continue
		}
		artifacts, err := s.store.Artifacts(ctx, run.TenantID, slices.Concat(was.ArtifactIDs, row.ArtifactIDs))
		if err != nil {
			return rondo.Op(op, err)
		}
		byID := make(map[rondo.ID]rondo.Artifact, len(artifacts))
		for _, a := range artifacts {
			byID[a.ID] = a
		}
		step.ComparedWith = use.RunID.String()
		step.Changed = append(dataDifferences(was.Data, row.Data), artifactDifferences(pick(byID, was.ArtifactIDs), pick(byID, row.ArtifactIDs))...)
		return nil
	}
	return nil
}

// dataDifferences compares two outputs: objects member by member, others whole.
func dataDifferences(was, is json.RawMessage) []Difference {
	if same(was, is) {
		return nil
	}
	before, after := members(was), members(is)
	if before == nil || after == nil {
		return []Difference{{Component: "data", Before: plan.Preview("data", was), After: plan.Preview("data", is)}}
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var changed []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !same(before[name], after[name]) {
			changed = append(changed, Difference{Component: "data." + name, Before: plan.Preview(name, before[name]), After: plan.Preview(name, after[name])})
		}
	}
	return changed
}

// members are those of an object; nil = it is none.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}

// same compares two values by what they mean. Nothing is only like nothing.
func same(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	before, errBefore := canon.Digest(a)
	after, errAfter := canon.Digest(b)
	if errBefore != nil || errAfter != nil {
		return bytes.Equal(a, b)
	}
	return before == after
}

// artifactDifferences compares files by their places.
func artifactDifferences(was, is []rondo.Artifact) []Difference {
	var changed []Difference
	for i := range max(len(was), len(is)) {
		d := Difference{Component: fmt.Sprintf("artifacts[%d]", i), Before: artifactPreview(was, i), After: artifactPreview(is, i)}
		if d.Before != d.After {
			changed = append(changed, d)
		}
	}
	return changed
}

// artifactPreview tells a file from others without showing it; "" = there is none.
func artifactPreview(artifacts []rondo.Artifact, i int) string {
	if i >= len(artifacts) {
		return ""
	}
	a := &artifacts[i]
	if a.ContentHash == "" {
		return a.URI
	}
	return fmt.Sprintf("%s, %d bytes, %s", a.Filename, a.Size, a.ContentHash[:min(len(a.ContentHash), 8)])
}
