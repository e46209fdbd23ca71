// Package plan is the pure part of runs: the DAG of a workflow, what a change can
// touch, what a step's input is, the key under which its result is kept, why it
// runs or is reused, and what may run next. No I/O, clock, randomness, goroutine
// or logger. It imports the nouns of Rondo, canonical JSON and JSON Schema.
//
// # Guarantees
//
//  1. Equal inputs give equal keys, on every machine and in every order of
//     members; a value that cannot be canonicalised gives no key at all.
//  2. A step never becomes ready before everything it depends on is done.
//  3. Every operation on the graph is linear in steps and dependencies: workflows of
//     10,000 steps are compiled and planned well below a second.
//  4. A forecast and a run ask the same functions, Link and Decide, so that a run
//     does what its forecast said.
//  5. Errors name places; previews show at most 40 characters, never of a secret.
package plan

import (
	"encoding/json"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo"
)

// Workflow is a compiled definition of kind run. It does not change and is safe
// for concurrent use.
type Workflow struct {
	Name        string
	Version     string
	Hash        string // of the frozen definition
	Description string
	Steps       []Step // in the order of the file
	Changes     map[string]Change
	// Skills are those that the file declares itself.
	Skills map[string]SkillSpec
	// InputSchema is the JSON Schema of the trigger payload; nil = any object.
	InputSchema json.RawMessage

	index  map[string]int
	order  []int // topological, stable
	schema *jsonschema.Schema
	nameIn string // the name as it stands in keys
}

// Step is one step of a workflow.
type Step struct {
	ID           string
	Description  string
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
	Timeout      time.Duration // 0 = the engine's default
	OutputSchema json.RawMessage
	Raise        *Raise

	input    []member // by name
	reads    []int    // steps that the input reads
	skill    *skillFacts
	static   staticKey
	schema   *jsonschema.Schema
	rawInput json.RawMessage // as written, to compare definitions
	rawCache json.RawMessage
}

// member is one member of a step's input.
type member struct {
	name     string
	quoted   []byte // the name as JSON, with its colon
	selector selector
	// component is what the member is called in manifests.
	component string
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
	hasPayload      bool
}

// Environment is what a server knows beside the file. Nil has nothing. What the
// file declares comes first.
type Environment interface {
	Skill(name string) (SkillSpec, bool) // go skills have type "go"
	Prompt(id, version string) (json.RawMessage, bool)
	Config(id, version string) (json.RawMessage, bool)
}

// Resolver is what an Environment is that knows what its operator adds to skills, the
// file's own among them. Keys follow what it says; what a step runs with stays the
// specification as it was declared.
type Resolver interface {
	// Resolve returns a specification with the operator's defaults filled in, and the
	// hex digests of what the skill takes from outside of its config, by the path that
	// it would have there, such as env.NAME. What they are digests of is never shown.
	Resolve(spec SkillSpec) (resolved SkillSpec, outside map[string]string)
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

// Component is one part of a key:
//
//	config.<path>          a member of the skill's config, with the operator's defaults; config is the whole of a wide one
//	config.env.<NAME>      a variable of the environment that a command is given; never shown
//	config.input.<member>  an input that is a config of the registry
//	input.<member>         any other input
//	model                  the model of an llm skill
//	output_schema
//	prompt.<path>          system and prompt of an llm skill
//	prompt.input.<member>  an input that is a prompt of the registry
//	run                    of a step whose results serve its own run alone
//	salt
//	scope                  tenant, workflow and step
//	skill                  name, version and type
type Component struct {
	Name    string `json:"name"`
	Digest  string `json:"digest"`            // the first 32 hex characters
	Preview string `json:"preview,omitempty"` // see Preview
}

// Index returns the place of a step.
func (w *Workflow) Index(id string) (int, bool) {
	i, ok := w.index[id]
	return i, ok
}

// Order returns all steps so that each stands behind what it depends on; a file
// that is in such an order already keeps it. The caller does not change it.
func (w *Workflow) Order() []int { return w.order }

// SkillOf returns the skill of a step: the file's own, else the environment's.
func (w *Workflow) SkillOf(step int) (SkillSpec, bool) {
	facts := w.Steps[step].skill
	if facts == nil {
		return SkillSpec{}, false
	}
	return facts.spec, true
}
