package chat

import (
	"crypto/sha1" //nolint:gosec // version 5 of UUIDs is made of it; nothing is protected by it
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// conversationNamespace is the namespace of ids that are not UUIDs themselves.
var conversationNamespace = rondo.ID{0x7c, 0x1d, 0x58, 0x0e, 0x2b, 0x6f, 0x4a, 0x35, 0x9d, 0x0c, 0x5e, 0x41, 0xa8, 0x37, 0xf2, 0x96}

// EventID is the id of an event that a conversation raises: the UUID of version 5
// whose namespace is the conversation's id and whose name is "turn/index", turn
// being the number of the turn's record and index counting its events from 0. A
// conversation whose id is no UUID has as namespace the version 5 UUID of its id
// in a namespace of Rondo's own.
func EventID(conversationID string, turn, index int) string {
	namespace, err := rondo.ParseID(conversationID)
	if err != nil {
		namespace = hashedID(conversationNamespace, conversationID)
	}
	return hashedID(namespace, strconv.Itoa(turn)+"/"+strconv.Itoa(index)).String()
}

// hashedID is the UUID of version 5 of a name in a namespace.
func hashedID(namespace rondo.ID, name string) rondo.ID {
	h := sha1.New() //nolint:gosec // see the import
	h.Write(namespace[:])
	h.Write([]byte(name))
	id := rondo.ID(h.Sum(nil)[:16])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// initialisedID is what a conversation is stored under that began with an unknown
// id: of tenant, user and id, so that nobody can tell an id of another user from
// one that does not exist.
func initialisedID(tenant, user, id string) (string, error) {
	canonical, err := canon.Marshal([]string{tenant, user, id})
	if err != nil {
		return "", rondo.Op("naming a conversation", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
