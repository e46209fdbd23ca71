package blobs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/blobs"
)

func TestURLsNameStores(t *testing.T) {
	t.Parallel()
	dir := filepath.ToSlash(t.TempDir())
	hash := strings.Repeat("ab", 32)
	for url, want := range map[string]string{
		"file:" + dir:                          "file://" + dir + "/ab/ab/" + hash,
		"file://" + dir:                        "file://" + dir + "/ab/ab/" + hash,
		dir:                                    "file://" + dir + "/ab/ab/" + hash,
		"s3://bucket/prefix?endpoint=http://x": "s3://bucket/prefix/ab/ab/" + hash,
	} {
		store, err := blobs.Open(url, func(string) string { return "" })
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := store.URI(hash); got != want {
			t.Errorf("%s: the uri is %s, want %s", url, got, want)
		}
	}
	for _, url := range []string{"", "file:", "file://", "file://host/path", "ftp://x/y", "s3://", "gs://bucket"} {
		if _, err := blobs.Open(url, func(string) string { return "" }); rondo.CodeOf(err) != rondo.CodeInvalid {
			t.Errorf("%q: %v, want invalid", url, err)
		}
	}
}
