package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

func TestErrorsAreOutagesOnlyWhenTheWorkIsNotToBlame(t *testing.T) {
	number := func(n uint16) error { return fmt.Errorf("insert: %w", &mysql.MySQLError{Number: n}) }
	tests := []struct {
		name string
		err  error
		want rondo.Code
	}{
		{"bad connection", sqldriver.ErrBadConn, rondo.CodeUnavailable},
		{"invalid connection", mysql.ErrInvalidConn, rondo.CodeUnavailable},
		{"network", &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, rondo.CodeUnavailable},
		{"deadline", context.DeadlineExceeded, rondo.CodeUnavailable},
		{"wrong password", &sqlstore.UnreachableError{Err: number(1045)}, rondo.CodeUnavailable},
		{"any error of connecting", &sqlstore.UnreachableError{Err: number(1234)}, rondo.CodeUnavailable},
		{"too many connections", number(1040), rondo.CodeUnavailable},
		{"shutdown", number(1053), rondo.CodeUnavailable},
		{"lock wait after all attempts", number(lockWaitTimeout), rondo.CodeUnavailable},
		{"deadlock after all attempts", number(deadlock), rondo.CodeUnavailable},
		{"gone away", number(2006), rondo.CodeUnavailable},
		{"lost", number(2013), rondo.CodeUnavailable},
		{"read-only option", number(1290), rondo.CodeUnavailable},
		{"read-only mode", number(1836), rondo.CodeUnavailable},
		{"table is missing", number(1146), rondo.CodeUnavailable},
		{"streams changed at every attempt", sqlstore.ErrAgain, rondo.CodeUnavailable},
		{"second row of a key", number(duplicateEntry), rondo.CodeConflict},
		{"packet too large for the driver", mysql.ErrPktTooLarge, rondo.CodeTooLarge},
		{"packet too large for the server", number(1153), rondo.CodeTooLarge},
		{"value too long for its column", number(1406), rondo.CodeTooLarge},
		{"number out of range", number(1264), rondo.CodeInternal},
		{"value is missing", number(columnNull), rondo.CodeInternal},
		{"syntax", number(1064), rondo.CodeInternal},
		{"document that cannot be read", errors.New("read machine"), rondo.CodeInternal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := new(Store).explain(context.Background(), test.err)
			if rondo.CodeOf(err) != test.want || !errors.Is(err, test.err) {
				t.Errorf("%v has code %s, want %s and the cause kept", err, rondo.CodeOf(err), test.want)
			}
		})
	}
}
