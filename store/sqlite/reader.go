package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"github.com/rondo-engine/rondo/store/internal/sqlstore"
)

// reader is the pool that reads, with the query of every turn of a conversation
// prepared: compiling it takes as long as running it.
type reader struct {
	*sql.DB
	mu   sync.Mutex
	load *sql.Stmt
}

// QueryContext implements sqlstore.Querier.
func (r *reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if query != sqlstore.LoadConversation {
		return r.DB.QueryContext(ctx, query, args...)
	}
	load, err := r.prepared(ctx) //nolint:sqlclosecheck // kept; forget closes it
	if err != nil {
		return nil, err
	}
	return load.QueryContext(ctx, args...)
}

func (r *reader) prepared(ctx context.Context) (*sql.Stmt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load == nil {
		load, err := r.PrepareContext(ctx, sqlstore.LoadConversation)
		if err != nil {
			return nil, err
		}
		r.load = load
	}
	return r.load, nil
}

// forget closes what is prepared.
func (r *reader) forget() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load == nil {
		return nil
	}
	return r.load.Close()
}
