package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

func TestErrorsAreOutagesOnlyWhenTheWorkIsNotToBlame(t *testing.T) {
	state := func(code string) error {
		return fmt.Errorf("insert: %w", &pgconn.PgError{Severity: "ERROR", Code: code})
	}
	tests := []struct {
		name string
		err  error
		want rondo.Code
	}{
		{"connection failure", state("08006"), rondo.CodeUnavailable},
		{"disk full", state("53100"), rondo.CodeUnavailable},
		{"too many connections", state("53300"), rondo.CodeUnavailable},
		{"admin shutdown", state("57P01"), rondo.CodeUnavailable},
		{"statement timeout", state("57014"), rondo.CodeUnavailable},
		{"deadlock after all attempts", state(deadlockDetected), rondo.CodeUnavailable},
		{"serialisation failure after all attempts", state(serializationFailure), rondo.CodeUnavailable},
		{"standby", state("25006"), rondo.CodeUnavailable},
		{"table is missing", state("42P01"), rondo.CodeUnavailable},
		{"any fatal error", &pgconn.PgError{Severity: "FATAL", Code: "XX000"}, rondo.CodeUnavailable},
		{"network", &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, rondo.CodeUnavailable},
		{"end of the connection", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), rondo.CodeUnavailable},
		{"deadline", context.DeadlineExceeded, rondo.CodeUnavailable},
		{"no connection", &sqlstore.UnreachableError{Err: errors.New("closed pool")}, rondo.CodeUnavailable},
		{"streams changed at every attempt", sqlstore.ErrAgain, rondo.CodeUnavailable},
		{"second row of a key", state(uniqueViolation), rondo.CodeConflict},
		{"NUL in a text", state(invalidText), rondo.CodeInvalid},
		{"index entry too long", state("54000"), rondo.CodeTooLarge},
		{"number out of range", state("22003"), rondo.CodeInternal},
		{"value is missing", state("23502"), rondo.CodeInternal},
		{"internal error", state("XX000"), rondo.CodeInternal},
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
