package acceptance

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/testenv"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/memory"
)

// pair is one kind of store with one kind of bus.
type pair struct {
	store string // memory, sqlite, postgres, mariadb
	redis bool   // false = the embedded bus
}

func (p pair) String() string {
	if p.redis {
		return p.store + " and redis"
	}
	return p.store + " and embedded"
}

// pairs is what every scenario runs on. Memory shows at once what is wrong with
// a scenario itself.
func pairs() []pair {
	all := []pair{{store: "memory"}}
	for _, name := range []string{"sqlite", "postgres", "mariadb"} {
		all = append(all, pair{store: name}, pair{store: name, redis: true})
	}
	return all
}

// ground is an empty store and bus for one test, opened as often as replicas
// need it.
type ground struct {
	pair
	database string // URL; "" = memory
	redisURL string // "" = the embedded bus
	memory   *memory.Store
}

func newGround(t *testing.T, p pair) *ground {
	t.Helper()
	g := &ground{pair: p}
	switch p.store {
	case "memory":
		g.memory = memory.Open(memory.Options{Embedded: !p.redis})
	case "sqlite":
		g.database = "sqlite:" + filepath.Join(t.TempDir(), "rondo.db")
	case "postgres":
		g.database = testenv.Postgres(t)
	case "mariadb":
		g.database = testenv.MySQL(t)
	}
	if p.redis {
		g.redisURL = testenv.Redis(t)
	}
	return g
}

// openStore returns a handle of its own on the one database.
func (g *ground) openStore(t *testing.T) store.Store {
	t.Helper()
	if g.memory != nil {
		return g.memory
	}
	s, err := app.OpenStore(g.database, !g.redis)
	if err != nil {
		t.Fatalf("open %s: %v", g.database, err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatalf("migrate %s: %v", g.database, err)
	}
	return s
}

// openBus returns connections of its own to the one Redis; nil on the embedded bus.
func (g *ground) openBus(t *testing.T) bus.Bus {
	t.Helper()
	if !g.redis {
		return nil
	}
	b, err := app.OpenBus(g.redisURL, false, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("open %s: %v", g.redisURL, err)
	}
	return b
}

// where names the ground in failure messages.
func (g *ground) where() string {
	if g.redis {
		return g.String() + " (" + g.database + ", " + g.redisURL + ")"
	}
	return g.String() + " (" + g.database + ")"
}
