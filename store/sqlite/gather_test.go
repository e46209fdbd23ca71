package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// crowd is a file with one table, and a way to make many writes wait for each
// other.
type crowd struct {
	*writer
	t *testing.T
}

func newCrowd(t *testing.T) *crowd {
	w, err := openWriter(filepath.Join(t.TempDir(), "crowd.db"), Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{writer: w, t: t}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := w.Gather(t.Context(), func(ctx context.Context, q sqlstore.Querier) error {
		_, err := q.ExecContext(ctx, "CREATE TABLE things (n INTEGER PRIMARY KEY)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return c
}

func put(ctx context.Context, q sqlstore.Querier, n int) error {
	_, err := q.ExecContext(ctx, "INSERT INTO things (n) VALUES (?)", n)
	return err
}

// count is how many things are committed.
func (c *crowd) count() (n int) {
	if err := c.readers.QueryRowContext(c.t.Context(), "SELECT COUNT(*) FROM things").Scan(&n); err != nil {
		c.t.Errorf("count: %v", err)
	}
	return n
}

// queued waits until n writes wait for the turn.
func (c *crowd) queued(n int) {
	for {
		c.gathering.mu.Lock()
		waiting := len(c.gathering.queue)
		c.gathering.mu.Unlock()
		if waiting == n || c.t.Context().Err() != nil {
			return
		}
		runtime.Gosched()
	}
}

// together runs works while the turn is taken, so that they gather, in their
// order, and returns what became of each.
func (c *crowd) together(works ...func(context.Context, sqlstore.Querier) error) []error {
	c.t.Helper()
	if err := c.lock(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	errs := make([]error, len(works))
	var group sync.WaitGroup
	for i, work := range works {
		group.Go(func() { errs[i] = c.Gather(c.t.Context(), work) })
		c.queued(i + 1)
	}
	c.unlock()
	group.Wait()
	return errs
}

func TestWritesThatWaitShareOneTransaction(t *testing.T) {
	c := newCrowd(t)
	const n = 50
	works := make([]func(context.Context, sqlstore.Querier) error, n)
	for i := range works {
		works[i] = func(ctx context.Context, q sqlstore.Querier) error {
			if committed := c.count(); committed != 0 {
				t.Errorf("write %d met %d committed ones before it", i, committed)
			}
			return put(ctx, q, i)
		}
	}
	if err := errors.Join(c.together(works...)...); err != nil {
		t.Fatal(err)
	}
	if got := c.count(); got != n {
		t.Fatalf("%d of %d writes are there", got, n)
	}
}

func TestMoreThanOneTransactionHoldsIsRunInSeveral(t *testing.T) {
	c := newCrowd(t)
	const n = errandsAtOnce + 10
	works := make([]func(context.Context, sqlstore.Querier) error, n)
	for i := range works {
		works[i] = func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, i) }
	}
	if err := errors.Join(c.together(works...)...); err != nil {
		t.Fatal(err)
	}
	if got := c.count(); got != n {
		t.Fatalf("%d of %d writes are there", got, n)
	}
}

func TestAnErrorUndoesItsOwnWriteOnly(t *testing.T) {
	c := newCrowd(t)
	refused := errors.New("refused")
	putting := func(n int) func(context.Context, sqlstore.Querier) error {
		return func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, n) }
	}
	errs := c.together(
		putting(1),
		func(ctx context.Context, q sqlstore.Querier) error { return errors.Join(put(ctx, q, 2), refused) },
		putting(3),
		func(ctx context.Context, q sqlstore.Querier) error {
			return errors.Join(put(ctx, q, 4), put(ctx, q, 3))
		},
		putting(5),
	)
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil || !isUnique(errs[3]) || errs[4] != nil {
		t.Fatalf("outcomes: %v", errs)
	}
	var sum int
	if err := c.readers.QueryRowContext(t.Context(), "SELECT SUM(n) FROM things").Scan(&sum); err != nil || sum != 1+3+5 {
		t.Fatalf("the things that are there add up to %d, %v; want 1, 3 and 5", sum, err)
	}
	if err := c.Gather(t.Context(), func(context.Context, sqlstore.Querier) error { return refused }); !errors.Is(err, refused) {
		t.Fatalf("a lone refusal: %v", err)
	}
	if err := c.Gather(t.Context(), putting(6)); err != nil {
		t.Fatalf("after the refusals: %v", err)
	}
}

// Some errors, such as a full disk, make SQLite undo the whole transaction.
func TestALostTransactionIsLostForAll(t *testing.T) {
	c := newCrowd(t)
	errs := c.together(
		func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, 1) },
		func(ctx context.Context, q sqlstore.Querier) error {
			_, err := q.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, errors.New("the disk is full"))
		},
		func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, 3) },
	)
	for i, err := range errs {
		if err == nil {
			t.Errorf("write %d succeeded", i)
		}
	}
	if got := c.count(); got != 0 {
		t.Errorf("%d writes of a lost transaction are there", got)
	}
	if err := c.Gather(t.Context(), func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, 4) }); err != nil {
		t.Errorf("after the loss: %v", err)
	}
}

func TestAWaitingWriteCanBeGivenUp(t *testing.T) {
	c := newCrowd(t)
	if err := c.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() {
		given <- c.Gather(ctx, func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, 1) })
	}()
	c.queued(1)
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was given up: %v", err)
	}
	c.unlock()
	if err := c.Gather(t.Context(), func(ctx context.Context, q sqlstore.Querier) error { return put(ctx, q, 2) }); err != nil {
		t.Fatal(err)
	}
	if got := c.count(); got != 1 {
		t.Errorf("%d writes are there, want only the second", got)
	}
}

func TestAWriteUnderWayIsNotGivenUp(t *testing.T) {
	c := newCrowd(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Gather(ctx, func(ctx context.Context, q sqlstore.Querier) error {
		cancel()
		return put(ctx, q, 1)
	})
	if err != nil || c.count() != 1 {
		t.Fatalf("a write whose caller went away meanwhile: %v, %d there; want it there", err, c.count())
	}
}
