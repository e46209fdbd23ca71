package cli

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/rondo-engine/rondo/internal/app"
)

// runSettings are the settings of runs that `run`, `serve` and `dev` share.
type runSettings struct {
	AllowExec   bool     `help:"Let steps run commands on this machine, as this user." env:"RONDO_ALLOW_EXEC"`
	ExecDirs    []string `name:"exec-dir" help:"Folder that commands may run in, beside folders of their own. Repeatable." env:"RONDO_EXEC_DIRS" type:"path" placeholder:"DIR"`
	Private     []string `name:"skill-private" help:"Range of addresses that requests of steps may reach although it is not public, such as 10.1.0.0/16. Repeatable." env:"RONDO_SKILL_PRIVATE" placeholder:"CIDR"`
	PlainHTTP   bool     `name:"skill-http" help:"Let requests of steps use http, not https alone." env:"RONDO_SKILL_HTTP"`
	Ports       []int    `name:"skill-port" help:"Port that requests of steps may go to, instead of 443 (and 80 with --skill-http) alone; 0 is any. Repeatable." env:"RONDO_SKILL_PORTS" placeholder:"PORT"`
	Secrets     []string `name:"skill-secret" help:"Variable that requests of steps may send, and the host that may have it; * is any host. Repeatable." env:"RONDO_SKILL_SECRETS" placeholder:"NAME=HOST"`
	Skills      string   `help:"File of skills, prompts and configs that workflows may use beside their own." env:"RONDO_SKILLS" type:"existingfile" placeholder:"FILE"`
	Blobs       string   `help:"Where the bytes of artifacts are: file:DIR or s3://BUCKET/PREFIX?endpoint=…. Default: blobs in the data folder." env:"RONDO_BLOBS" placeholder:"URL"`
	RunSlots    int      `help:"Steps at work at once." default:"10" env:"RUN_SLOTS" placeholder:"N"`
	TenantSlots int      `name:"run-tenant-slots" help:"Of them, for one organisation; 0 = all." default:"0" env:"RUN_TENANT_SLOTS" placeholder:"N"`
	RunMax      int      `help:"Runs driven at once; more stay queued." default:"1000" env:"RUN_MAX" placeholder:"N"`
	TenantMax   int      `name:"run-tenant-max" help:"Of them, for one organisation; 0 = half." default:"0" env:"RUN_TENANT_MAX" placeholder:"N"`

	RunLease      time.Duration `help:"After how long a silence of this process others take its runs over." default:"15s" env:"RUN_LEASE"`
	RunRetention  time.Duration `help:"How long ended runs are kept; 0 = for ever." default:"0" env:"RUN_RETENTION"`
	CacheMaxAge   time.Duration `help:"After how long a result that nobody used is forgotten; 0 = never." default:"0" env:"RUN_CACHE_MAX_AGE"`
	CacheMaxBytes int64         `help:"Bytes of results above which those used longest ago are forgotten; 0 = no bound." default:"0" env:"RUN_CACHE_MAX_BYTES" placeholder:"N"`
}

// Validate refuses what cannot work.
func (c runSettings) Validate() error {
	return firstWrong(
		rule{c.RunSlots >= 1 && c.RunSlots <= 10_000, "--run-slots must be 1 to 10000"},
		rule{!slices.ContainsFunc(c.Ports, func(port int) bool { return port < 0 || port > 65535 }), "--skill-port must be 0 to 65535"},
		rule{c.TenantSlots >= 0, "--run-tenant-slots must be 0 or more"},
		rule{c.RunMax >= 1 && c.RunMax <= 100_000, "--run-max must be 1 to 100000"},
		rule{c.TenantMax >= 0, "--run-tenant-max must be 0 or more"},
		rule{c.RunLease >= 100*time.Millisecond, "--run-lease must be at least 100ms"},
		rule{c.RunRetention >= 0, "--run-retention must be 0 or more"},
		rule{c.CacheMaxAge >= 0, "--cache-max-age must be 0 or more"},
		rule{c.CacheMaxBytes >= 0, "--cache-max-bytes must be 0 or more"},
	)
}

// options are the settings as the server takes them; data is the data folder,
// model the one of llm skills that name none.
func (c runSettings) options(data string, model app.OpenAIOptions) app.RunOptions {
	blobs := c.Blobs
	if blobs == "" {
		blobs = "file:" + filepath.Join(data, "blobs")
	}
	return app.RunOptions{
		Allow:  app.SkillOptions{AllowExec: c.AllowExec, ExecDirs: c.ExecDirs, Private: c.Private, PlainHTTP: c.PlainHTTP, Ports: c.Ports, Secrets: c.Secrets, Model: model},
		Skills: c.Skills, Blobs: blobs, Slots: c.RunSlots, TenantSlots: c.TenantSlots, MaxRuns: c.RunMax, TenantRuns: c.TenantMax, Lease: c.RunLease,
		Retention: c.RunRetention, CacheMaxAge: c.CacheMaxAge, CacheMaxBytes: c.CacheMaxBytes,
	}
}
