package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// The states that the driver knows what to do about.
const (
	uniqueViolation      = "23505"
	divisionByZero       = "22012"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	invalidText          = "22021"
	untranslatable       = "22P05"
)

func hasState(err error, states ...string) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	return slices.Contains(states, e.Code)
}

// again says that the same work may succeed when it runs again.
func again(err error) bool { return hasState(err, serializationFailure, deadlockDetected) }

// outages are the beginnings of states that do not depend on the values of a
// statement. Statements here are fixed, so those of a missing table or privilege
// are among them.
var outages = []string{
	"08",    // connection
	"25006", // read-only: a standby
	"25P03", // idle for too long
	"28",    // login
	"3D000", // no such database
	"40",    // still rolled back after all attempts
	"42501", // privilege
	"42P01", // no such table
	"42703", // no such column
	"53",    // disk, memory, connections
	"55P03", // lock not available
	"57",    // shutdown, cancelled, timed out
	"58",    // the system below
}

// oversize is the class of program limits, such as the size of an index entry.
const oversize = "54"

func faultOf(err error) sqlstore.Fault {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case sqlstore.Lost(err), errors.Is(err, sqlstore.ErrAgain):
		return sqlstore.Outage
	case !ok:
		if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting || pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
			return sqlstore.Outage
		}
		return sqlstore.Refused
	case refused.Severity == "FATAL", refused.Severity == "PANIC",
		slices.ContainsFunc(outages, func(state string) bool { return strings.HasPrefix(refused.Code, state) }):
		return sqlstore.Outage
	case strings.HasPrefix(refused.Code, oversize):
		return sqlstore.Oversize
	default:
		return sqlstore.Refused
	}
}
