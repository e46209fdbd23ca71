package mysql_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
)

// A connection that dies while a batch is being decided fails the batch, and the
// store goes on with another.
func TestALostConnectionFailsTheBatchAndNoMore(t *testing.T) {
	ctx := t.Context()
	address := testenv.MySQL(t)
	s := openURL(t, address, mysql.Options{})
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
		killOthers(t, address)
		return write, nil
	})
	if rondo.CodeOf(err) != rondo.CodeUnavailable {
		t.Fatalf("update over a dead connection: %v, want code unavailable", err)
	}
	if _, err := s.Event(ctx, "acme", event.EventID); rondo.CodeOf(err) != rondo.CodeNotFound {
		t.Fatalf("the event of the lost batch: %v, want not found", err)
	}
	if _, err := s.Update(ctx, load, func(*store.Loaded) (*store.Write, error) { return write, nil }); err != nil {
		t.Fatalf("update after the loss: %v", err)
	}
}

// killOthers ends every other connection to the database.
func killOthers(t *testing.T, address string) {
	t.Helper()
	db := connect(t, address)
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var connections []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		connections = append(connections, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, id := range connections {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("KILL %d", id)); err != nil {
			t.Fatal(err)
		}
	}
	if len(connections) == 0 {
		t.Fatal("there was no connection to kill")
	}
}

// connect is one connection to the database that is not the store's.
func connect(t *testing.T, address string) *sql.DB {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)%s", u.User.Username(), password, u.Host, u.Path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// execute changes something behind the store's back.
func execute(t *testing.T, address, statement string) {
	t.Helper()
	if _, err := connect(t, address).ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
