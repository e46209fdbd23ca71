package skilltest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// Blobs keeps artifacts in memory.
type Blobs struct {
	mu      sync.Mutex
	content map[string][]byte
	broken  error
}

var _ skill.Blobs = (*Blobs)(nil)

// NewBlobs is empty.
func NewBlobs() *Blobs { return &Blobs{content: map[string][]byte{}} }

// Put keeps what r has.
func (b *Blobs) Put(ctx context.Context, r io.Reader) (string, int64, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return "", 0, b.broken
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	b.content[hash] = content
	return hash, int64(len(content)), ctx.Err()
}

// Open reads what was put.
func (b *Blobs) Open(ctx context.Context, hash string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.content[hash]
	switch {
	case b.broken != nil:
		return nil, 0, b.broken
	case !ok:
		return nil, 0, &rondo.Error{Code: rondo.CodeNotFound, Op: "open blob", Message: "these bytes were not put"}
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), ctx.Err()
}

// Get returns what was put.
func (b *Blobs) Get(hash string) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.content[hash]
	return content, ok
}

// Break makes every Put and Open fail from now on.
func (b *Blobs) Break(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = err
}
