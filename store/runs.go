package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Runs keeps runs, their steps, the cold tier of the step cache, flights and
// artifacts. Drivers are the SQL drivers and memory; storetest.Runs is their
// conformance suite. Every SQL driver and memory implement it beside Store.
//
// # Ownership
//
// A run is driven by one process at a time, its owner. A process is alive while
// its row of owners is: Heartbeat prolongs that one row and with it everything
// the process holds, runs and flights alike, so that holding a thousand costs as
// much as holding one. Whatever a process that is not alive held can be taken by
// another, with a higher fence; a write with an older fence is refused.
//
// # Flights
//
// A flight is the right to compute one thing: the key of a cacheable step, across
// runs and processes, or "exec:{run}:{step}:{hash}" of a step that is not cached.
// It is there while someone computes, and gone when the result has landed.
//
// # Guarantees every driver gives
//
//  1. CommitRuns is one transaction for many runs. Of each RunWrite everything is
//     durable or nothing; one that is refused (RunResult.Err) does not touch the
//     others. An error of the call itself means that nothing was written, unless
//     Ambiguous reports true.
//  2. A RunWrite whose Fence is not the run's is refused with ErrLeaseLost; a Landing
//     whose fence is not the flight's writes no cache entry (RunResult.Landed false)
//     and does not refuse the rest: the run keeps the result it computed.
//  3. Two processes never hold one flight or one run at a time.
//  4. Every read carries the tenant: an id of another tenant is not found.
//  5. Strings compare bytewise; times keep microseconds, in UTC. JSON comes back with
//     the same meaning; Data comes back byte by byte.
//  6. What a commit costs depends on what it writes, never on how many runs or
//     entries there are.
type Runs interface {
	// Heartbeat makes owner alive until at + d. Owners are random names; one that has
	// lapsed (its end is at or before at) is not revived: ErrLeaseLost, the process
	// takes a new name.
	Heartbeat(ctx context.Context, owner string, at time.Time, d time.Duration) error
	// LeaveRuns ends an owner at once; what it holds is free.
	LeaveRuns(ctx context.Context, owner string) error

	// CommitRuns writes a batch. Results are in the order of the writes.
	CommitRuns(ctx context.Context, c RunCommit) ([]RunResult, error)

	// ClaimRuns makes owner the owner of runs that are queued or running and have no
	// owner that is alive, and returns them with their new fence. Tenants take turns;
	// of one tenant the run that was created first comes first.
	ClaimRuns(ctx context.Context, owner string, at time.Time, want Claim) ([]OwnedRun, error)
	// Signals returns what others want of the runs that owner owns, oldest first.
	Signals(ctx context.Context, owner string, limit int) ([]RunSignal, error)
	// PutSignals stores signals; one whose ID is there already, or whose run is not
	// there or has ended, is left alone.
	PutSignals(ctx context.Context, signals []RunSignal) error

	// LookupCache returns what is known of keys, and of flights by their other names
	// ("exec:…"), absent ones left out. Tainted and expired entries are returned as
	// they are: deciding is the caller's.
	LookupCache(ctx context.Context, tenant string, keys []string, at time.Time) (map[string]CacheLookup, error)
	// CacheStamps returns what tells whether an entry that was read before is still
	// the one, absent keys left out. It reads no data and is cheap: it is asked before
	// every use of an entry of the hot tier.
	CacheStamps(ctx context.Context, tenant string, keys []string) (map[string]CacheStamp, error)
	// NearestEntries returns the youngest entry of each of the steps of a workflow,
	// without Data: what a manifest is compared with when there is no base. Steps
	// that have none are left out; a driver may also leave out one whose youngest
	// entry is older than the newest 20,000 of the workflow.
	NearestEntries(ctx context.Context, tenant, workflow string, steps []string) (map[string]rondo.CacheEntry, error)
	// TouchCache notes when entries were last used; it never moves that back.
	TouchCache(ctx context.Context, tenant string, used map[string]time.Time) error
	// CacheList lists entries, newest first, by (created, key).
	CacheList(ctx context.Context, filter CacheFilter, page CachePage) ([]rondo.CacheEntry, error)
	// CacheStats sums what the filter names.
	CacheStats(ctx context.Context, filter CacheFilter) (CacheStats, error)
	// EvictCache removes entries that the filter names, at most limit, oldest used
	// first, and returns how many. A live flight of an entry stays. Rows without an
	// entry whose flight is dead go as well, and so do artifacts that nothing refers
	// to any more; LooseBlobs then names their content.
	EvictCache(ctx context.Context, filter CacheFilter, at time.Time, limit int) (int, error)
	// TaintCache marks an entry bad; CodeNotFound when there is none.
	TaintCache(ctx context.Context, tenant, key, why string) (rondo.CacheEntry, error)
	// CacheUsers returns the steps whose output came from an entry, with their runs,
	// newest first: producer and users alike.
	CacheUsers(ctx context.Context, tenant, key string, page Page) ([]CacheUser, error)

	// Run returns one, or CodeNotFound. RunList lists newest first.
	Run(ctx context.Context, tenant string, id rondo.ID) (*rondo.Run, error)
	RunList(ctx context.Context, filter RunFilter, page Page) ([]rondo.Run, error)
	// RunSteps returns the attempts of a run's steps whose Seq is above after, by
	// Seq. Without data it leaves Data, Manifest and Debug out.
	RunSteps(ctx context.Context, run rondo.ID, after int64, withData bool) ([]rondo.RunStep, error)
	// RunStepData returns the attempts of one step of a run with data, by Seq. What the
	// other steps gave is not read.
	RunStepData(ctx context.Context, run rondo.ID, step string) ([]rondo.RunStep, error)
	// CountRunSteps counts the steps of runs by the status of their last attempt.
	// Pending ones are not in it.
	CountRunSteps(ctx context.Context, runs []rondo.ID) (map[rondo.ID]map[rondo.RunStepStatus]int, error)
	// StepHistory returns how long computing the steps of a workflow took and cost,
	// from the youngest entry of each, as NearestEntries.
	StepHistory(ctx context.Context, tenant, workflow string) (map[string]StepCost, error)

	// Artifact returns one, or CodeNotFound; Artifacts those with the ids that are
	// there, by id; RunArtifacts what the steps of a run have attached, made or
	// reused, by id; step "" is every step.
	Artifact(ctx context.Context, tenant string, id rondo.ID) (rondo.Artifact, error)
	Artifacts(ctx context.Context, tenant string, ids []rondo.ID) ([]rondo.Artifact, error)
	RunArtifacts(ctx context.Context, tenant string, run rondo.ID, step string) ([]rondo.Artifact, error)
	// BlobsInUse returns those of the content hashes that some artifact names.
	BlobsInUse(ctx context.Context, hashes []string) (map[string]bool, error)
	// LooseBlobs returns content of artifacts that went, with an evicted or replaced
	// entry or with a purged run, and that no artifact names now; at most limit, those
	// known for longest first. They are named until ForgetBlobs, in whatever process:
	// bytes that could not be removed yet are found again after a restart. Artifacts
	// of replaced entries go when they are met here, at most limit of them.
	LooseBlobs(ctx context.Context, at time.Time, limit int) ([]LooseBlob, error)
	ForgetBlobs(ctx context.Context, hashes []string) error

	// RaisedByRuns returns events that are not confirmed, oldest first, of runs of
	// whatever owner; ConfirmRaised forgets them.
	RaisedByRuns(ctx context.Context, limit int) ([]RunRaised, error)
	ConfirmRaised(ctx context.Context, eventIDs []string) error

	// PurgeRuns removes runs of a tenant that ended before the time, with steps and
	// with artifacts that neither another run nor the cache refers to, at most limit
	// runs; hashes are the content of artifacts that went. A run that is the base of
	// one that has not ended stays. Tenant "" is every tenant that has no retention
	// policy of its own.
	PurgeRuns(ctx context.Context, tenant string, before time.Time, limit int) (runs int, hashes []string, err error)
}

