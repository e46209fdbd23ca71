// Package canon reads JSON strictly and writes it canonically (RFC 8785), so
// that equal documents have equal digests.
//
// # Guarantees
//
//  1. What is ambiguous is refused, not guessed: duplicate members, invalid
//     UTF-8, lone surrogates, trailing data, numbers that a 64-bit float cannot
//     hold, and integers beyond ±(2^53−1), which would collide.
//  2. Two documents that are accepted have the same canonical form iff they say
//     the same. A canonical form is its own canonical form.
//  3. Depth, tokens and bytes are bounded in Check and Members.
//  4. Errors say where, never what was there: values may be confidential.
//
// It imports the standard library and the jsontext and json packages of
// go-json-experiment only, and does no I/O.
package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Limits bound one document. Zero fields take the defaults.
type Limits struct {
	Depth  int // objects and arrays inside each other; default 32
	Tokens int // values and member names; default 65,536
	Bytes  int // default 256 KiB
}

// The defaults of Limits.
const (
	DefaultDepth  = 32
	DefaultTokens = 1 << 16
	DefaultBytes  = 256 << 10
)

// Error says why a document is refused and where.
type Error struct {
	Offset   int    // bytes before the place
	Pointer  string // JSON Pointer to the value that is wrong, or that holds what is wrong
	Message  string
	TooLarge bool // more than Limits.Bytes
	Limit    bool // it breaks one of Limits, not a rule for all documents
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("JSON at offset %d: %s", e.Offset, e.Message)
	}
	return fmt.Sprintf("JSON at %s (offset %d): %s", e.Pointer, e.Offset, e.Message)
}

// Check reads one document strictly and keeps nothing. Its error is an *Error.
func Check(raw []byte, limits Limits) error {
	var names [20][]byte
	s := newScanner(raw, limits, names[:0])
	return s.document(nil)
}

// Members checks a document as Check does, requires it to be an object, and
// calls member for each of its members, in order, before the rest has been
// checked. The name is unescaped; both slices are valid during the call, value
// also as long as raw.
func Members(raw []byte, limits Limits, member func(name, value []byte)) error {
	var names [20][]byte
	s := newScanner(raw, limits, names[:0])
	return s.document(member)
}

// JSON returns the canonical form of a document, which may be of any size and up
// to 1,000 levels deep. Its error is an *Error.
func JSON(raw []byte) ([]byte, error) {
	if err := Check(raw, Limits{Depth: 1000, Tokens: math.MaxInt, Bytes: math.MaxInt}); err != nil {
		return nil, err
	}
	value := jsontext.Value(raw).Clone()
	if err := value.Canonicalize(); err != nil {
		return nil, &Error{Message: "cannot be put in canonical form"}
	}
	return value, nil
}

// Marshal returns the canonical form of a Go value, which is encoded by the
// rules of encoding/json, except that strings must be valid UTF-8.
func Marshal(v any) ([]byte, error) {
	raw, err := json.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.AllowInvalidUTF8(false), jsontext.AllowDuplicateNames(false))
	if err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	return JSON(raw)
}

// Digest returns the hex SHA-256 of the canonical form of a document.
func Digest(raw []byte) (string, error) {
	canonical, err := JSON(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
