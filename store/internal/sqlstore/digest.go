package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Keys and hashes of runs are hex SHA-256 nearly always, and stored as the 32
// bytes that they are. Any other text is stored as it is, with a byte at its end
// that no text has, twice where it would be 32 bytes long.
const textEnd = 0xff

// Digest is a key or hash as it is stored; "" is NULL.
func Digest(text string) any {
	if text == "" {
		return nil
	}
	return digestBytes(text)
}

func digestBytes(text string) []byte {
	if raw := make([]byte, sha256.Size); len(text) == 2*sha256.Size && lowerHex(text) {
		_, _ = hex.Decode(raw, []byte(text)) // it is hex
		return raw
	}
	raw := append([]byte(text), textEnd)
	if len(raw) == sha256.Size {
		raw = append(raw, textEnd)
	}
	return raw
}

func lowerHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// digest undoes Digest.
func (r *reader) digest() string {
	raw := r.bytes()
	if len(raw) == sha256.Size {
		return hex.EncodeToString(raw)
	}
	return string(bytes.TrimRight(raw, string([]byte{textEnd})))
}

// longestName is how long the name of a flight may be to be stored as it is.
const longestName = 128

// CacheRow is the stored name of a key or flight. Flights that are not cached have
// long names, which nobody reads back: a digest after a marker stands for them.
func CacheRow(name string) []byte {
	if len(name) <= longestName && !strings.HasPrefix(name, "exec:") {
		return digestBytes(name)
	}
	sum := sha256.Sum256([]byte(name))
	return append([]byte{textEnd}, sum[:]...)
}

// EntryUser names an entry among those who use artifacts; runs are named by their
// id.
func EntryUser(tenant string, row []byte) []byte {
	text := binary.BigEndian.AppendUint64(nil, uint64(len(tenant)))
	text = append(text, tenant...)
	sum := sha256.Sum256(append(text, row...))
	return sum[:]
}

// idList is ids one after the other; none is NULL.
func idList(ids []rondo.ID) any {
	if len(ids) == 0 {
		return nil
	}
	list := make([]byte, 0, len(ids)*len(rondo.ID{}))
	for i := range ids {
		list = append(list, ids[i][:]...)
	}
	return list
}

// ids undoes idList.
func (r *reader) ids() []rondo.ID {
	list := r.bytes()
	const size = len(rondo.ID{})
	if len(list)%size != 0 {
		r.fail(list, "a list of ids")
		return nil
	}
	var ids []rondo.ID
	for ; len(list) > 0; list = list[size:] {
		ids = append(ids, rondo.ID(list[:size]))
	}
	return ids
}
