package steps

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

// maxInline is how many bytes of artifacts travel inside an answer.
const maxInline = 128 << 10

// inline keeps small artifacts until the answer takes them along.
type inline struct {
	mu      sync.Mutex
	content map[string][]byte
	size    int64
}

var _ skill.Blobs = (*inline)(nil)

// Put keeps what r has, as long as it fits into an answer.
func (b *inline) Put(ctx context.Context, r io.Reader) (string, int64, error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	content, err := io.ReadAll(io.LimitReader(r, maxInline+1))
	if err != nil {
		return "", 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	size := int64(len(content))
	if b.size+size > maxInline {
		return "", 0, &rondo.Error{
			Code: rondo.CodeTooLarge, Message: "the artifacts of this step are too large for an answer",
			Hint: "store them elsewhere, and name their uri",
		}
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	if _, known := b.content[hash]; !known {
		b.content[hash] = content
		b.size += size
	}
	return hash, size, nil
}

// Open reads what this attempt has put: artifacts of other steps stay where Rondo is.
func (b *inline) Open(ctx context.Context, hash string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.content[hash]
	if !ok {
		return nil, 0, &rondo.Error{
			Code: rondo.CodeNotFound, Op: "open blob", Message: "the bytes of other steps' artifacts do not come with a request",
			Hint: "read them from GET /runs/{id}/artifacts/{id}/content",
		}
	}
	return io.NopCloser(bytes.NewReader(content)), int64(len(content)), ctx.Err()
}

// fill gives artifacts that were put the bytes that they stand for.
func (b *inline) fill(artifacts []skill.Artifact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range artifacts {
		a := &artifacts[i]
		if a.URI == "" && a.Bytes == nil {
			a.Bytes = b.content[a.Hash]
		}
	}
}
