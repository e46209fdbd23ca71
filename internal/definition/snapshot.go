// Package definition reads workflow definitions: parsing (JSON, JSON with
// comments, YAML), every rule that holds at publish time, and the frozen,
// compiled snapshot that drives instances.
//
// The way of a definition: ParseDraft reads what a person wrote, Validate says
// everything that is wrong with it, Freeze copies it together with the contract
// of every kind it uses into one canonical document with a hash, and Compile
// turns that document into a Snapshot. What Validate calls valid, Freeze and
// Compile accept.
//
// It is pure: no I/O, clock or randomness. What it needs from outside (the
// reason codes and step kinds an organisation can use) comes in as arguments.
// It imports the root package, event, internal/cond, internal/canon, and
// libraries for JSON Schema, YAML and strict JSON.
package definition

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/cond"
)

// Reserved transition targets.
const (
	Terminal = "TERMINAL" // success
	Join     = "JOIN"     // end of a parallel branch
)

// Retry backoffs.
const (
	BackoffExponential = "exponential" // base·2^(n−1)
	BackoffLinear      = "linear"      // base·n
	BackoffFixed       = "fixed"       // base
)

// Defaults of a definition that does not say.
const (
	DefaultWorkflowTimeout = 30 * 24 * time.Hour
	DefaultRetryBase       = 5 * time.Second
	DefaultRetryCap        = 5 * time.Minute
)

// Step is one compiled step of a snapshot.
type Step struct {
	ID             string
	Kind           string
	Contract       *Contract
	Params         map[string]json.RawMessage
	Expr           *cond.Expr        // behaviour condition only
	Transitions    map[string]string // outcome → step id, Terminal or Join
	Timeout        time.Duration     // 0 = none
	MaxRetries     int
	Backoff        string // one of the Backoff words, never empty
	RetryBase      time.Duration
	RetryCap       time.Duration
	RetryJitter    bool
	RetryOnTimeout bool
	SLA            SLA

	Delay    time.Duration // behaviour delay: how long; 0 when Until says when
	Until    string        // behaviour delay: context path of the time (RFC 3339 or epoch ms); "" = Delay says
	WaitFor  string        // behaviour wait_for_event: the event type
	Match    *cond.Expr    // behaviour wait_for_event: roots event and the context; nil = any event of the type
	Manual   *Manual       // behaviour manual only
	Branches []Branch      // behaviour parallel: by name
	Need     int           // behaviour parallel: how many branches must join
	Fork     string        // innermost parallel step whose branch this step is in; "" = none
	Branch   string        // name of that branch
}

// SLA is a service level: how long something may take before it is announced.
// Zero = not asked for.
type SLA struct {
	WarnAfter   time.Duration
	BreachAfter time.Duration
}

// Manual is what a person is asked to do.
type Manual struct {
	Title        string
	Instructions string
	Outcomes     []string // the transitions a person may choose from
	Form         *Schema  // nil = any object
	FormJSON     json.RawMessage
	Assignees    []string // user ids who may complete it without the intervene scope
}

// Branch is one way of a parallel step. It ends at Join.
type Branch struct {
	Name  string
	Start string
}

// Snapshot is a frozen definition with the resolved contract of every kind it
// uses, compiled. Every transition target exists, there is no cycle, and every
// expression parses. It is immutable and safe for concurrent use; instances
// refer to it by Hash.
type Snapshot struct {
	Hash            string // hex SHA-256 of the canonical form
	Name            string
	DefaultMode     rondo.Mode // never empty
	WorkflowTimeout time.Duration
	Start           string
	Steps           map[string]*Step
	Order           []string // every step, topologically, on_true before on_false
	Search          []string // context paths whose values are searchable
	SLA             SLA      // of the whole case

	inbound   []string                   // sorted event types
	byEvent   map[string][]*Step         // event type → steps, in Order
	waiting   map[string][]*Step         // event type → steps that wait for it, in Order
	reachable map[string]map[string]bool // step → steps after it
}

// InboundTypes lists, sorted, every event type that a step of this snapshot
// listens to: completed, failed, and what wait_for_event steps wait for. The
// completed type of an emit kind is among them; such an event is only noted.
func (s *Snapshot) InboundTypes() []string { return slices.Clone(s.inbound) }

// StepsFor returns, in topological order, the steps whose contract names the
// event type as completed or failed. Steps of behaviour emit are among them:
// they never wait, so the caller looks at the behaviour. The slice is shared
// and must not be changed.
func (s *Snapshot) StepsFor(eventType string) []*Step { return s.byEvent[eventType] }

// Waiting returns, in topological order, the steps of behaviour wait_for_event
// that wait for the event type, whatever their match says. The slice is shared
// and must not be changed.
func (s *Snapshot) Waiting(eventType string) []*Step { return s.waiting[eventType] }

// Reachable returns the ids of the steps that can still run after the given
// one; the step itself is not among them. After a step in a branch come those
// that follow the join; what a timeout of the parallel step leads to comes after
// that step, not after those of its branches. Reserved targets are left out. The
// caller owns the map.
func (s *Snapshot) Reachable(from string) map[string]bool { return maps.Clone(s.reachable[from]) }

// CanReach reports whether step to can still run after step from.
func (s *Snapshot) CanReach(from, to string) bool { return s.reachable[from][to] }
