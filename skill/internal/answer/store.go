package answer

import (
	"context"
	"fmt"
	"io"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/skill"
)

// Store streams an artifact of at most limit bytes into the blobs of a call. Its
// error is CodeTooLarge for more.
func Store(ctx context.Context, blobs skill.Blobs, r io.Reader, limit int64, name, kind string) (skill.Artifact, error) {
	if blobs == nil {
		return skill.Artifact{}, &rondo.Error{Code: rondo.CodeInvalid, Op: "store artifact", Message: "there is nowhere to put artifacts", Hint: "configure a blob store"}
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	hash, size, err := blobs.Put(ctx, &bounded{source: r, left: limit, limit: limit})
	if err != nil {
		return skill.Artifact{}, rondo.Op("store artifact", err)
	}
	return skill.Artifact{Type: kind, Name: name, Hash: hash, Size: size}, nil
}

// bounded fails where an artifact becomes too large.
type bounded struct {
	source      io.Reader
	left, limit int64
}

// Read passes bytes on, and one more than the limit makes an error.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.source.Read(p)
	if int64(n) > b.left {
		return 0, &rondo.Error{
			Code: rondo.CodeTooLarge, Message: fmt.Sprintf("an artifact has more than %d bytes", b.limit),
			Hint: "make it smaller, or store it elsewhere and name its uri",
		}
	}
	b.left -= int64(n)
	return n, err
}

// Failure is the result of an attempt whose artifacts could not be kept.
func Failure(err error) skill.Result {
	if rondo.CodeOf(err) == rondo.CodeTooLarge {
		return skill.Fail(rondo.CodeSkillError, "an artifact is too large: make it smaller, or store it elsewhere and name its uri", false)
	}
	return skill.Fail(rondo.CodeSkillError, "an artifact could not be stored", true)
}