// RunCommit is a batch.
type RunCommit struct {
	Owner  string // who writes
	At     time.Time
	Writes []RunWrite // each run at most once
}

// RunWrite is everything one batch makes durable about one run.
type RunWrite struct {
	// Run replaces the stored run, or is new (Insert). Of a stored one only status,
	// error, total steps, StartedAt, CompletedAt and Seq are replaced: the rest is
	// fixed when it is inserted. Owner becomes its owner while it has not ended; an
	// ended run has none, and what was signalled to it is gone.
	Run    *rondo.Run
	Insert bool
	// Resume takes a run that has ended with this status and starts it again with a
	// higher fence: CodeWrongState when its status is another.
	Resume rondo.RunStatus
	Fence  int64 // the run's; ignored with Insert and Resume
	// Steps replace the rows with the same (step, attempt), or are new.
	Steps []rondo.RunStep
	// Takeoffs take flights. They are decided after everything else of the batch is
	// written, in order, so that a result landed in this batch is seen.
	Takeoffs []Takeoff
	// Landings end flights: with an entry, or without.
	Landings  []Landing
	Artifacts []rondo.Artifact // new
	Signals   []rondo.ID       // that were obeyed: removed
	Outbox    []rondo.Outgoing // as Write.Outbox
	// Raised are kept until they are confirmed; one whose event id is there already
	// is left alone.
	Raised []rondo.RaisedEvent
}

