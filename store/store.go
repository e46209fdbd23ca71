// Package store is the port to the database: the one place where state becomes
// durable. Drivers are memory (the executable specification), sqlite, postgres
// and mysql; package storetest holds the one conformance suite for all.
//
// # Guarantees every driver gives
//
//  1. Update is atomic: all of a Write is durable when it returns nil, none of
//     it when it returns an error, except that an error for which Ambiguous
//     reports true may have committed (the connection died while committing).
//  2. Updates of one case are serial, across goroutines, processes and hosts,
//     also while the case has no instance. Locks are taken on case rows in
//     ascending order (org, then case, bytewise), then everything else.
//  3. What the data model forbids is refused by the database itself, not only by
//     code: a second ledger row for (org, event id), a second row for
//     (instance, step, attempt), a second non-cancelled instance of a case, a
//     second result for (job, instance), a second active definition for (org,
//     product) of cases, (org, name) of conversations, (org, name, semver) of runs.
//  4. Strings compare bytewise; times keep microseconds, in UTC; an empty string
//     is a value and not NULL.
//  5. Every read and write carries the org: an id of another org is not found.
//  6. Lists are ordered by id, so "newest first" is descending and "oldest
//     first" ascending id: ids are UUIDv7. A page cursor is the id of the last
//     row seen, and rows that arrive meanwhile never shift a page. Strings used
//     as an order (streams, codes, names) sort bytewise.
//  7. JSON comes back with the same meaning, number by number as it was
//     written. Envelopes, snapshots and dead letters come back byte by byte.
//  8. What the data model forbids fails with a *rondo.Error of CodeConflict.
package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
)

// Store is everything a driver offers.
type Store interface {
	Cases
	Timers
	Outbox
	Log
	Ledger
	Definitions
	Catalogue
	Jobs
	Retention
	Answers
	System
}

// Cases is the write path of cases.
type Cases interface {
	// Update runs one batch as one transaction: it locks and loads what load
	// names, calls decide, writes what decide returns and commits. decide must be
	// pure: a driver may call it again with fresh state after a conflict. A nil
	// Write, or an error from decide, writes nothing. The returned Committed
	// describes the Write that became durable.
	Update(ctx context.Context, load Load, decide Decide) (Committed, error)
}

// Decide turns what was loaded into what must be written.
type Decide func(*Loaded) (*Write, error)

// Load names what a batch needs.
type Load struct {
	Cases  []rondo.CaseKey // locked for the transaction; duplicates are allowed
	Events []rondo.EventKey
	Starts []StartKey
}

// StartKey asks for the definition that a new case of a product would start.
type StartKey struct {
	OrgID     string
	ProductID string
}

// Loaded is the state of a batch. decide may read it and must not change it.
type Loaded struct {
	// Cases has an entry for every case asked for.
	Cases map[rondo.CaseKey]CaseState
	// Seen has the ledger row of every event asked for that is already there.
	Seen map[rondo.EventKey]SeenEvent
	// Active has the active case definition for every start asked for: that of
	// (org, product), else that of (org, every product); absent when neither is.
	Active map[StartKey]ActiveDefinition
}

// CaseState is what is stored about one case.
type CaseState struct {
	Instance *rondo.Instance     // the non-cancelled instance, else the one with the highest id; nil = none ever
	Parked   []rondo.EventRecord // outcome parked, oldest first
}

// SeenEvent is the part of a ledger row that decides what a repeat means.
type SeenEvent struct {
	CaseID  string
	Outcome rondo.Outcome
}

// ActiveDefinition is what starting an instance needs of a definition.
type ActiveDefinition struct {
	DefinitionID rondo.ID
	SnapshotHash string
}

// Write is everything one batch makes durable. Replaced instances are written
// before new ones, so that one Write can cancel a case's instance and start
// another; Events before Rejudged and Duplicates, which may name rows of the
// same Write. Rejudged and Duplicates of rows that are not there are a defect of
// the caller; a driver may refuse or ignore them.
type Write struct {
	Instances     []InstanceWrite // each instance at most once
	Steps         []rondo.Step
	Events        []rondo.EventRecord // new ledger rows
	Rejudged      []rondo.EventRecord // rows whose outcome, instance, processed, verdict and error change, in order; nothing else of them does
	Duplicates    []rondo.EventKey    // rows whose duplicates count rises, once per mention
	Outbox        []rondo.Outgoing    // Seq is assigned by the driver
	Interventions []rondo.Intervention
	DeadLetters   []rondo.DeadLetter // Status "" is stored as open
	Attributes    []rondo.Attribute  // each (instance, path) at most once; replaces what the path held
	// JobResults are inserted: a second one for (job, instance) refuses the whole
	// Write with CodeConflict, so a job acts on an instance once.
	JobResults []rondo.JobResult

	// Lazy work that rides along with a commit that happens anyway.
	Sent []int64      // outbox rows that were published: removed
	Acks []GroupState // positions of embedded consumer groups
}

