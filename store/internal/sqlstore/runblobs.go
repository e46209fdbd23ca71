package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// ReplacedUser stands among those who use artifacts for all entries that were
// replaced by others: whether anyone else uses what they had is found out by a
// sweep and not while runs are committed.
var ReplacedUser = []byte{0}

// BlobsInUse implements store.Runs.
func (c *Cold) BlobsInUse(ctx context.Context, hashes []string) (map[string]bool, error) {
	used := map[string]bool{}
	for chunk := range slices.Chunk(hashes, maxParameters) {
		args := make([]any, len(chunk))
		for i, hash := range chunk {
			args[i] = digestBytes(hash)
		}
		err := c.reader().each(ctx, func(values []any) error {
			r := reader{values: values}
			used[r.digest()] = true
			return r.err
		}, "SELECT DISTINCT content_hash FROM artifacts WHERE content_hash IN ("+Marks(len(args))+")", args...)
		if err != nil {
			return nil, c.wrap("look for blobs in use", err)
		}
	}
	return used, nil
}

// LooseBlobs implements store.Runs. There are hardly ever any, so that is asked
// first.
func (c *Cold) LooseBlobs(ctx context.Context, at time.Time, limit int) ([]store.LooseBlob, error) {
	const op = "look for loose blobs"
	if limit <= 0 {
		return nil, nil
	}
	if err := c.dropReplaced(ctx, limit); err != nil {
		return nil, err
	}
	some, err := c.looseBlobs(ctx, 1)
	if err != nil || len(some) == 0 {
		return nil, c.wrap(op, err)
	}
	err = c.gather(ctx, op, func(ctx context.Context, s session) error {
		if _, err := s.exec(ctx, "DELETE FROM loose_blobs WHERE EXISTS (SELECT 1 FROM artifacts WHERE artifacts.content_hash = loose_blobs.content_hash)"); err != nil {
			return err
		}
		_, err := s.exec(ctx, "UPDATE loose_blobs SET since = ? WHERE since = 0", at.UnixMicro())
		return err
	})
	if err != nil {
		return nil, err
	}
	found, err := c.looseBlobs(ctx, limit)
	return found, c.wrap(op, err)
}

func (c *Cold) looseBlobs(ctx context.Context, limit int) ([]store.LooseBlob, error) {
	return list(ctx, c.reader(), func(values []any) (store.LooseBlob, error) {
		r := reader{values: values}
		blob := store.LooseBlob{Hash: r.digest(), Since: r.time()}
		return blob, wrapRead("loose blob", r.err)
	}, "SELECT content_hash, since FROM loose_blobs ORDER BY since, content_hash LIMIT ?", int64(limit))
}

// ForgetBlobs implements store.Runs.
func (c *Cold) ForgetBlobs(ctx context.Context, hashes []string) error {
	if len(hashes) == 0 {
		return nil
	}
	return c.gather(ctx, "forget loose blobs", func(ctx context.Context, s session) error {
		for _, hash := range slices.Sorted(slices.Values(hashes)) {
			if _, err := s.exec(ctx, "DELETE FROM loose_blobs WHERE content_hash = ?", digestBytes(hash)); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropReplaced removes artifacts of replaced entries that nothing else uses.
func (c *Cold) dropReplaced(ctx context.Context, limit int) error {
	const op = "remove artifacts of replaced entries"
	ids, err := list(ctx, c.reader(), readID, "SELECT artifact_id FROM artifact_uses WHERE used_by = ? ORDER BY artifact_id LIMIT ?", ReplacedUser, int64(limit))
	if err != nil {
		return c.wrap(op, err)
	}
	for chunk := range slices.Chunk(ids, evictChunk) {
		err := c.gather(ctx, op, func(ctx context.Context, s session) error {
			for _, id := range chunk {
				if _, err := s.exec(ctx, "DELETE FROM artifact_uses WHERE artifact_id = ? AND used_by = ?", ID(id), ReplacedUser); err != nil {
					return err
				}
			}
			_, err := s.dropUnused(ctx, chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropUses forgets what a run or an entry used, with the artifacts that nothing
// else uses, and returns the hashes of their content.
func (s session) dropUses(ctx context.Context, user []byte) ([]string, error) {
	ids, err := list(ctx, s, readID, "SELECT artifact_id FROM artifact_uses WHERE used_by = ? ORDER BY artifact_id", user)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if _, err := s.exec(ctx, "DELETE FROM artifact_uses WHERE used_by = ?", user); err != nil {
		return nil, err
	}
	return s.dropUnused(ctx, ids)
}

// dropUnused removes those of the artifacts that nothing uses, notes that their
// content is loose, and returns its hashes.
func (s session) dropUnused(ctx context.Context, ids []rondo.ID) ([]string, error) {
	var hashes []string
	for _, id := range ids {
		free, err := list(ctx, s, func(values []any) (string, error) {
			r := reader{values: values}
			hash := r.digest()
			return hash, wrapRead("artifact", r.err)
		}, "SELECT content_hash FROM artifacts WHERE id = ? AND NOT EXISTS (SELECT 1 FROM artifact_uses WHERE artifact_id = ? AND used_by <> ?)", ID(id), ID(id), ReplacedUser)
		if err != nil {
			return nil, err
		}
		if len(free) == 0 {
			continue
		}
		for _, from := range []string{"artifacts WHERE id = ?", "artifact_uses WHERE artifact_id = ?"} {
			if _, err := s.exec(ctx, "DELETE FROM "+from, ID(id)); err != nil {
				return nil, err
			}
		}
		if free[0] == "" {
			continue
		}
		hashes = append(hashes, free[0])
		if err := s.loosen(ctx, free[0]); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// loosen notes that an artifact with that content went, anew when that is known of
// another.
func (s session) loosen(ctx context.Context, hash string) error {
	if _, err := s.exec(ctx, "UPDATE loose_blobs SET since = 0 WHERE content_hash = ?", digestBytes(hash)); err != nil {
		return err
	}
	_, err := s.exec(ctx, "INSERT INTO loose_blobs (content_hash, since) VALUES (?, 0) "+s.d.ignore("content_hash"), digestBytes(hash))
	return err
}
