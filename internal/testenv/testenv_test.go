package testenv_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/rondo-engine/rondo/internal/testenv"
)

func TestPostgresGivesEachTestAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, u := range []string{testenv.Postgres(t), testenv.Postgres(t)} {
		conn, err := pgx.Connect(ctx, u)
		if err != nil {
			t.Fatal(err)
		}
		// The connection stays open: the database is dropped all the same.
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if _, err := conn.Exec(ctx, "CREATE TABLE mine (n int)"); err != nil {
			t.Errorf("the second database is not fresh: %v", err)
		}
	}
}

func TestPostgresDropsTheDatabaseAfterTheTest(t *testing.T) {
	t.Parallel()
	var dropped string
	t.Run("user", func(t *testing.T) { dropped = testenv.Postgres(t) })
	if dropped == "" {
		t.Skip("no PostgreSQL")
	}
	if conn, err := pgx.Connect(t.Context(), dropped); err == nil {
		_ = conn.Close(t.Context())
		t.Errorf("%s still exists", dropped)
	}
}

func TestMySQLGivesEachTestAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{testenv.MySQL(t), testenv.MySQL(t)} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE mine (n int)"); err != nil {
			t.Errorf("the second database is not fresh: %v", err)
		}
	}
}

func TestRedisGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, u := range []string{testenv.Redis(t), testenv.Redis(t)} {
		client := connect(t, u)
		if free, err := client.SetNX(ctx, "mine", 1, 0).Result(); err != nil || !free {
			t.Errorf("SetNX on %s = %v, %v; want a fresh database", u, free, err)
		}
	}
}

func TestStartRedisLosesOrKeepsDataOverAKill(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options testenv.RedisOptions
		want    int64
	}{
		{"nothing on disk", testenv.RedisOptions{}, 0},
		{"append only", testenv.RedisOptions{AppendOnly: true}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := testenv.StartRedis(t, test.options)
			if err := connect(t, server.URL()).Set(t.Context(), "key", 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
			server.Kill()
			server.Restart()
			got, err := connect(t, server.URL()).Exists(t.Context(), "key").Result()
			if err != nil || got != test.want {
				t.Errorf("after kill and restart %d keys, %v; want %d", got, err, test.want)
			}
		})
	}
}

func TestAProcessIsGoneAfterKill(t *testing.T) {
	t.Parallel()
	p := testenv.Start(t, exec.Command("sleep", "600"))
	if !p.Running() {
		t.Fatal("not running after Start")
	}
	p.Kill()
	if p.Running() {
		t.Error("still running after Kill")
	}
	if err := p.Wait(); err == nil {
		t.Error("a killed process reports success")
	}
}

func TestAMissingServerSkipsUnlessItIsRequired(t *testing.T) {
	if os.Getenv("RONDO_TESTENV_CHILD") == "1" {
		testenv.Postgres(t)
		return
	}
	tests := []struct {
		name    string
		require string
		want    string
	}{
		{"skips", "", "--- SKIP"},
		{"fails when required", "1", "--- FAIL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.v")
			cmd.Env = append(os.Environ(), "RONDO_TESTENV_CHILD=1", testenv.EnvPostgres+"=", testenv.EnvRequire+"="+test.require)
			output, _ := cmd.CombinedOutput() // the exit code follows from the output
			for _, want := range []string{test.want, "make test"} {
				if !strings.Contains(string(output), want) {
					t.Errorf("the output lacks %q:\n%s", want, output)
				}
			}
		})
	}
}

func connect(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