// Takeoff asks for a flight and names the row that says so.
type Takeoff struct {
	Name string // a key, or "exec:…"
	// Key says that Name is a key: an entry that is there and good refuses the
	// takeoff, unless Again.
	Key   bool
	Again bool
	// Step is the row of the attempt, written when the flight is taken.
	Step rondo.RunStep
	// Outbox is sent when the flight is taken.
	Outbox []rondo.Outgoing
}

// Landing ends a flight that this process holds.
type Landing struct {
	Name  string
	Fence int64
	Entry *rondo.CacheEntry // nil = nothing to keep
}

// RunResult is what became of one RunWrite.
type RunResult struct {
	Err   error // refused: nothing of it was written
	Fence int64 // the run's
	// Flights are in the order of Takeoffs, Landed in that of Landings.
	Flights []Flight
	Landed  []bool
	// Seqs are the numbers of Outbox and then of the Outbox of every takeoff that
	// was taken, as Committed.Seqs.
	Seqs []int64
}

// Flight is what a takeoff met.
type Flight struct {
	Taken bool
	Fence int64
	// TookOver: the one who held it before died.
	TookOver bool
	// Entry is why it was not taken: the result is there. Neither Taken nor Entry
	// means that another holds it.
	Entry *rondo.CacheEntry
}

// Claim says which runs to claim.
type Claim struct {
	Limit int
	// PerTenant is how many of one tenant may be claimed, those in Taken counted; 0 =
	// as many as there are.
	PerTenant int
	Taken     map[string]int // what the owner has already, by tenant
	Run       rondo.ID       // this one alone; zero = whichever
}

// Room is how many runs of a tenant may be claimed.
func (c *Claim) Room(tenant string) int {
	if c.PerTenant <= 0 {
		return c.Limit
	}
	return min(c.Limit, max(0, c.PerTenant-c.Taken[tenant]))
}

// OwnedRun is a run with the fence of its owner.
type OwnedRun struct {
	Run   rondo.Run
	Fence int64
}

// CacheLookup is what is known of one key.
type CacheLookup struct {
	Entry *rondo.CacheEntry // nil = none
	// Flying says that someone alive computes it, under this fence: a process that
	// does not know what became of its commit finds its own flight again by it.
	Flying bool
	Fence  int64
}

// CacheStamp says which result an entry is, without it.
type CacheStamp struct {
	CreatedAt  time.Time
	OutputHash string
	RunID      rondo.ID // that made it
	ExpiresAt  time.Time
	Tainted    bool
}

// LooseBlob is content that nothing names any more.
type LooseBlob struct {
	Hash  string
	Since time.Time // when LooseBlobs first met it
}

// The kinds of signal.
const (
	SignalCancel = "cancel"
	SignalResult = "result" // of a remote worker
)

// RunSignal is what someone who does not own a run wants of it.
type RunSignal struct {
	ID    rondo.ID
	RunID rondo.ID
	Kind  string
	Body  json.RawMessage // SignalResult: the envelope of the answer
	At    time.Time
}

// RunFilter narrows a list; zero fields do not filter but TenantID.
type RunFilter struct {
	TenantID string
	Workflow string
	Status   rondo.RunStatus
	Trigger  rondo.TriggerType
	Base     rondo.ID
}

// CacheFilter names entries; zero fields do not filter but TenantID, which "" is
// every tenant for.
type CacheFilter struct {
	TenantID string
	Workflow string
	Step     string
	Key      string
	Before   time.Time // last used before
	Expired  time.Time // expired at this time
}

// CachePage is a page of entries: those created before a place.
type CachePage struct {
	Before    time.Time // zero = from the newest
	BeforeKey string
	Limit     int
}

// CacheStats sums entries.
type CacheStats struct {
	Entries int64
	Bytes   int64 // of data and manifests
}

// CacheUser is a step whose output is that of an entry.
type CacheUser struct {
	RunID       rondo.ID
	Workflow    string
	Status      rondo.RunStatus // of the run
	StepID      string
	ArtifactIDs []rondo.ID
}

// StepCost is what computing a step took.
type StepCost struct {
	DurationMs int64
	Cost       float64
}

// RunRaised is an event for a case that a run raised.
type RunRaised struct {
	TenantID string
	RunID    rondo.ID
	Event    rondo.RaisedEvent
}

// HotCache is the hot tier of the step cache: fast, forgetful, never the truth.
// Drivers are store/redis and store/hot, in process. An error is a miss to its
// callers.
type HotCache interface {
	// Get returns the entries that are there.
	Get(ctx context.Context, tenant string, keys []string) (map[string]rondo.CacheEntry, error)
	// Put keeps entries, each for its time.
	Put(ctx context.Context, entries []HotEntry) error
	// Drop forgets keys.
	Drop(ctx context.Context, tenant string, keys []string) error
}

// HotEntry is an entry and how long the hot tier keeps it.
type HotEntry struct {
	Entry rondo.CacheEntry
	TTL   time.Duration
}
