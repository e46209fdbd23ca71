package event

import (
	"crypto/sha1"

	"github.com/rondo-engine/rondo"
)

// DerivedID is the UUIDv5 of a name in a namespace: the same two always give the
// same id. A module that answers one request again derives the event id of the
// answer from the request's, so that the repeat is recognised.
func DerivedID(namespace rondo.ID, name string) rondo.ID {
	hash := sha1.New() //nolint:gosec // UUIDv5 is defined over SHA-1; nothing here relies on it being strong
	hash.Write(namespace[:])
	hash.Write([]byte(name))
	var id rondo.ID
	copy(id[:], hash.Sum(nil))
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}
