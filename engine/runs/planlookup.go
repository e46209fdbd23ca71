package runs

import (
	"context"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/plan"
)

// readAhead is how many keys are looked up at least, when so many can be guessed.
const readAhead = 256

// cacheReader looks keys up for a forecast. A forecast learns the key of a step
// only when it knows what the steps before it gave, so that a long chain is one
// question after the other: the reader of an update asks ahead for the keys that
// its candidates had in the base run.
type cacheReader struct {
	s      *Service
	tenant string
	likely []string // in the order they will be asked for
	known  map[string]plan.Found
}

func (s *Service) cacheReader(in *plan.ForecastInput) *cacheReader {
	r := &cacheReader{s: s, tenant: in.Tenant, known: map[string]plan.Found{}}
	for _, i := range in.Workflow.Order() {
		if key := in.Base[in.Workflow.Steps[i].ID].CacheKey; key != "" && in.Candidates != nil && in.Candidates[i] {
			r.likely = append(r.likely, key)
		}
	}
	return r
}

// find answers what a forecast asks.
func (r *cacheReader) find(ctx context.Context, asks []plan.Lookup) (map[string]plan.Found, error) {
	var keys []string
	for _, ask := range asks {
		if _, known := r.known[ask.Key]; !known {
			keys = append(keys, ask.Key)
			r.known[ask.Key] = plan.Found{}
		}
	}
	if len(keys) == 0 {
		return r.known, nil
	}
	for len(r.likely) > 0 && len(keys) < readAhead {
		key := r.likely[0]
		r.likely = r.likely[1:]
		if _, known := r.known[key]; !known {
			keys = append(keys, key)
			r.known[key] = plan.Found{}
		}
	}
	return r.known, r.read(ctx, keys)
}

// read asks the hot tier, and the cold one for what it does not have, as a run does.
func (r *cacheReader) read(ctx context.Context, keys []string) error {
	hot, err := r.s.hotEntries(ctx, r.tenant, keys)
	if err != nil {
		return rondo.Op("look up the step cache", err)
	}
	var cold []string
	for _, key := range keys {
		if entry, here := hot[key]; here {
			r.known[key] = plan.Found{Entry: &entry, Hot: true}
		} else {
			cold = append(cold, key)
		}
	}
	if len(cold) > 0 {
		entries, err := r.s.store.LookupCache(ctx, r.tenant, cold, r.s.now())
		if err != nil {
			return rondo.Op("look up the step cache", err)
		}
		for key, known := range entries {
			r.known[key] = plan.Found{Entry: known.Entry, Flying: known.Flying}
		}
	}
	return r.readArtifacts(ctx, keys)
}

// readArtifacts finds out whether the artifacts of entries are there, records and
// bytes.
func (r *cacheReader) readArtifacts(ctx context.Context, keys []string) error {
	var ids []rondo.ID
	for _, key := range keys {
		if entry := r.known[key].Entry; entry != nil {
			ids = append(ids, entry.ArtifactIDs...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	list, err := r.s.store.Artifacts(ctx, r.tenant, ids)
	if err != nil {
		return rondo.Op("read the artifacts of entries", err)
	}
	artifacts := make(map[rondo.ID]rondo.Artifact, len(list))
	var hashes []string
	for i := range list {
		artifacts[list[i].ID] = list[i]
		if list[i].ContentHash != "" {
			hashes = append(hashes, list[i].ContentHash)
		}
	}
	stored := map[string]bool{}
	if len(hashes) > 0 && r.s.cfg.Blobs != nil {
		if stored, err = r.s.cfg.Blobs.Has(ctx, hashes); err != nil {
			return rondo.Op("look for the bytes of artifacts", err)
		}
	}
	for _, key := range keys {
		found := r.known[key]
		if found.Entry == nil || len(found.Entry.ArtifactIDs) == 0 {
			continue
		}
		found.Artifacts = pick(artifacts, found.Entry.ArtifactIDs)
		found.ArtifactsPresent = len(found.Artifacts) == len(found.Entry.ArtifactIDs)
		for i := range found.Artifacts {
			if hash := found.Artifacts[i].ContentHash; hash != "" && !stored[hash] {
				found.ArtifactsPresent = false
			}
		}
		r.known[key] = found
	}
	return nil
}
