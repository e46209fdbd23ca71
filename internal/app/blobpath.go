package app

import (
	"strings"

	"github.com/rondo-engine/rondo/blob/file"
)

// BlobPath is the file on this machine that has the bytes of a hash in the blob
// store of an address; "" when the store is elsewhere or does not have them in a
// file.
func BlobPath(address, hash string) string {
	dir, here := strings.CutPrefix(address, "file:")
	if !here {
		return ""
	}
	store, err := file.New(dir)
	if err != nil {
		return ""
	}
	return store.Path(hash)
}
