package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/rondo-engine/rondo"
)

// ValidHash reports whether a text is 64 characters of lower-case hex: what is not
// never becomes part of a path or a key.
func ValidHash(text string) bool {
	if len(text) != 2*sha256.Size {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Absent is the error for bytes that are not there.
func Absent(name string) error {
	return &rondo.Error{
		Code: rondo.CodeNotFound, Op: "open blob " + name, Message: "the bytes of an artifact are not in the blob store",
		Hint: "they were removed, or the store is another one: run the step again",
	}
}

// Verified reads what source has and ends with CodeStateCorrupt instead of io.EOF
// when that were not size bytes with this hash.
func Verified(source io.ReadCloser, name string, size int64) io.ReadCloser {
	return &verified{ReadCloser: source, name: name, left: size, sum: sha256.New()}
}

type verified struct {
	io.ReadCloser
	name string
	left int64
	sum  hash.Hash
	end  error
}

// Read passes bytes on and judges them at their end.
func (v *verified) Read(p []byte) (int, error) {
	if v.end != nil {
		return 0, v.end
	}
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	v.left -= int64(n)
	switch {
	case v.left < 0:
		v.end = v.corrupt(nil)
	case errors.Is(err, io.EOF):
		v.end = io.EOF
		if v.left != 0 || hex.EncodeToString(v.sum.Sum(nil)) != v.name {
			v.end = v.corrupt(nil)
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		v.end = v.corrupt(err)
	default:
		return n, err
	}
	return n, v.end
}

func (v *verified) corrupt(cause error) error {
	return &rondo.Error{
		Code: rondo.CodeStateCorrupt, Op: "read blob " + v.name, Message: "the stored bytes are not those of their hash",
		Hint: "the blob store is damaged: restore it, or run the step again", Err: cause,
	}
}
