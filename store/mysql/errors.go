package mysql

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// The errors that the driver knows what to do about.
const (
	columnNull      = 1048
	duplicateEntry  = 1062
	lockWaitTimeout = 1205
	deadlock        = 1213
	manyRows        = 1242 // a subquery returned more than one row
	outOfRange      = 1690
)

func hasNumber(err error, numbers ...uint16) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	return slices.Contains(numbers, e.Number)
}

// again says that the same work may succeed when it runs again.
func again(err error) bool { return hasNumber(err, deadlock, lockWaitTimeout) }

// outages are errors that do not depend on the values of a statement. Statements
// here are fixed, so those of a missing table or privilege are among them.
var outages = []uint16{
	1021, 1026, 1030, 1114, // disk full, write failed, storage engine failed, table full
	1037, 1038, 1041, // memory
	1040, 1203, 1226, // connections
	1042, 1043, 1158, 1159, 1160, 1161, 2006, 2013, // network
	1044, 1045, 1049, 1142, 1143, 1227, // login and privileges
	1047, 3101, // a cluster node that is not ready, or was overruled
	1053, 1079, 1317, 1927, // shutdown, killed
	1054, 1146, // no such column, table
	1290, 1792, 1836, // read-only
	1969, 3024, // took too long
	lockWaitTimeout, deadlock, // still, after all attempts
}

// oversizes are errors of a packet, a result and a value that is too long.
var oversizes = []uint16{1153, 1301, 1406}

func faultOf(err error) sqlstore.Fault {
	switch {
	case errors.Is(err, mysql.ErrPktTooLarge), hasNumber(err, oversizes...):
		return sqlstore.Oversize
	case sqlstore.Lost(err), errors.Is(err, sqlstore.ErrAgain), errors.Is(err, mysql.ErrInvalidConn), hasNumber(err, outages...),
		errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul), errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrBusyBuffer):
		return sqlstore.Outage
	default:
		return sqlstore.Refused
	}
}
