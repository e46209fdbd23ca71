// Package blob is the port to a content-addressed store of bytes: what is put is
// named by its SHA-256, so that equal bytes are stored once and what is read can
// be checked. Drivers are file (a directory) and s3; package blobtest holds the
// conformance suite.
//
// # Guarantees every driver gives
//
//  1. Put streams; it returns when the bytes are durable under their hash, and never
//     leaves part of them under it. Putting what is there already renews its age.
//  2. Open returns a reader that checks: it ends with an error of CodeStateCorrupt
//     when the bytes are not those of the hash. Absent bytes are CodeNotFound.
//  3. Delete of what is absent is fine.
package blob

import (
	"context"
	"io"
	"time"
)

// Store keeps bytes by their hash, 64 characters of lower-case hex.
type Store interface {
	// Put stores what r has until EOF, at most limit bytes: CodeTooLarge when there is
	// more.
	Put(ctx context.Context, r io.Reader, limit int64) (hash string, size int64, err error)
	Open(ctx context.Context, hash string) (r io.ReadCloser, size int64, err error)
	// Has returns those of the hashes that are there.
	Has(ctx context.Context, hashes []string) (map[string]bool, error)
	// DeleteUnused removes those of the hashes whose bytes were last put before the
	// time, so that what is being put right now stays.
	DeleteUnused(ctx context.Context, hashes []string, before time.Time) (int, error)
}

// URI names bytes by what they are and not by where they are: it is the same on
// every machine and for every store, and tells nothing of either.
func URI(hash string) string { return "blob:" + hash }
