package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/store"
)

// Migration is one numbered change of the schema. Every statement can run again:
// MariaDB commits each by itself, so a crash may leave a migration half done.
type Migration struct {
	Version    int
	Name       string
	Statements []string
}

// LoadMigrations reads files named 0001_what.sql in the root of files. A
// statement ends with a semicolon at the end of a line.
//
// This is not a migration library because each of them wants its own connections
// and its own lock, and SQLite here has one writer that excludes other processes
// for the whole run.
func LoadMigrations(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var migrations []Migration
	for i, name := range names {
		number, what, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s must be numbered %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		m := Migration{Version: version, Name: what}
		for statement := range strings.SplitSeq(string(text), ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				m.Statements = append(m.Statements, statement)
			}
		}
		migrations = append(migrations, m)
	}
	return migrations, nil
}

// Migrate implements store.System.
func (c *Cold) Migrate(ctx context.Context) error {
	err := c.run.MigrationLock(ctx, func(q Querier) error {
		s := session{q, c.dialect}
		if _, err := s.exec(ctx, "CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)"); err != nil {
			return err
		}
		current, err := schemaVersion(ctx, s)
		if err != nil {
			return err
		}
		for _, m := range c.dialect.Migrations {
			if m.Version <= current {
				continue
			}
			for _, statement := range m.Statements {
				if _, err := q.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("migration %04d_%s: %w", m.Version, m.Name, err)
				}
			}
			if err := s.insert(ctx, "schema_migrations", "version, applied_at", int64(m.Version), time.Now().UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
	return c.wrap("migrate", err)
}

func schemaVersion(ctx context.Context, s session) (int, error) {
	version := 0
	err := s.each(ctx, func(values []any) error {
		r := reader{values: values}
		version = int(r.int())
		return r.err
	}, "SELECT MAX(version) FROM schema_migrations")
	return version, err
}

// Check implements store.System.
func (c *Cold) Check(ctx context.Context) error {
	s := c.reader()
	if err := s.each(ctx, func([]any) error { return nil }, "SELECT 1"); err != nil {
		return c.wrap("check", err)
	}
	newest := len(c.dialect.Migrations)
	version, err := schemaVersion(ctx, s)
	if err == nil && version == newest {
		return nil
	}
	message := fmt.Sprintf("the schema is at version %d and this program needs %d", version, newest)
	hint := "run rondo migrate"
	if version > newest {
		hint = "run the newer program that migrated this database"
	}
	return &rondo.Error{Code: rondo.CodeUnavailable, Op: c.dialect.Name + ": check", Message: message, Hint: hint, Err: errors.Join(store.ErrSchema, err)}
}

// Launched implements store.System.
func (c *Cold) Launched(ctx context.Context, now time.Time) (time.Time, error) {
	read := func(s session) (time.Time, error) {
		var launched time.Time
		err := s.each(ctx, func(values []any) error {
			r := reader{values: values}
			launched = r.time()
			return r.err
		}, "SELECT value FROM meta WHERE name = 'launched_at'")
		return launched, err
	}
	launched, err := read(c.reader())
	if err != nil || !launched.IsZero() {
		return launched, c.wrap("read launch time", err)
	}
	err = c.write(ctx, "store launch time", func(s session) error {
		if _, err := s.exec(ctx, "INSERT INTO meta (name, value) VALUES ('launched_at', ?) "+c.dialect.ignore("name"), now.UnixMicro()); err != nil {
			return err
		}
		launched, err = read(s)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return launched, nil
}
