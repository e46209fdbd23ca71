package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-engine/rondo/blob"
)

// DeleteUnused removes files that nobody has put since, and temporary files that a
// crash left behind.
func (s *Store) DeleteUnused(ctx context.Context, hashes []string, before time.Time) (int, error) {
	removed := 0
	for _, hash := range hashes {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if !blob.ValidHash(hash) {
			continue
		}
		gone, err := s.remove(hash, before)
		if err != nil {
			return removed, unavailable("delete blobs", err)
		}
		if gone {
			removed++
		}
	}
	s.sweep()
	return removed, nil
}

// remove takes a file aside and looks at it again: whoever renews it either did so
// before, which shows, or does not find it and writes it anew.
func (s *Store) remove(hash string, before time.Time) (bool, error) {
	path := s.path(hash)
	about, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !about.ModTime().Before(before) {
		return false, nil
	}
	holder, err := s.temp()
	if err != nil {
		return false, err
	}
	_ = holder.Close()
	aside := holder.Name()
	defer os.Remove(aside)
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // another one was faster
		}
		return false, err
	}
	about, err = os.Stat(aside)
	if err == nil && about.ModTime().Before(before) {
		return true, syncFolder(filepath.Dir(path))
	}
	// Renewed between the two looks. A link does not replace what was written since.
	if err := os.Link(aside, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return false, syncFolder(filepath.Dir(path))
}

// sweep removes temporary files of processes that are gone.
func (s *Store) sweep() {
	folder := filepath.Join(s.dir, tempFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		about, err := entry.Info()
		if err == nil && s.now().Sub(about.ModTime()) > tempAge {
			_ = os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}
