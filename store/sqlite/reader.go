package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// reader is the pool that reads, with the queries that are asked most often
// prepared: compiling one takes as long as running it. Their texts are few: the
// number of their parameters is one of few.
type reader struct {
	*sql.DB
	mu   sync.Mutex
	kept map[string]*sql.Stmt
}

// QueryContext implements sqlstore.Querier.
func (r *reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !sqlstore.AskedOften(query) {
		return r.DB.QueryContext(ctx, query, args...)
	}
	prepared, err := r.prepared(ctx, query) //nolint:sqlclosecheck // kept; forget closes it
	if err != nil {
		return nil, err
	}
	return prepared.QueryContext(ctx, args...)
}

func (r *reader) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if prepared := r.kept[query]; prepared != nil {
		return prepared, nil
	}
	prepared, err := r.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept; forget closes it
	if err != nil {
		return nil, err
	}
	if r.kept == nil {
		r.kept = map[string]*sql.Stmt{}
	}
	r.kept[query] = prepared
	return prepared, nil
}

// forget closes what is prepared.
func (r *reader) forget() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]error, 0, len(r.kept))
	for _, prepared := range r.kept {
		errs = append(errs, prepared.Close())
	}
	return errors.Join(errs...)
}
