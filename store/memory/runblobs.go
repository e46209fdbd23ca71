package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// BlobsInUse implements store.Runs.
func (s *Store) BlobsInUse(ctx context.Context, hashes []string) (map[string]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := map[string]bool{}
	for _, artifact := range s.runs.artifacts {
		if slices.Contains(hashes, artifact.ContentHash) {
			used[artifact.ContentHash] = true
		}
	}
	return used, nil
}

// LooseBlobs implements store.Runs.
func (s *Store) LooseBlobs(ctx context.Context, at time.Time, limit int) ([]store.LooseBlob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs.dropArtifacts()
	for _, artifact := range s.runs.artifacts {
		delete(s.runs.loose, artifact.ContentHash)
	}
	var found []store.LooseBlob
	for hash, since := range s.runs.loose {
		if since.IsZero() {
			since = stored(at)
			s.runs.loose[hash] = since
		}
		found = append(found, store.LooseBlob{Hash: hash, Since: since})
	}
	slices.SortFunc(found, func(a, b store.LooseBlob) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Hash, b.Hash))
	})
	return found[:max(0, min(limit, len(found)))], nil
}

// ForgetBlobs implements store.Runs.
func (s *Store) ForgetBlobs(ctx context.Context, hashes []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range hashes {
		delete(s.runs.loose, hash)
	}
	return nil
}

// dropArtifacts removes artifacts that neither a run nor an entry refers to, and
// returns the hashes of their content.
func (r *runs) dropArtifacts() []string {
	used := map[rondo.ID]bool{}
	for _, row := range r.ascending {
		for _, step := range row.steps {
			for _, id := range step.ArtifactIDs {
				used[id] = true
			}
		}
	}
	for _, row := range r.cache {
		if row.entry == nil {
			continue
		}
		for _, id := range row.entry.ArtifactIDs {
			used[id] = true
		}
	}
	var hashes []string
	for id, artifact := range r.artifacts {
		if used[id] || r.byID[artifact.RunID] != nil {
			continue
		}
		delete(r.artifacts, id)
		if artifact.ContentHash != "" {
			hashes = append(hashes, artifact.ContentHash)
			r.loose[artifact.ContentHash] = time.Time{}
		}
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
