package testenv

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty PostgreSQL database. It is dropped
// when the test ends, also while connections are open.
func Postgres(t testing.TB) string {
	t.Helper()
	admin := serverURL(t, EnvPostgres)
	name := uniqueName()
	execPostgres(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execPostgres(t, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })

	u, err := url.Parse(admin)
	if err != nil {
		t.Fatalf("parse %s: %v", EnvPostgres, err)
	}
	u.Path = "/" + name
	return u.String()
}

func execPostgres(t testing.TB, url, statement string) {
	t.Helper()
	// Cleanup runs after the test's own context has ended.
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("connect to %s: %v", EnvPostgres, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
