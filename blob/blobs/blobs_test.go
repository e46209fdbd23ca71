package blobs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/blobs"
	"github.com/rondo-engine/rondo/blob/file"
	"github.com/rondo-engine/rondo/blob/s3"
)

func TestURLsNameStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hash := strings.Repeat("ab", 32)
	for _, url := range []string{"file:" + filepath.ToSlash(dir), "file://" + filepath.ToSlash(dir), dir} {
		store, err := blobs.Open(url, func(string) string { return "" })
		folder, ok := store.(*file.Store)
		if err != nil || !ok {
			t.Errorf("%s: %T, %v", url, store, err)
			continue
		}
		if got, want := folder.Path(hash), filepath.Join(dir, "ab", "ab", hash); got != want {
			t.Errorf("%s: the file is %s, want %s", url, got, want)
		}
	}
	bucket, err := blobs.Open("s3://bucket/prefix?endpoint=http://x", func(string) string { return "" })
	if _, ok := bucket.(*s3.Store); err != nil || !ok {
		t.Errorf("s3: %T, %v", bucket, err)
	}
	for _, url := range []string{"", "file:", "file://", "file://host/path", "ftp://x/y", "s3://", "gs://bucket"} {
		if _, err := blobs.Open(url, func(string) string { return "" }); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q: %v, want invalid", url, err)
		}
	}
}
