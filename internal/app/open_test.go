package app

import (
	"strings"
	"testing"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/sqlite"
)

func TestSQLiteURLs(t *testing.T) {
	tests := []struct {
		rest, path  string
		synchronous sqlite.Synchronous
		problem     string // part of the message
	}{
		{rest: "rondo.db", path: "rondo.db"},
		{rest: "/var/lib/rondo/a b.db", path: "/var/lib/rondo/a b.db"},
		{rest: "rondo.db?", path: "rondo.db"},
		{rest: "rondo.db?synchronous=normal", path: "rondo.db", synchronous: sqlite.Normal},
		{rest: "rondo.db?synchronous=FULL", path: "rondo.db", synchronous: sqlite.Full},
		{rest: "rondo.db?synchronous=off", problem: `synchronous is "off"`},
		{rest: "rondo.db?synchronous=", problem: `synchronous is ""`},
		{rest: "rondo.db?mode=ro&synchronous=normal&cache=shared", problem: "cache, mode"},
		{rest: "rondo.db?synchronous=%zz", problem: "cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.rest, func(t *testing.T) {
			path, opts, err := sqliteFile(test.rest)
			if test.problem != "" {
				if rondo.CodeOf(err) != rondo.CodeInvalid || !strings.Contains(err.Error(), test.problem) {
					t.Fatalf("error %v, want an invalid URL with %q", err, test.problem)
				}
				return
			}
			if err != nil || path != test.path || opts.Synchronous != test.synchronous {
				t.Fatalf("path %q, synchronous %q (%v), want %q, %q", path, opts.Synchronous, err, test.path, test.synchronous)
			}
		})
	}
}
