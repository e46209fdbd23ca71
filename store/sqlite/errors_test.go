package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rondo-engine/rondo"
)

func TestResultCodesAreOutagesOnlyWhenTheWorkIsNotToBlame(t *testing.T) {
	tests := []struct {
		name string
		code int
		want rondo.Code
	}{
		{"busy", sqlite3.SQLITE_BUSY, rondo.CodeUnavailable},
		{"busy with a snapshot", sqlite3.SQLITE_BUSY_SNAPSHOT, rondo.CodeUnavailable},
		{"locked", sqlite3.SQLITE_LOCKED, rondo.CodeUnavailable},
		{"disk full", sqlite3.SQLITE_FULL, rondo.CodeUnavailable},
		{"write failed", sqlite3.SQLITE_IOERR_WRITE, rondo.CodeUnavailable},
		{"cannot open", sqlite3.SQLITE_CANTOPEN, rondo.CodeUnavailable},
		{"read-only", sqlite3.SQLITE_READONLY, rondo.CodeUnavailable},
		{"out of memory", sqlite3.SQLITE_NOMEM, rondo.CodeUnavailable},
		{"too big", sqlite3.SQLITE_TOOBIG, rondo.CodeTooLarge},
		{"value is missing", sqlite3.SQLITE_CONSTRAINT_NOTNULL, rondo.CodeInternal},
		{"wrong type", sqlite3.SQLITE_CONSTRAINT_DATATYPE, rondo.CodeInternal},
		{"syntax", sqlite3.SQLITE_ERROR, rondo.CodeInternal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cause := errors.New("cause")
			if got := rondo.CodeOf(faultOfCode(test.code).Explain("update", cause)); got != test.want {
				t.Errorf("code %s, want %s", got, test.want)
			}
		})
	}
}

func TestErrorsWithoutResultCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want rondo.Code
	}{
		{sql.ErrConnDone, rondo.CodeUnavailable},
		{context.DeadlineExceeded, rondo.CodeUnavailable},
		{errors.New("read machine"), rondo.CodeInternal},
	} {
		if err := new(Store).explain(test.err); rondo.CodeOf(err) != test.want || !errors.Is(err, test.err) {
			t.Errorf("%v has code %s, want %s and the cause kept", err, rondo.CodeOf(err), test.want)
		}
	}
}

// The driver's own errors reach the table above.
func TestARefusalOfTheDatabaseIsNotAnOutage(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "refusal.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.conn.ExecContext(t.Context(), "SELECT nonsense FROM nowhere")
	if err := s.explain(err); rondo.CodeOf(err) != rondo.CodeInternal {
		t.Errorf("a refused statement: %v, want code internal", err)
	}
}
