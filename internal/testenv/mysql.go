package testenv

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MySQL returns the mysql:// URL of a new, empty MariaDB or MySQL database. It
// has the server's default collation, as a hurried operator's database would:
// drivers must not depend on it. It is dropped when the test ends.
func MySQL(t testing.TB) string {
	t.Helper()
	admin, err := url.Parse(serverURL(t, EnvMySQL))
	if err != nil {
		t.Fatalf("parse %s: %v", EnvMySQL, err)
	}
	name := uniqueName()
	execMySQL(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execMySQL(t, admin, "DROP DATABASE IF EXISTS "+name) })

	u := *admin
	u.Path = "/" + name
	return u.String()
}

func execMySQL(t testing.TB, server *url.URL, statement string) {
	t.Helper()
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = server.Host
	config.User = server.User.Username()
	config.Passwd, _ = server.User.Password()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatalf("configure %s: %v", EnvMySQL, err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	// Cleanup runs after the test's own context has ended.
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