// InstanceWrite inserts an instance (Previous 0) or replaces the one whose
// version is Previous; a different stored version is a conflict and fails the
// whole Write with ErrConflict (or makes the driver decide again).
type InstanceWrite struct {
	Instance *rondo.Instance
	Previous int64
}

// Committed is what the driver assigned. It has one Seq per Write.Outbox entry,
// in the same order; 0 for a relayed event that went nowhere because the store
// is embedded and no group listens to its stream.
type Committed struct {
	Seqs []int64
}

// ErrConflict says that another writer changed an instance in between.
var ErrConflict = errors.New("store: instance changed meanwhile")

// ErrAmbiguous marks errors of commits that may have happened.
var ErrAmbiguous = errors.New("store: the commit may or may not have happened")

// ErrSchema marks the error of Check when the database can be used but its schema
// is not the one this program needs.
var ErrSchema = errors.New("store: the schema is not current")

// Timers finds instances whose WakeAt has come.
type Timers interface {
	// ClaimDue returns cases with WakeAt ≤ now, earliest first, at most limit,
	// and moves their stored WakeAt to now+lease so that no other poller gets
	// them meanwhile; if the claimer dies they come again then. It changes no
	// version. Two pollers never get the same case.
	ClaimDue(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]rondo.CaseKey, error)
	// NextWake returns the earliest stored WakeAt; zero = none.
	NextWake(ctx context.Context) (time.Time, error)
	// Unarmed returns cases whose instance is running, or halted before its
	// deadline, and has no WakeAt: nothing would ever wake them. There are none
	// unless something outside Rondo changed the database.
	Unarmed(ctx context.Context, limit int) ([]rondo.CaseKey, error)
	// ParkedAlone returns cases that have no instance at all and an event that was
	// received at or before the time and is still parked, by org and case, at most
	// limit.
	ParkedAlone(ctx context.Context, received time.Time, limit int) ([]rondo.CaseKey, error)
}

// Outbox holds events for an external bus until they are published. A store
// opened for the embedded bus writes Write.Outbox to its Log instead.
type Outbox interface {
	// ClaimUnsent returns rows in Seq order that no one claimed, or whose claim
	// ended at or before now, created at or before olderThan, at most limit, and
	// claims them until now+lease. Rows of streams that which leaves out are as if
	// they were not there.
	ClaimUnsent(ctx context.Context, now, olderThan time.Time, lease time.Duration, limit int, which Streams) ([]rondo.Outgoing, error)
	// MarkSent removes published rows. Rows that are gone already are fine.
	MarkSent(ctx context.Context, seqs []int64) error
	// Backlog counts unsent rows, claimed or not, and tells when the oldest was
	// created; zero = there is none.
	Backlog(ctx context.Context) (count int, oldest time.Time, err error)
}

// Streams chooses streams by name: all but Names or, with Only, just Names. The
// zero value is every stream.
type Streams struct {
	Only  bool
	Names []string
}

// Has reports whether a stream is among the chosen.
func (s Streams) Has(stream string) bool { return slices.Contains(s.Names, stream) == s.Only }

