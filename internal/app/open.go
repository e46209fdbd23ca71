// Package app is the composition root: the one place that knows every driver. It
// opens what URLs name, wires engine and edges together, and runs them until
// told to stop.
package app

import (
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/bus"
	"github.com/rondo-engine/rondo/bus/redis"
	"github.com/rondo-engine/rondo/store"
	"github.com/rondo-engine/rondo/store/mysql"
	"github.com/rondo-engine/rondo/store/postgres"
	"github.com/rondo-engine/rondo/store/sqlite"
)

// OpenStore opens the database that a URL names; embedded says that events
// travel on its own commits instead of an external bus.
func OpenStore(address string, embedded bool) (store.Store, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		path, opts, err := sqliteFile(rest)
		if err != nil {
			return nil, err
		}
		opts.Embedded = embedded
		if dir := filepath.Dir(path); dir != "" {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, &rondo.Error{Code: rondo.CodeUnavailable, Op: "open database", Message: err.Error(), Hint: "choose a folder you may write to with --data"}
			}
		}
		return opened(sqlite.Open(path, opts))
	case "postgres", "postgresql":
		return opened(postgres.Open(address, postgres.Options{Embedded: embedded}))
	case "mysql", "mariadb":
		return opened(mysql.Open(address, mysql.Options{Embedded: embedded}))
	default:
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open database", Message: "the database URL has an unknown scheme",
			Hint: "use sqlite:PATH, postgres://user:password@host:port/database or mysql://user:password@host:port/database",
		}
	}
}

// opened keeps a driver's nil from becoming an interface that is not nil.
func opened[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sqliteFile reads PATH?synchronous=full|normal, the rest of a sqlite URL.
func sqliteFile(rest string) (path string, opts sqlite.Options, err error) {
	invalid := func(message string) error {
		return &rondo.Error{
			Code: rondo.CodeInvalid, Op: "open database", Message: message,
			Hint: "write it as sqlite:PATH or sqlite:PATH?synchronous=normal",
		}
	}
	path, query, _ := strings.Cut(rest, "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return "", opts, invalid("the parameters of the database URL cannot be read: " + err.Error())
	}
	if level := params.Get("synchronous"); params.Has("synchronous") {
		opts.Synchronous = sqlite.Synchronous(strings.ToUpper(level))
		if opts.Synchronous != sqlite.Full && opts.Synchronous != sqlite.Normal {
			return "", opts, invalid("synchronous is " + strconv.Quote(level) + " in the database URL: it must be full or normal")
		}
		delete(params, "synchronous")
	}
	if len(params) > 0 {
		return "", opts, invalid("unknown parameters in the database URL: " + strings.Join(slices.Sorted(maps.Keys(params)), ", "))
	}
	return path, opts, nil
}

// OpenBus opens the Redis that a URL names. lost is told of streams whose
// entries have vanished; nil = nobody needs to know.
func OpenBus(address string, allowEviction bool, lost func(stream string), log *slog.Logger) (bus.Bus, error) {
	redis.LogTo(log)
	b, err := redis.New(address, redis.Options{AllowEviction: allowEviction, OnLost: lost, Log: log})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// masked is a URL without its password, for people to read.
func masked(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	return u.Redacted()
}
