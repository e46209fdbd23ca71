package sqlstore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
)

// Fault is what kind of trouble an error of a database is. It decides what
// becomes of the work: an outage is waited out, anything else is the work's own
// fault, and waiting would not help.
type Fault uint8

// The kinds of trouble.
const (
	// Refused is an error that depends on the work: trying it again changes nothing.
	Refused Fault = iota
	// Outage is an error that does not depend on the work: the database cannot be
	// reached, lacks resources, is shutting down, or is not set up for Rondo.
	Outage
	// Oversize is a refusal because of the size of a statement or value.
	Oversize
)

// Explain turns an error that a driver has no better word for into Rondo's.
func (f Fault) Explain(op string, err error) error {
	switch f {
	case Outage:
		return Unavailable(op, err)
	case Oversize:
		return TooLarge(op, err)
	default:
		return Internal(op, err)
	}
}

// UnreachableError marks an error met while getting a connection: whatever it says,
// the work is not to blame.
type UnreachableError struct{ Err error }

// Error implements error.
func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Lost reports whether an error is, in any database, one of the connection and
// not of the statement.
func Lost(err error) bool {
	if _, ok := errors.AsType[*UnreachableError](err); ok {
		return true
	}
	for _, lost := range []error{
		sqldriver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe,
		net.ErrClosed, os.ErrDeadlineExceeded, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}
