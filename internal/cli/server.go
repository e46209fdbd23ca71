package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/rondo-engine/rondo/internal/app"
	"github.com/rondo-engine/rondo/internal/auth"
)

// database says where state lives.
type database struct {
	Data     string `help:"Folder of the embedded database, artifacts and plans. Default: ./rondo-data." default:"./rondo-data" env:"RONDO_DATA" type:"path" placeholder:"DIR"`
	Database string `name:"database" aliases:"store" help:"Database URL: sqlite:PATH, postgres://…, mysql://… or mariadb://…. Default: SQLite in the data folder." env:"DATABASE_URL" placeholder:"URL"`
}

// url is the database in effect.
func (d database) url() string {
	if d.Database != "" {
		return d.Database
	}
	return "sqlite:" + filepath.Join(d.Data, "rondo.db")
}

// storage says where state and events live.
type storage struct {
	database
	Redis string `help:"Redis URL (redis:// or rediss://) for the event bus and for conversations. Default: both are in the database." env:"REDIS_URL" placeholder:"URL"`
}

type devCommand struct {
	Listen string `help:"Address to listen on. Default: 127.0.0.1:3006." default:"127.0.0.1:3006" env:"RONDO_LISTEN" placeholder:"ADDR"`
	storage
	chatSettings
	runSettings
	Every time.Duration `help:"About how often a demo case starts; 0 = never." default:"1500ms"`
}

// Validate refuses what cannot work.
func (c devCommand) Validate() error {
	return errors.Join(c.chatSettings.Validate(), c.runSettings.Validate())
}

// Run serves until interrupted. The local user needs no token.
func (c devCommand) Run(ctx context.Context, s streams) error {
	return app.Dev(ctx, app.DevOptions{
		Options: app.Options{
			Listen: c.Listen, Database: c.url(), Redis: c.Redis, Migrate: true,
			Auth: auth.Config{Off: true}, Chat: c.chatSettings.options(), Runs: c.runSettings.options(c.Data, c.openAISettings.options()), Log: logger(s.err, slog.LevelWarn, false), Version: version(),
		},
		Every: c.Every, Out: s.out, Colours: isTerminal(s.out),
	})
}

type serveCommand struct {
	Listen string `help:"Address to listen on. Default: :3006, every interface." default:":3006" env:"RONDO_LISTEN" placeholder:"ADDR"`
	storage
	Migrate bool `help:"Bring the database schema up to date before serving." env:"RONDO_MIGRATE"`

	AuthRequired  bool     `help:"Ask for bearer tokens. Off gives every caller the local user, and is refused on addresses other machines can reach." default:"true" negatable:"" env:"AUTH_REQUIRED"`
	AllowInsecure bool     `help:"Permit --no-auth-required on any address." env:"RONDO_ALLOW_INSECURE"`
	Issuer        string   `help:"Issuer of accepted tokens." env:"OIDC_ISSUER" placeholder:"URL"`
	Audience      []string `help:"Accepted audiences." env:"OIDC_AUDIENCE" placeholder:"NAME"`
	JWKSURL       string   `name:"jwks-url" help:"Where the issuer's keys are. Default: found through the issuer." env:"OIDC_JWKS_URL" placeholder:"URL"`
	Tenants       []string `name:"allowed-tenants" help:"Organisations that may use this server; none given = nobody." env:"ALLOWED_TENANT_IDS" placeholder:"ORG"`

	chatSettings
	runSettings

	NoTenantLabels bool          `help:"Leave organisation and product out of metric labels." env:"RONDO_NO_TENANT_LABELS"`
	AllowEviction  bool          `help:"Accept a Redis that may evict keys." env:"RONDO_ALLOW_EVICTION"`
	StreamCap      int64         `help:"How many entries a stream may have in Redis; above, events for it wait in the database. 0 = no cap." default:"1000000" env:"RONDO_STREAM_CAP" placeholder:"N"`
	ParkedFor      time.Duration `help:"How long an event waits for its case to begin." default:"720h" env:"RONDO_PARKED_FOR"`
	Drain          time.Duration `help:"How long a stop may take to finish what is under way." default:"20s" env:"RONDO_DRAIN"`
	LogLevel       slog.Level    `help:"debug, info, warn or error." default:"info" env:"RONDO_LOG_LEVEL"`
}

// Validate refuses what cannot work.
func (c serveCommand) Validate() error {
	return errors.Join(c.chatSettings.Validate(), c.runSettings.Validate())
}

// Run serves until interrupted, then drains.
func (c serveCommand) Run(ctx context.Context, s streams) error {
	streamCap := c.StreamCap
	if streamCap == 0 {
		streamCap = -1
	}
	return app.Serve(ctx, app.Options{
		Listen: c.Listen, Database: c.url(), Redis: c.Redis, Migrate: c.Migrate, AllowEviction: c.AllowEviction, StreamCap: streamCap, ParkedFor: c.ParkedFor,
		Auth: auth.Config{
			Off: !c.AuthRequired, AllowInsecure: c.AllowInsecure, Issuer: c.Issuer, Audience: c.Audience,
			JWKSURL: c.JWKSURL, Tenants: c.Tenants,
		},
		Chat: c.chatSettings.options(), Runs: c.runSettings.options(c.Data, c.openAISettings.options()), NoTenantLabels: c.NoTenantLabels, Drain: c.Drain, Log: logger(s.err, c.LogLevel, true), Version: version(),
	})
}

type migrateCommand struct {
	database
}

// Run migrates and says so.
func (c migrateCommand) Run(ctx context.Context, s streams) error {
	return app.Migrate(ctx, c.url(), s.out)
}

// logger writes JSON lines for machines and plain ones for people.
func logger(w interface{ Write([]byte) (int, error) }, level slog.Level, machine bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if machine {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && !strings.EqualFold(os.Getenv("TERM"), "dumb") && os.Getenv("NO_COLOR") == ""
}
