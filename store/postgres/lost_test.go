package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/postgres"
)

// A connection that dies while a batch is being decided is found dead by the
// round trip that commits: the store cannot know how far it came and says so.
func TestALostConnectionLeavesTheCommitOpen(t *testing.T) {
	ctx := t.Context()
	url := testenv.Postgres(t)
	s := openURL(t, url, postgres.Options{})
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	ids := rondo.NewIDs(time.Now)
	event := rondo.EventRecord{
		ID: ids.New(), OrgID: "acme", EventID: ids.New(), CaseID: "c-1", Type: "case.created",
		Envelope: []byte(`{}`), ReceivedAt: time.Now(), Processed: true, Outcome: rondo.OutcomeNoted,
	}
	load := store.Load{Cases: []rondo.CaseKey{{OrgID: "acme", CaseID: "c-1"}}}
	write := &store.Write{Events: []rondo.EventRecord{event}}

	_, err := s.Update(ctx, load, func(*store.Loaded) (*store.Write, error) {
		killOthers(t, url)
		return write, nil
	})
	if !errors.Is(err, store.ErrAmbiguous) {
		t.Fatalf("update over a dead connection: %v, want an ambiguous one", err)
	}
	if _, err := s.Event(ctx, "acme", event.EventID); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Fatalf("the event of the lost batch: %v, want not found", err)
	}
	if _, err := s.Update(ctx, load, func(*store.Loaded) (*store.Write, error) { return write, nil }); err != nil {
		t.Fatalf("update after the loss: %v", err)
	}
}

// killOthers ends every other connection to the database.
func killOthers(t *testing.T, url string) {
	t.Helper()
	execute(t, url, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
}

// execute changes something behind the store's back.
func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
