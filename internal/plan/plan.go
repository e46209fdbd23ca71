// Package plan is the pure part of runs: the DAG of a workflow, what a change can
// touch, what a step's input is, the key under which its result is kept, why it
// runs or is reused, and what may run next. No I/O, clock, randomness, goroutine
// or logger.
//
// # Guarantees
//
//  1. Equal inputs give equal keys, on every machine and in every order of
//     members; a value that cannot be canonicalised gives no key at all.
//  2. A step never becomes ready before everything it depends on is done.
//  3. Every operation on the graph is linear in steps and dependencies: workflows of
//     10,000 steps are compiled and planned well below a second.
package plan

import (
	"encoding/json"
	"time"

	"github.com/rondo-engine/rondo"
)

// Workflow is a compiled definition of kind run. It does not change.
type Workflow struct {
	Name    string
	Version string
	Hash    string // of the frozen definition
	Steps   []Step // in the order of the file
	Changes map[string]Change
	// Skills are those that the file declares itself.
	Skills map[string]SkillSpec

	index map[string]int
	order []int // topological, stable
}

// Step is one step of a workflow.
type Step struct {
	ID           string
	Skill        string // name@version
	Needs        []int  // what it depends on, as written
	Feeds        []int  // what depends on it
	Class        string // llm, template or deterministic; "" = deterministic
	Cached       bool
	RunOnly      bool
	TTL          time.Duration // 0 = the cold entry does not expire
	Ignore       []string      // members of the input that are not in the key
	Salt         string
	MaxAttempts  int
	Backoff      time.Duration
	Timeout      time.Duration
	OutputSchema json.RawMessage
	Raise        *Raise

	input map[string]selector
}

// SkillSpec is a skill as a file or a server declares it.
type SkillSpec struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config,omitempty"`
}

// Change says which steps a type of change begins with.
type Change struct {
	All   bool // "*"
	Seeds []int
}

// Raise is the event that a step sends to a case when it completes.
type Raise struct {
	EventType string

	caseID, payload selector
}

// Environment is what a server knows beside the file. Nil has nothing.
type Environment interface {
	Skill(name string) (SkillSpec, bool) // go skills have type "go"
	Prompt(id, version string) (json.RawMessage, bool)
	Config(id, version string) (json.RawMessage, bool)
}

// Output is what a step gave: what selectors read of it as {data, artifacts}.
type Output struct {
	Data      json.RawMessage
	Artifacts []rondo.Artifact
	Hash      string // OutputHash
}

// Sources is what selectors can read.
type Sources struct {
	Trigger json.RawMessage
	Change  *rondo.ChangeRequest // nil = none
	Step    func(step int) (Output, bool)
	Base    func(stepID string) (Output, bool) // nil = there is no base run
}

// Keyed is what the cache needs to know of one step.
type Keyed struct {
	InputHash   string // "" when the input cannot be canonicalised
	Key         string // "" = uncacheable
	Uncacheable string // why
	Manifest    Manifest
}

// Manifest is what went into a key: each component's digest and a short preview,
// so that two can be compared.
type Manifest struct {
	V          int         `json:"v"`
	Components []Component `json:"components"` // by name
}

// Component is one part of a key: "skill", "config.<path>", "prompt", "model",
// "output_schema", "salt", "input.<member>", "run", "workflow", "step", "tenant".
type Component struct {
	Name    string `json:"name"`
	Digest  string `json:"digest"`
	Preview string `json:"preview,omitempty"` // at most 80 characters, never of a secret
}