// Log is the embedded bus's own storage: entries numbered 1, 2, 3 … without
// gaps in commit order across all streams (the driver serialises numbering
// until commit), and the positions of consumer groups. A relayed event
// (rondo.Outgoing.Relayed) is logged only while some group is registered on its
// stream; every other event always is.
type Log interface {
	// LogJoin registers a group on streams, at position 0. Known pairs stay as
	// they are. When a stream gets its first group, the ledger's events of that
	// type were not copied to the log because nobody listened: they are now,
	// oldest first, as relayed entries created when they were received.
	LogJoin(ctx context.Context, group string, streams []string) error
	// LogLease makes owner the reader of the group until now+ttl when it is free,
	// expired (its end is at or before now) or already the owner's; the fence
	// rises whenever the owner changes.
	LogLease(ctx context.Context, group, owner string, now time.Time, ttl time.Duration) (fence int64, ok bool, err error)
	// LogRelease gives the lease back, when it is still owner's.
	LogRelease(ctx context.Context, group, owner string) error
	// LogGroup returns the stored positions of a group, by stream, each with the
	// fence of the group's newest lease.
	LogGroup(ctx context.Context, group string) ([]GroupState, error)
	// LogRead returns entries of the streams with Seq > after, by Seq, at most limit.
	LogRead(ctx context.Context, streams []string, after int64, limit int) ([]rondo.Outgoing, error)
	// LogHead returns the highest committed Seq, also when it was trimmed.
	LogHead(ctx context.Context) (int64, error)
	// LogAck stores positions. A state whose Fence is lower than the group's, or
	// whose group never joined its stream, is ignored; so is one that is behind the
	// stored one (a lower Cursor, or the same with fewer Acked): it comes late.
	LogAck(ctx context.Context, states []GroupState) error
	// LogTrim removes entries created before the time that every group on their
	// stream has acked (a stream without groups has nobody to wait for), and
	// returns how many. It may leave old entries that came after many younger ones
	// to a later call. What it removed before an error stays removed and counts.
	LogTrim(ctx context.Context, before time.Time) (int64, error)
	// LogLag counts, for every group and stream that it joined, the entries that it
	// has not acked, by group and stream. It looks at the newest limit entries only,
	// so that a group which nobody reads does not make counting slow: a count may be
	// too low, never too high.
	LogLag(ctx context.Context, limit int) ([]GroupLag, error)
	// LogRetire makes a group leave all its streams, so that it holds back no
	// trimming. Relayed entries of a stream that has no group then go too: whoever
	// joins it next finds them in the ledger. A group whose lease ends after now is
	// CodeWrongState; one that is on no stream is CodeNotFound.
	LogRetire(ctx context.Context, group string, now time.Time) error
}

// GroupLag is how many entries of a stream a group has not acked.
type GroupLag struct {
	Group   string
	Stream  string
	Entries int64
}

// GroupState is how far a group has come on one stream: everything up to Cursor
// is acked, and so are the Acked entries above it.
type GroupState struct {
	Group  string
	Stream string
	Cursor int64
	Acked  []int64 // ascending, all > Cursor
	Fence  int64
}

// Ledger is what the API reads about cases. Every call is bound to one org.
type Ledger interface {
	// Instance returns one, or CodeNotFound.
	Instance(ctx context.Context, org string, id rondo.ID) (*rondo.Instance, error)
	// Instances lists newest first.
	Instances(ctx context.Context, filter InstanceFilter, page Page) ([]*rondo.Instance, error)
	// Steps returns the finished attempts of an instance by Seq; none for an
	// instance that is not there, as every list.
	Steps(ctx context.Context, org string, instance rondo.ID) ([]rondo.Step, error)
	// StepsOf returns the finished attempts of many instances, each by Seq.
	StepsOf(ctx context.Context, org string, instances []rondo.ID) (map[rondo.ID][]rondo.Step, error)
	// Attributes returns the searchable values of an instance, by path.
	Attributes(ctx context.Context, org string, instance rondo.ID) ([]rondo.Attribute, error)
	// Events returns the ledger rows of an instance, oldest first, by row id.
	Events(ctx context.Context, org string, instance rondo.ID, page Page) ([]rondo.EventRecord, error)
	// Event returns one row by event id, or CodeNotFound.
	Event(ctx context.Context, org string, eventID rondo.ID) (*rondo.EventRecord, error)
	// Interventions returns what people did to an instance, oldest first.
	Interventions(ctx context.Context, org string, instance rondo.ID) ([]rondo.Intervention, error)
	// EventList lists ledger rows newest first, by row id.
	EventList(ctx context.Context, filter EventFilter, page Page) ([]rondo.EventRecord, error)
	// DeadLetters lists newest first. OrgID "" lists those of every org.
	DeadLetters(ctx context.Context, filter DeadLetterFilter, page Page) ([]rondo.DeadLetter, error)
	// DeadLetter returns one; org "" finds those of every org.
	DeadLetter(ctx context.Context, org string, id rondo.ID) (rondo.DeadLetter, error)
	// SettleDeadLetter stores what a person made of an open dead letter; one that
	// is settled already is CodeWrongState.
	SettleDeadLetter(ctx context.Context, org string, id rondo.ID, s Settlement) (rondo.DeadLetter, error)
	// Waiting counts, over every org, what waits for someone.
	Waiting(ctx context.Context) (Waiting, error)
}

// Waiting is what waits for someone, for gauges.
type Waiting struct {
	Parked      int // events kept until their case can use them
	DeadLetters int // that nobody replayed or discarded
}

// EventFilter narrows the ledger. OrgID is required, and so is CaseID or one of
// the outcomes that people look for (parked, unmatched, rejected): the ledger as
// a whole is not a list to browse.
type EventFilter struct {
	OrgID   string
	CaseID  string
	Outcome rondo.Outcome
	Type    string
}

