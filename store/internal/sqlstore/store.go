package sqlstore

import (
	"context"
	"errors"

	"github.com/rondo-engine/rondo"
)

// Cold is every part of the port but the write path of cases. Drivers embed it.
type Cold struct {
	run     Runner
	dialect *Dialect
	tables  *Tables
}

// NewCold makes the shared part of a driver.
func NewCold(run Runner, dialect *Dialect, tables *Tables) *Cold {
	return &Cold{run: run, dialect: dialect, tables: tables}
}

// Close implements store.System.
func (c *Cold) Close() error { return c.run.Close() }

func (c *Cold) reader() session { return session{c.run.Reader(), c.dialect} }

func (c *Cold) write(ctx context.Context, op string, work func(session) error) error {
	err := c.run.Write(ctx, func(q Querier) error { return work(session{q, c.dialect}) })
	return c.wrap(op, err)
}

// gather is write for short work that many callers do at once; see Runner.
func (c *Cold) gather(ctx context.Context, op string, work func(context.Context, session) error) error {
	err := c.run.Gather(ctx, func(ctx context.Context, q Querier) error { return work(ctx, session{q, c.dialect}) })
	return c.wrap(op, err)
}

// alone is gather for work of which every statement may commit by itself.
func (c *Cold) alone(ctx context.Context, op string, work func(context.Context, session) error) error {
	err := c.run.Alone(ctx, func(ctx context.Context, q Querier) error { return work(ctx, session{q, c.dialect}) })
	return c.wrap(op, err)
}

// callerError is what a callback returned: it goes back as it is.
type callerError struct{ error }

func (e callerError) Unwrap() error { return e.error }

// wrap names the operation. Errors that are already Rondo's keep their code;
// what a database refuses is a conflict; a caller's own cancellation stays what
// it is; the dialect judges the rest.
func (c *Cold) wrap(op string, err error) error {
	op = c.dialect.Name + ": " + op
	var known *rondo.Error
	var caller callerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &caller):
		return caller.error
	case errors.As(err, &known):
		return err
	case c.dialect.Unique(err):
		return Forbidden(op, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &rondo.Error{Code: rondo.CodeUnavailable, Op: op, Err: err}
	default:
		return c.dialect.Fault(err).Explain(op, err)
	}
}
