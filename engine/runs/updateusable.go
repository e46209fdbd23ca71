package runs

import (
	"context"
	"slices"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// unusable names the steps that would be linked from the base run although their
// result there is none to go on with: bytes of its artifacts are gone, or it was
// marked bad. As with the cache, what cannot be asked is taken to be fine.
func (s *Service) unusable(ctx context.Context, in *plan.ForecastInput) map[string]bool {
	linked := map[string]plan.BaseStep{}
	for i := range in.Workflow.Steps {
		id := in.Workflow.Steps[i].ID
		if base, here := in.Base[id]; here && !in.Candidates[i] {
			linked[id] = base
		}
	}
	unusable := map[string]bool{}
	s.withoutBytes(ctx, linked, unusable)
	s.markedBad(ctx, in.Tenant, linked, unusable)
	return unusable
}

// withoutBytes finds steps whose artifacts are not all there, records and bytes.
func (s *Service) withoutBytes(ctx context.Context, linked map[string]plan.BaseStep, unusable map[string]bool) {
	var hashes []string
	for id, base := range linked {
		unusable[id] = len(base.Artifacts) < len(base.ArtifactIDs)
		for i := range base.Artifacts {
			if hash := base.Artifacts[i].ContentHash; hash != "" {
				hashes = append(hashes, hash)
			}
		}
	}
	if len(hashes) == 0 || s.cfg.Blobs == nil {
		return
	}
	stored, err := s.cfg.Blobs.Has(ctx, hashes)
	if err != nil {
		s.log.Warn("the bytes of a base run could not be looked for; its steps are linked", "error", err)
		return
	}
	for id, base := range linked {
		unusable[id] = unusable[id] || slices.ContainsFunc(base.Artifacts, func(a rondo.Artifact) bool {
			return a.ContentHash != "" && !stored[a.ContentHash]
		})
	}
}

// markedBad finds steps whose result is in the cache as a bad one. An entry that
// was computed anew is another result.
func (s *Service) markedBad(ctx context.Context, tenant string, linked map[string]plan.BaseStep, unusable map[string]bool) {
	steps := map[string][]string{} // by key
	var keys []string
	for id, base := range linked {
		if base.CacheKey == "" || base.OutputHash == "" {
			continue
		}
		if steps[base.CacheKey] == nil {
			keys = append(keys, base.CacheKey)
		}
		steps[base.CacheKey] = append(steps[base.CacheKey], id)
	}
	for some := range slices.Chunk(keys, readAhead) {
		found, err := s.store.LookupCache(ctx, tenant, some, s.now())
		if err != nil {
			s.log.Warn("the cache could not be asked about a base run; its steps are linked", "error", err)
			return
		}
		for key, known := range found {
			if known.Entry == nil || known.Entry.Tainted == "" {
				continue
			}
			for _, id := range steps[key] {
				unusable[id] = unusable[id] || known.Entry.OutputHash == linked[id].OutputHash
			}
		}
	}
}