// DeadLetterFilter narrows a list; zero fields do not filter.
type DeadLetterFilter struct {
	OrgID  string
	Status rondo.DeadLetterStatus
	Stream string
}

// Settlement is what a person makes of a dead letter.
type Settlement struct {
	Status rondo.DeadLetterStatus // replayed or discarded
	By     string
	Note   string
	At     time.Time
}

// InstanceFilter narrows a list; zero fields do not filter.
type InstanceFilter struct {
	OrgID        string // required, except "" for an admin's view of every org
	CaseID       string
	ProductID    string
	Status       rondo.Status
	Mode         rondo.Mode
	DefinitionID rondo.ID
	ReasonCode   string
	StepID       string // a live step
	StartedFrom  time.Time
	StartedTo    time.Time // exclusive
	Tag          string    // one of the case's tags
	Where        []AttributeTest
}

// AttributeTest compares the searchable values of one path; it holds when one of
// them does, so != holds when one of them differs. Numbers compare with numbers,
// by value, and texts with texts, bytewise: the text "5" and the number 5 differ
// and have no order.
type AttributeTest struct {
	Path  string
	Op    string // =, !=, <, <=, >, >=
	Value rondo.AttributeValue
}

// Page asks for at most Limit rows after the row with id After (zero = from the
// start), in the order of the list. Limit 0 asks for all.
type Page struct {
	After rondo.ID
	Limit int
}

// Definitions keeps definitions of every kind.
type Definitions interface {
	// CreateDefinition stores a draft, or a shipped template, with its first
	// revision, assigning Version and Revision 1. Version is one more than the
	// highest ever given in the definition's line: (org, product) for cases,
	// (org, name) for the other kinds, (kind, name) for templates. It returns the
	// stored definition.
	CreateDefinition(ctx context.Context, d rondo.Definition, rev rondo.DefinitionRevision) (rondo.Definition, error)
	// ChangeDefinition locks one definition, calls change with it, and stores what
	// change returns with Revision raised. When the new status is active, the
	// definition that was active in its place, for the same (org, product) of cases
	// or (org, name) of conversations, is archived in the same transaction, with a
	// revision of its own; any number of versions of a run are active, and a second
	// one of the same (org, name, semver) is CodeConflict. Snapshot, if
	// not nil, is stored under the definition's SnapshotHash, once. A change of
	// product or name that moves the definition to another line gives it the next
	// Version there. Templates have org "", and any number may be active. An error
	// from change writes nothing; change may be called again.
	ChangeDefinition(ctx context.Context, org string, id rondo.ID, change func(rondo.Definition) (DefinitionChange, error)) (rondo.Definition, error)
	// Definition returns one of org, or a template, or CodeNotFound.
	Definition(ctx context.Context, org string, id rondo.ID) (rondo.Definition, error)
	// DefinitionList lists newest first; OrgID "" without Templates lists the
	// definitions of every org.
	DefinitionList(ctx context.Context, filter DefinitionFilter, page Page) ([]rondo.Definition, error)
	// Revisions lists oldest first.
	Revisions(ctx context.Context, org string, definition rondo.ID) ([]rondo.DefinitionRevision, error)
	// Snapshot returns the canonical frozen form, or CodeNotFound.
	Snapshot(ctx context.Context, hash string) ([]byte, error)
	// SnapshotHashes returns the hash of every stored snapshot: what the engine
	// must know to listen to every event type in use.
	SnapshotHashes(ctx context.Context) ([]string, error)
}

// DefinitionChange is what a change makes of a definition.
type DefinitionChange struct {
	Definition rondo.Definition
	Revision   rondo.DefinitionRevision
	Snapshot   []byte // canonical; nil = none to store
}

// DefinitionFilter narrows a list; zero fields do not filter.
type DefinitionFilter struct {
	OrgID     string
	Templates bool // shipped templates instead of an org's definitions
	ProductID string
	Kind      rondo.DefinitionKind
	Status    rondo.DefinitionStatus
	Name      string
}

