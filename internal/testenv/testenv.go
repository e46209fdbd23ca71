// Package testenv gives tests the real things they run against: fresh databases
// on PostgreSQL and MariaDB, a Redis database, throw-away Redis servers that can
// be killed, and the rondo binary.
//
// Where the servers are comes from the environment variables that
// scripts/testservers exports. Without them a test that asks for a server is
// skipped, so that `go test ./...` passes with Go only; with RONDO_TEST_REQUIRE=1,
// as under `make test`, it fails instead.
//
// What a test gets is its own: nothing is shared between tests, also not between
// test processes that run at once, and everything is removed when the test ends.
//
// The package imports the database clients and the standard library, nothing of
// Rondo, and only tests import it.
package testenv

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"
	"time"
)

// The environment variables that say where the servers are.
const (
	EnvPostgres = "RONDO_TEST_POSTGRES" // postgres://user@host:port/postgres?sslmode=disable
	EnvMySQL    = "RONDO_TEST_MYSQL"    // mysql://user@host:port/
	EnvRedis    = "RONDO_TEST_REDIS"    // redis://host:port
	EnvRequire  = "RONDO_TEST_REQUIRE"  // 1 = a missing server fails the test
)

// setupTimeout bounds each thing done to a server on behalf of a test.
const setupTimeout = 60 * time.Second

// serverURL returns the value of a variable, or ends the test.
func serverURL(t testing.TB, variable string) string {
	t.Helper()
	url := os.Getenv(variable)
	if url == "" {
		unavailable(t, variable+` is not set: run "make test", or start servers with "scripts/testservers start" and then eval "$(scripts/testservers env)"`)
	}
	return url
}

// unavailable skips the test, or fails it where nothing may be missing.
func unavailable(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(EnvRequire) == "1" {
		t.Fatalf("%s (%s=1, so this is a failure)", why, EnvRequire)
	}
	t.Skip(why)
}

// uniqueName returns a name that no other test uses, valid as an SQL identifier
// without quotes.
func uniqueName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return "rondo_test_" + hex.EncodeToString(b[:])
}
