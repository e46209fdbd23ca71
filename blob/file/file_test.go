package file_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/blobtest"
	"github.com/rondo-engine/rondo/blob/file"
)

func TestADirectoryIsABlobStore(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, blobtest.Harness{New: place})
}

func place(t *testing.T) blobtest.Place {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	store, err := file.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := func(hash string) string { return filepath.Join(dir, hash[:2], hash[2:4], hash) }
	return blobtest.Place{
		Store: store,
		Age: func(t *testing.T, hash string, ago time.Duration) {
			t.Helper()
			then := time.Now().Add(-ago)
			if err := os.Chtimes(path(hash), then, then); err != nil {
				t.Fatal(err)
			}
		},
		Damage: func(t *testing.T, hash string, content []byte) {
			t.Helper()
			if err := os.WriteFile(path(hash), content, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		Objects: func(t *testing.T) int {
			t.Helper()
			return len(files(t, dir))
		},
	}
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return paths
}

func TestBytesThatWereDamagedInPlaceAreReplaced(t *testing.T) {
	t.Parallel()
	p := place(t)
	hash, _, err := p.Store.Put(t.Context(), strings.NewReader("good"), 10)
	if err != nil {
		t.Fatal(err)
	}
	p.Damage(t, hash, []byte("evil")) // as many bytes
	if _, _, err := p.Store.Put(t.Context(), strings.NewReader("good"), 10); err != nil {
		t.Fatal(err)
	}
	r, _, err := p.Store.Open(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 4)
	if _, err := r.Read(got); err != nil || string(got) != "good" {
		t.Errorf("%q, %v, want good", got, err)
	}
}

func TestBytesThatWereFoundDamagedAreAbsent(t *testing.T) {
	t.Parallel()
	p := place(t)
	hash, _, err := p.Store.Put(t.Context(), strings.NewReader("good"), 10)
	if err != nil {
		t.Fatal(err)
	}
	p.Damage(t, hash, []byte("evil"))
	read := func() error {
		r, _, err := p.Store.Open(t.Context(), hash)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r)
		return err
	}
	if err := read(); rondo.CodeOf(err) != rondo.CodeStateCorrupt || !strings.Contains(err.Error(), hash) {
		t.Fatalf("reading damaged bytes: %v, want %s with the hash", err, rondo.CodeStateCorrupt)
	}
	if found, err := p.Store.Has(t.Context(), []string{hash}); err != nil || found[hash] {
		t.Errorf("damaged bytes are there: %v, %v", found, err)
	}
	if err := read(); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Errorf("reading them again: %v, want that they are absent", err)
	}
	if _, _, err := p.Store.Put(t.Context(), strings.NewReader("good"), 10); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Errorf("reading what was made anew: %v", err)
	}
}

func TestWhatACrashLeftIsSweptUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := file.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"put-old": 48 * time.Hour, "put-young": time.Minute} {
		path := filepath.Join(dir, "tmp", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.DeleteUnused(t.Context(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) != 1 || !strings.HasSuffix(left[0], "put-young") {
		t.Errorf("left are %v, want the young one", left)
	}
}