// Catalogue keeps reason codes and custom step kinds.
type Catalogue interface {
	// ReasonCodes returns the codes an org can use: its own rows, and system rows
	// that none of them shadows, active or not, by scope and code. org "" returns
	// the system rows.
	ReasonCodes(ctx context.Context, org string) ([]rondo.ReasonCode, error)
	// PutReasonCode inserts the row of (org, scope, code), or replaces all of it
	// but its ID.
	PutReasonCode(ctx context.Context, code rondo.ReasonCode) error
	// StepKinds returns the newest active version of every custom kind of an org,
	// by name.
	StepKinds(ctx context.Context, org string) ([]rondo.StepKind, error)
	// ReasonCode returns one of org or of the system, or CodeNotFound.
	ReasonCode(ctx context.Context, org string, id rondo.ID) (rondo.ReasonCode, error)
	// EveryStepKind returns what StepKinds does, of every org, by org and name: what
	// the engine must know to listen to every event type that may come.
	EveryStepKind(ctx context.Context) ([]rondo.StepKind, error)
	// StepKindVersions returns every version of a kind of an org, newest first.
	StepKindVersions(ctx context.Context, org, name string) ([]rondo.StepKind, error)
	// PutStepKind stores the next version of (org, name), from 1, and returns it.
	PutStepKind(ctx context.Context, kind rondo.StepKind) (rondo.StepKind, error)
	// ArchiveStepKind takes a kind out of use: none of its versions is active any
	// more. CodeNotFound when the org has no such kind.
	ArchiveStepKind(ctx context.Context, org, name string) error
}

// Jobs keeps bulk jobs. Their results come in by Write.JobResults.
type Jobs interface {
	// CreateJob stores a job and the instances it is about, all or nothing.
	CreateJob(ctx context.Context, job rondo.Job, items []rondo.JobItem) error
	// Job returns one with its counts as they are now, or CodeNotFound.
	Job(ctx context.Context, org string, id rondo.ID) (rondo.Job, error)
	// JobList lists newest first.
	JobList(ctx context.Context, org string, page Page) ([]rondo.Job, error)
	// JobResults lists by instance id, ascending.
	JobResults(ctx context.Context, org string, job rondo.ID, page Page) ([]rondo.JobResult, error)
	// ClaimJob returns the oldest running job that nobody claimed, or whose claim
	// ended at or before now, and claims it until now+lease; ok false = there is
	// none. Claiming again what one has claimed is what RenewJob is for.
	ClaimJob(ctx context.Context, now time.Time, lease time.Duration) (job rondo.Job, ok bool, err error)
	// RenewJob moves the end of a claim to now+lease.
	RenewJob(ctx context.Context, id rondo.ID, now time.Time, lease time.Duration) error
	// JobPending returns items that have no result, by instance id, at most limit.
	JobPending(ctx context.Context, id rondo.ID, limit int) ([]rondo.JobItem, error)
	// FinishJob marks a job completed when no item is pending; else it does nothing.
	FinishJob(ctx context.Context, id rondo.ID, now time.Time) error
}

// Retention removes what is no longer wanted.
type Retention interface {
	// RetentionPolicies returns every stored policy.
	RetentionPolicies(ctx context.Context) ([]rondo.RetentionPolicy, error)
	// PutRetentionPolicy stores the policy of an org, or of all without one ("").
	PutRetentionPolicy(ctx context.Context, policy rondo.RetentionPolicy) error
	// Purge removes terminal instances of an org that ended before the time,
	// oldest first, at most limit, with everything that belongs to them: steps,
	// ledger rows, interventions, attributes; the last instance of a case takes the
	// older events of the case with it that never reached an instance. It returns
	// how many instances went.
	// Each is removed whole or not at all. org "" purges every org but those in
	// except.
	Purge(ctx context.Context, org string, except []string, before time.Time, limit int) (int, error)
}

// Answers remembers what callers were told under an idempotency key, by org and
// key.
type Answers interface {
	// ReserveAnswer stores a key as being worked on. When the key is there already
	// it returns what is stored, fresh false, and changes nothing.
	ReserveAnswer(ctx context.Context, reserved rondo.Answer) (stored rondo.Answer, fresh bool, err error)
	// KeepAnswer stores status, header and body of a reserved key. A key that is
	// not there stays away.
	KeepAnswer(ctx context.Context, answer rondo.Answer) error
	// DropAnswer forgets a key that is still being worked on: its request changed
	// nothing and may be tried again.
	DropAnswer(ctx context.Context, org, key string) error
	// ForgetAnswers removes keys reserved before the time, at most limit, and
	// returns how many.
	ForgetAnswers(ctx context.Context, before time.Time, limit int) (int, error)
}

// System is the life of the database itself.
type System interface {
	// Migrate brings the schema up to date. It is safe to run from several
	// replicas at once and to run again.
	Migrate(ctx context.Context) error
	// Check reports whether the database can be used and its schema is current.
	Check(ctx context.Context) error
	// Launched returns when this database was first launched, storing now the
	// first time it is asked.
	Launched(ctx context.Context, now time.Time) (time.Time, error)
	Close() error
}
