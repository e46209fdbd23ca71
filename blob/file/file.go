// Package file keeps blobs in a directory: the bytes of hash abcd… are the file
// ab/cd/abcd…. Several processes may share the directory.
//
// # Guarantees beside those of the port
//
//  1. Put writes a temporary file, syncs it, renames it and syncs the folder: a crash
//     leaves the whole file or none. Equal bytes that are there already are read and
//     compared; damaged ones are replaced.
//  2. A file whose bytes turn out not to be those of its hash is taken aside when it
//     is read: from then on it is absent, and stands in no new result.
//  3. What is put while DeleteUnused looks at it stays: a file is taken aside before
//     it is judged for the last time, and returned when it was renewed meanwhile.
//
// It imports the standard library, the root package and the port.
package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
)

// Store is a directory of blobs. It is safe for concurrent use.
type Store struct {
	dir string
	now func() time.Time
}

var _ blob.Store = (*Store)(nil)

// New keeps blobs below dir, which is made when the first one comes.
func New(dir string) (*Store, error) {
	if dir == "" {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "open blob store", Message: "no folder is named", Hint: "write it like file:data/blobs"}
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "open blob store", Message: "the folder cannot be named", Hint: "write it like file:data/blobs", Err: err}
	}
	return &Store{dir: whole, now: time.Now}, nil
}

const (
	tempFolder    = "tmp"
	damagedPrefix = "damaged-" // and the hash: a file whose bytes were not those of it
	// tempAge is how old a temporary file is that nobody writes any more.
	tempAge = 24 * time.Hour
)

func (s *Store) path(hash string) string { return filepath.Join(s.dir, hash[:2], hash[2:4], hash) }

// Put stores what r has.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (string, int64, error) {
	temp, err := s.temp()
	if err != nil {
		return "", 0, unavailable("put blob", err)
	}
	defer os.Remove(temp.Name()) // absent once it was renamed
	defer temp.Close()
	hash, size, err := blob.Spool(ctx, temp, r, limit)
	if err != nil {
		return "", 0, blob.Failed("put blob", err, unavailable)
	}
	if s.renew(hash, size) {
		return hash, size, nil
	}
	if err := s.keep(temp, hash); err != nil {
		return "", 0, unavailable("put blob", err)
	}
	return hash, size, nil
}

func (s *Store) temp() (*os.File, error) {
	folder := filepath.Join(s.dir, tempFolder)
	temp, err := os.CreateTemp(folder, "put-*")
	if !errors.Is(err, fs.ErrNotExist) {
		return temp, err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, err
	}
	return os.CreateTemp(folder, "put-*")
}

// renew makes bytes young that are there already, and reports whether they are.
func (s *Store) renew(hash string, size int64) bool {
	path := s.path(hash)
	if !whole(path, hash, size) {
		return false
	}
	now := s.now()
	return os.Chtimes(path, now, now) == nil // taken aside meanwhile: it is not there
}

// whole reports whether the bytes of a file are those of the hash.
func whole(path, hash string, size int64) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	reader := blob.Verified(file, hash, size)
	defer reader.Close()
	_, err = io.Copy(io.Discard, reader)
	return err == nil
}

// keep makes a temporary file durable under its hash.
func (s *Store) keep(temp *os.File, hash string) error {
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	now := s.now()
	if err := os.Chtimes(temp.Name(), now, now); err != nil {
		return err
	}
	path := s.path(hash)
	folder := filepath.Dir(path)
	if err := os.Rename(temp.Name(), path); errors.Is(err, fs.ErrNotExist) {
		if err := s.makeFolder(folder); err != nil {
			return err
		}
		if err := os.Rename(temp.Name(), path); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return syncFolder(folder)
}

// makeFolder makes the two folders of a hash as durable as what comes into them.
func (s *Store) makeFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	return errors.Join(syncFolder(filepath.Dir(folder)), syncFolder(s.dir))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// Open reads and checks.
func (s *Store) Open(ctx context.Context, hash string) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if !blob.ValidHash(hash) {
		return nil, 0, blob.Absent(hash)
	}
	file, err := os.Open(s.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, blob.Absent(hash)
	}
	if err != nil {
		return nil, 0, unavailable("open blob "+hash, err)
	}
	about, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, unavailable("open blob "+hash, err)
	}
	return &reader{ReadCloser: blob.Verified(file, hash, about.Size()), store: s, hash: hash, about: about}, about.Size(), nil
}

// reader takes a file aside that turns out to be damaged, so that it counts as
// absent from then on, and what needs it makes it anew.
type reader struct {
	io.ReadCloser
	store *Store
	hash  string
	about fs.FileInfo
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if rondo.CodeOf(err) == rondo.CodeStateCorrupt {
		r.store.takeAside(r.hash, r.about)
	}
	return n, err
}

// takeAside keeps a damaged file among the temporary ones, for whoever looks there
// until they are swept. One that was replaced since it was opened stays. If it cannot
// be moved, the next reader tries.
func (s *Store) takeAside(hash string, damaged fs.FileInfo) {
	path := s.path(hash)
	if now, err := os.Stat(path); err != nil || !os.SameFile(now, damaged) {
		return
	}
	folder := filepath.Join(s.dir, tempFolder)
	if os.MkdirAll(folder, 0o750) == nil {
		_ = os.Rename(path, filepath.Join(folder, damagedPrefix+hash))
	}
}

// Has looks for files.
func (s *Store) Has(ctx context.Context, hashes []string) (map[string]bool, error) {
	found := make(map[string]bool, len(hashes))
	for _, hash := range hashes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !blob.ValidHash(hash) {
			continue
		}
		_, err := os.Stat(s.path(hash))
		switch {
		case err == nil:
			found[hash] = true
		case !errors.Is(err, fs.ErrNotExist):
			return nil, unavailable("look for blobs", err)
		}
	}
	return found, nil
}

// Path is the file of a hash, for people on this machine; whether it is there is not
// looked at. What is no hash has none: "".
func (s *Store) Path(hash string) string {
	if !blob.ValidHash(hash) {
		return ""
	}
	return s.path(hash)
}

func unavailable(op string, err error) error {
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: "the blob folder cannot be used",
		Hint: "check that it exists, is writable and has room", Err: err,
	}
}
