package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
)

// Spool copies what source has, at most limit bytes, and names it by its hash. It
// stops between two reads when ctx ends.
func Spool(ctx context.Context, target io.Writer, source io.Reader, limit int64) (name string, size int64, err error) {
	until := stoppable(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return source.Read(p)
	})
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(target, sum), io.LimitReader(until, limit))
	if err != nil {
		return "", size, err
	}
	if size == limit {
		// A reader that is at its end says so; one more byte is one too many.
		if n, err := io.ReadFull(until, make([]byte, 1)); n > 0 {
			return "", size, TooLarge(limit)
		} else if !errors.Is(err, io.EOF) {
			return "", size, err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}

type stoppable func(p []byte) (int, error)

// Read calls the function.
func (s stoppable) Read(p []byte) (int, error) { return s(p) }
