package runs

import (
	"context"
	"log/slog"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
	"github.com/rondo-engine/rondo/internal/plan"
	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/store"
)

// Definitions finds workflows.
type Definitions interface {
	// Named returns an active workflow, of the highest active version when version
	// is "", or CodeWorkflowNotFound.
	Named(ctx context.Context, tenant, name, version string) (*plan.Workflow, error)
	// Frozen returns the workflow that a run was started with.
	Frozen(ctx context.Context, tenant, hash string) (*plan.Workflow, error)
	// List returns the active workflows, by name and then from the highest version.
	List(ctx context.Context, tenant string) ([]*plan.Workflow, error)
}

// Skills makes what does the work of steps, by what is declared: every type but
// remote, which the service does itself. It is asked at every attempt and should
// answer from memory.
type Skills interface {
	Skill(name string, spec plan.SkillSpec) (skill.Skill, error)
}

// Relay gives an event that a run raised to the case it is for. It returns nil
// once the event is durable there; giving it again changes nothing.
type Relay interface {
	Raise(ctx context.Context, org string, e rondo.RaisedEvent) error
}

// Observer is told what happened, for metrics. Its methods must return at once.
type Observer interface {
	// RunEnded: took is from its start to its end.
	RunEnded(workflow string, status rondo.RunStatus, took time.Duration)
	// StepEnded: an attempt ended or a step was reused; reason tells from which tier.
	StepEnded(workflow string, status rondo.RunStepStatus, reason rondo.ReasonWord, took time.Duration)
	// Committed: a batch was written, or refused by the store.
	Committed(runs, steps int, took time.Duration, err error)
	// Load is what one shard has in hand: runs that are driven, steps that work,
	// steps that wait for a slot and steps that wait for another's result.
	Load(shard, runs, working, queued, waiting int)
}

// Config is what a Service is made of. Store, Definitions and Skills are needed;
// the zero value of everything else works.
type Config struct {
	Store       store.Runs
	Definitions Definitions
	Skills      Skills

	Environment plan.Environment // what the server knows beside the files; default: nothing
	Blobs       blob.Store       // default: none, steps that make artifacts of bytes fail
	Hot         store.HotCache   // default: none, every lookup goes to the store
	Relay       Relay            // default: none, what runs raise stays pending
	Observer    Observer         // default: nobody
	Log         *slog.Logger     // default: slog.Default()
	Now         func() time.Time // default: time.Now
	IDs         *rondo.IDs       // default: ids of Now and the system's randomness

	Slots       int   // steps at work at once in this process; default 10
	TenantSlots int   // of one tenant; default Slots
	Shards      int   // loops that share the runs; default 1
	MaxRuns     int   // runs driven at once, more stay queued in the store; default 1000
	TenantRuns  int   // of one tenant; default half of MaxRuns
	MaxRunBytes int64 // of results in memory, above which no more runs are taken; default 256 MiB

	OwnerLease     time.Duration // after so long a silence others take over, renewed at a third of it; default 15s
	Poll           time.Duration // between looks for free runs, signals and results of others; default 250ms
	DefaultTimeout time.Duration // of an attempt whose step says none; default 5m
	Grace          time.Duration // for a skill that goes on after its end was asked for; default 5s
	Limits         skill.Limits  // of what skills answer

	// Keeping. Zero keeps for ever.
	CacheMaxAge   time.Duration   // entries unused for so long are evicted
	CacheMaxBytes int64           // entries unused for longest are evicted above it
	RunRetention  time.Duration   // ended runs of tenants without a policy of their own
	Retention     store.Retention // policies by tenant; default: none
	SweepEvery    time.Duration   // between looks for what need not be kept; default 1m
}

// withDefaults fills in what was left out and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Definitions == nil || c.Skills == nil {
		return c, &rondo.Error{Code: rondo.CodeInvalid, Op: "runs.New", Message: "Store, Definitions and Skills are needed"}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.IDs == nil {
		c.IDs = rondo.NewIDs(c.Now)
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	for _, d := range []struct {
		value    *time.Duration
		name     string
		fallback time.Duration
	}{
		{&c.OwnerLease, "OwnerLease", 15 * time.Second},
		{&c.Poll, "Poll", 250 * time.Millisecond},
		{&c.DefaultTimeout, "DefaultTimeout", 5 * time.Minute},
		{&c.Grace, "Grace", 5 * time.Second},
		{&c.SweepEvery, "SweepEvery", time.Minute},
		{&c.CacheMaxAge, "CacheMaxAge", 0},
		{&c.RunRetention, "RunRetention", 0},
	} {
		if *d.value < 0 {
			return c, &rondo.Error{Code: rondo.CodeInvalid, Op: "runs.New", Message: d.name + " is negative", Hint: "leave it out for the default"}
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	if c.Slots <= 0 {
		c.Slots = 10
	}
	if c.TenantSlots <= 0 || c.TenantSlots > c.Slots {
		c.TenantSlots = c.Slots
	}
	if c.Shards <= 0 {
		c.Shards = 1
	}
	if c.MaxRuns <= 0 {
		c.MaxRuns = 1000
	}
	if c.TenantRuns <= 0 || c.TenantRuns > c.MaxRuns {
		c.TenantRuns = (c.MaxRuns + 1) / 2
	}
	if c.MaxRunBytes <= 0 {
		c.MaxRunBytes = 256 << 20
	}
	if c.Limits.Output <= 0 {
		c.Limits.Output = skill.DefaultOutput
	}
	if c.Limits.Artifact <= 0 {
		c.Limits.Artifact = skill.DefaultArtifact
	}
	return c, nil
}

// unobserved is an Observer that looks away.
type unobserved struct{}

func (unobserved) RunEnded(string, rondo.RunStatus, time.Duration)                        {}
func (unobserved) StepEnded(string, rondo.RunStepStatus, rondo.ReasonWord, time.Duration) {}
func (unobserved) Committed(int, int, time.Duration, error)                               {}
func (unobserved) Load(int, int, int, int, int)                                           {}
