package sqlite

import (
	"errors"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

func isUnique(err error) bool {
	code, ok := resultCode(err)
	return ok && (code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || code == sqlite3.SQLITE_CONSTRAINT_ROWID)
}

// isBusy says that another process holds the file.
func isBusy(err error) bool {
	code, ok := resultCode(err)
	return ok && (code&0xff == sqlite3.SQLITE_BUSY || code&0xff == sqlite3.SQLITE_LOCKED)
}

func resultCode(err error) (int, bool) {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

func faultOf(err error) sqlstore.Fault {
	code, ok := resultCode(err)
	if !ok {
		if sqlstore.Lost(err) {
			return sqlstore.Outage
		}
		return sqlstore.Refused
	}
	return faultOfCode(code)
}

// faultOfCode takes an extended result code; its low byte is the kind.
func faultOfCode(code int) sqlstore.Fault {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return sqlstore.Outage
	case sqlite3.SQLITE_TOOBIG:
		return sqlstore.Oversize
	default:
		return sqlstore.Refused
	}
}
