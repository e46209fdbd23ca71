package rondo

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// ID is a UUID. Ids that Rondo makes are version 7, so they sort by time of
// making; ids that come from outside as UUIDs (event ids) may be of any version.
// The zero ID means "none".
type ID [16]byte

// ParseID reads the 36-character form, in either case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, fmt.Errorf("%q is not a UUID", clip(s, 64))
	}
	var hexed [32]byte
	n := 0
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			continue
		}
		hexed[n] = s[i]
		n++
	}
	if _, err := hex.Decode(id[:], hexed[:]); err != nil {
		return ID{}, fmt.Errorf("%q is not a UUID", clip(s, 64))
	}
	return id, nil
}

// String is the lower-case 36-character form.
func (id ID) String() string {
	var b [36]byte
	id.encode(&b)
	return string(b[:])
}

// IsZero reports whether the id is absent.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes the 36-character form, and nothing for the zero ID.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	var b [36]byte
	id.encode(&b)
	return b[:], nil
}

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

func (id ID) encode(b *[36]byte) {
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], id[10:16])
}

// IDs makes UUIDv7 ids that never repeat and, from one maker, always increase,
// also within a millisecond and when the clock steps back. It is safe for
// concurrent use.
type IDs struct {
	mu   sync.Mutex
	now  func() time.Time
	read func([]byte)
	last uint64 // milliseconds<<12 | counter
}

// NewIDs makes ids from a clock and the system's randomness.
func NewIDs(now func() time.Time) *IDs {
	return &IDs{now: now, read: func(b []byte) { _, _ = rand.Read(b) }}
}

// NewSeededIDs makes ids whose random part comes from read, for replays.
func NewSeededIDs(now func() time.Time, read func([]byte)) *IDs {
	return &IDs{now: now, read: read}
}

// New returns the next id.
func (g *IDs) New() ID {
	var id ID
	g.read(id[8:])
	ms := uint64(max(g.now().UnixMilli(), 0))
	g.mu.Lock()
	g.last = max(g.last+1, ms<<12)
	stamp := g.last
	g.mu.Unlock()
	binary.BigEndian.PutUint64(id[:8], stamp>>12<<16|stamp&0xfff)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
