package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rondo-engine/rondo/store"
)

// CommitTimeout bounds a round trip that a caller cannot cancel: once COMMIT is on
// its way, giving up only makes its outcome unknown.
const CommitTimeout = time.Minute

// ErrAgain asks for a fresh transaction and a fresh decision.
var ErrAgain = errors.New("sqlstore: run the transaction again")

// DecideError is what decide returned: it goes back to the caller as it is.
type DecideError struct{ Err error }

// Error is decide's own.
func (e DecideError) Error() string { return e.Err.Error() }

// Unwrap returns what decide returned.
func (e DecideError) Unwrap() error { return e.Err }

// attempts is how often work that lost a race runs; races with other batches over
// one event are over after the first.
const (
	attempts = 10
	races    = 2
)

// Races tells a driver's errors apart: Again for a deadlock or a serialisation
// failure, Event for a batch of another case that brought the same event first
// (deciding again sees it), Refused for an error that the server itself sent.
type Races struct {
	Again, Event, Refused func(error) bool
}

// Update runs one batch until it does not lose a race.
func (r Races) Update(once func() (store.Committed, error)) (store.Committed, error) {
	var committed store.Committed
	var err error
	lost := 0
	for range attempts {
		committed, err = once()
		race := r.Event(err)
		if race {
			lost++
		}
		if err == nil || lost > races || !race && !errors.Is(err, ErrAgain) && !r.Again(err) {
			break
		}
	}
	return committed, err
}

// Write runs work in one transaction until it does not lose a race. A commit that
// failed without a word from the server may have happened.
func (r Races) Write(ctx context.Context, db *sql.DB, op string, work func(Querier) error) error {
	var err error
	for range attempts {
		if err = r.write(ctx, db, op, work); !r.Again(err) {
			break
		}
	}
	return err
}

// Alone runs statements that each commit by themselves until they do not lose a
// race.
func (r Races) Alone(ctx context.Context, db *sql.DB, work func(context.Context, Querier) error) error {
	var err error
	for range attempts {
		if err = work(ctx, db); !r.Again(err) {
			break
		}
	}
	return err
}

func (r Races) write(ctx context.Context, db *sql.DB, op string, work func(Querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback() // the first error is the one that says why
		return err
	}
	if err := tx.Commit(); err != nil {
		if r.Refused(err) {
			return err
		}
		return Ambiguous(op, err)
	}
	return nil
}

// Commit runs a transaction until it does not lose a race.
func (r Races) Commit(once func() error) error {
	var err error
	for range attempts {
		if err = once(); !errors.Is(err, ErrAgain) && !r.Again(err) {
			break
		}
	}
	return err
}
