package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// The defaults of retry.
const (
	DefaultMaxAttempts = 5
	DefaultBackoff     = 3 * time.Second
)

const maxTimeout = 365 * 24 * time.Hour

// documentJSON is the body of a definition.
type documentJSON struct {
	Name        string                                `json:"name"`
	Version     string                                `json:"version"`
	Description string                                `json:"description"`
	InputSchema json.RawMessage                       `json:"input_schema"`
	Steps       []stepJSON                            `json:"steps"`
	Changes     map[string]json.RawMessage            `json:"changes"`
	Skills      map[string]SkillSpec                  `json:"skills"`
	Prompts     map[string]map[string]json.RawMessage `json:"prompts"`
	Configs     map[string]map[string]json.RawMessage `json:"configs"`
}

type stepJSON struct {
	ID           string          `json:"id"`
	Description  string          `json:"description"`
	Skill        string          `json:"skill"`
	DependsOn    []string        `json:"depends_on"`
	Input        json.RawMessage `json:"input"`
	Class        string          `json:"class"`
	Cache        json.RawMessage `json:"cache"`
	Retry        retryJSON       `json:"retry"`
	Timeout      *string         `json:"timeout"`
	OutputSchema json.RawMessage `json:"output_schema"`
	Raise        *raiseJSON      `json:"raise"`
}

type cacheJSON struct {
	Enabled *bool    `json:"enabled"`
	Scope   string   `json:"scope"`
	TTL     *string  `json:"ttl"`
	Ignore  []string `json:"ignore"`
	Salt    string   `json:"salt"`
}

type retryJSON struct {
	MaxAttempts *int    `json:"max_attempts"`
	Backoff     *string `json:"backoff"`
}

type raiseJSON struct {
	EventType string          `json:"event_type"`
	CaseID    json.RawMessage `json:"case_id"`
	Payload   json.RawMessage `json:"payload"`
}

// compiler carries one compilation.
type compiler struct {
	doc     documentJSON
	env     Environment
	w       *Workflow
	before  *ancestry
	skills  map[string]*skillFacts
	schemas map[string]*jsonschema.Schema // by what is written
	fields  []rondo.FieldError
	more    int // problems that are not listed
}

// maxProblems bounds what is said about one definition.
const maxProblems = 100

func (c *compiler) add(code, at, format string, args ...any) {
	if len(c.fields) == maxProblems {
		c.more++
		return
	}
	c.fields = append(c.fields, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// Compile makes a workflow of the body of a definition. Its error is
// CodeInvalidDef; Fields name every problem (of very many the first hundred).
func Compile(document []byte, env Environment) (*Workflow, error) {
	canonical, err := canon.JSON(document)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalidDef, Message: "the workflow is not JSON that can be read in one way", Hint: "see the cause", Err: err}
	}
	c := &compiler{env: env, skills: map[string]*skillFacts{}, schemas: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(canonical, &c.doc); err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalidDef, Message: "the workflow does not have the shape of one", Hint: "write name, version and steps", Err: err}
	}
	sum := sha256.Sum256(canonical)
	c.w = &Workflow{
		Name: c.doc.Name, Version: c.doc.Version, Hash: hex.EncodeToString(sum[:]), Description: c.doc.Description,
		Skills: c.doc.Skills, InputSchema: c.doc.InputSchema, Changes: map[string]Change{},
		index: make(map[string]int, len(c.doc.Steps)), Steps: make([]Step, len(c.doc.Steps)),
		nameIn: quoted(c.doc.Name),
	}
	c.compile()
	if len(c.fields) > 0 {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalidDef, Fields: c.fields,
			Message: fmt.Sprintf("the workflow %q cannot be used: %d problems, the first at %s: %s", c.doc.Name, len(c.fields)+c.more, c.fields[0].Pointer, c.fields[0].Message),
			Hint:    "correct what the fields name; nothing was registered",
		}
	}
	return c.w, nil
}

func (c *compiler) compile() {
	if len(c.doc.Steps) == 0 {
		c.add("steps_missing", "/steps", "a run needs at least one step")
	}
	c.w.schema = c.schema(c.doc.InputSchema, "/input_schema")
	for i := range c.doc.Steps {
		id := c.doc.Steps[i].ID
		c.w.Steps[i].ID = id
		if first, twice := c.w.index[id]; twice {
			c.add("step_repeated", stepAt(i)+"/id", "the id %q is that of step %d already; ids are unique", id, first)
			continue
		}
		c.w.index[id] = i
	}
	c.link()
	c.w.order = sortSteps(c.w.Steps)
	if len(c.w.order) < len(c.w.Steps) {
		for _, circle := range circles(c.w.Steps, c.w.order) {
			c.add("cycle", stepAt(circle[0])+"/depends_on", "this closes a circle (%s); a step cannot wait for itself", circleText(c.w.Steps, circle))
		}
	}
	c.before = &ancestry{steps: c.w.Steps, order: c.w.order}
	for i := range c.doc.Steps {
		c.step(i)
	}
	for _, name := range sortedKeys(c.doc.Changes) {
		c.change(name, c.doc.Changes[name])
	}
}

func stepAt(i int) string { return fmt.Sprintf("/steps/%d", i) }

// link joins the steps.
func (c *compiler) link() {
	for i := range c.doc.Steps {
		s := &c.w.Steps[i]
		for j, id := range c.doc.Steps[i].DependsOn {
			need, exists := c.w.index[id]
			if !exists {
				c.add("target_unknown", fmt.Sprintf("%s/depends_on/%d", stepAt(i), j), "there is no step %q%s", id, c.suggestion(id))
				continue
			}
			s.Needs = append(s.Needs, need)
		}
		if len(s.Needs) > 1 && repeats(s.Needs) {
			c.add("step_repeated", stepAt(i)+"/depends_on", "a step is named twice")
		}
		for _, need := range s.Needs {
			c.w.Steps[need].Feeds = append(c.w.Steps[need].Feeds, i)
		}
	}
}

func repeats(list []int) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) < len(list)
}

func (c *compiler) step(i int) {
	written, s, at := &c.doc.Steps[i], &c.w.Steps[i], stepAt(i)
	s.Description, s.Skill, s.Class = written.Description, written.Skill, written.Class
	s.rawInput, s.rawCache, s.OutputSchema = written.Input, written.Cache, written.OutputSchema
	s.schema = c.schema(written.OutputSchema, at+"/output_schema")
	s.Timeout = c.duration(written.Timeout, at+"/timeout", 0, time.Millisecond, maxTimeout)
	c.cache(s, written.Cache, at+"/cache")
	s.MaxAttempts = DefaultMaxAttempts
	if n := written.Retry.MaxAttempts; n != nil {
		s.MaxAttempts = *n
		if *n < 1 || *n > 10 {
			c.add("out_of_range", at+"/retry/max_attempts", "must be from 1 to 10")
		}
	}
	s.Backoff = c.duration(written.Retry.Backoff, at+"/retry/backoff", DefaultBackoff, 100*time.Millisecond, time.Minute)
	s.skill = c.skill(written.Skill, at+"/skill")
	c.input(i, written.Input, at+"/input")
	if written.Raise != nil {
		r := reader{compiler: c, step: i, self: true, reads: map[int]bool{}}
		s.Raise = &Raise{EventType: written.Raise.EventType}
		s.Raise.caseID = r.selector(written.Raise.CaseID, at+"/raise/case_id", 0)
		if s.Raise.hasPayload = written.Raise.Payload != nil; s.Raise.hasPayload {
			s.Raise.payload = r.selector(written.Raise.Payload, at+"/raise/payload", 0)
		}
	}
	if s.skill != nil {
		s.static = staticOf(c.w, s)
	}
}

func (c *compiler) cache(s *Step, raw json.RawMessage, at string) {
	var written cacheJSON
	if raw != nil && json.Unmarshal(raw, &written) != nil {
		c.add("wrong_type", at, `cache is {"enabled", "scope", "ttl", "ignore", "salt"}`)
	}
	s.Cached = written.Enabled == nil || *written.Enabled
	s.RunOnly = written.Scope == "run_only"
	s.Ignore, s.Salt = written.Ignore, written.Salt
	s.TTL = c.duration(written.TTL, at+"/ttl", 0, time.Second, maxTimeout)
}

func (c *compiler) input(i int, raw json.RawMessage, at string) {
	if raw == nil {
		return
	}
	var written map[string]json.RawMessage
	if kindOf(raw) != '{' || json.Unmarshal(raw, &written) != nil {
		c.add("wrong_type", at, `input is an object of selectors, e.g. {"brief": {"trigger": "brief"}}`)
		return
	}
	s := &c.w.Steps[i]
	r := reader{compiler: c, step: i, reads: map[int]bool{}}
	for _, name := range sortedKeys(written) {
		chosen := r.selector(written[name], at+pointer(name), 0)
		m := member{name: name, quoted: append([]byte(quoted(name)), ':'), selector: chosen, component: "input." + name}
		if chosen.registry != "" {
			m.component = chosen.registry + ".input." + name
		}
		s.input = append(s.input, m)
	}
	for step := range r.reads {
		s.reads = append(s.reads, step)
	}
	slices.Sort(s.reads)
}

// skill finds out about a skill, once.
func (c *compiler) skill(name, at string) *skillFacts {
	if facts, known := c.skills[name]; known && facts != nil {
		return facts
	}
	spec, found := c.doc.Skills[name]
	if !found && c.env != nil {
		spec, found = c.env.Skill(name)
	}
	if !found {
		c.add("skill_unknown", at, "there is no skill %q; declare it under skills of this file or in the server's config", name)
		return nil
	}
	facts, err := factsOf(name, spec)
	if err != nil {
		c.add("skill_invalid", at, "the config of the skill %q cannot be put in canonical form", name)
		return nil
	}
	c.skills[name] = facts
	return facts
}

func (c *compiler) schema(raw json.RawMessage, at string) *jsonschema.Schema {
	if raw == nil {
		return nil
	}
	if known := c.schemas[string(raw)]; known != nil {
		return known
	}
	compiled, err := compileSchema(raw)
	if err != nil {
		c.add("schema_invalid", at, "%s", err)
		return nil
	}
	c.schemas[string(raw)] = compiled
	return compiled
}

func (c *compiler) duration(written *string, at string, without, least, most time.Duration) time.Duration {
	if written == nil {
		return without
	}
	d, err := time.ParseDuration(*written)
	if err != nil || d < least || d > most {
		c.add("out_of_range", at, "%q is not a time from %s to %s; write e.g. 30s, 5m or 720h", *written, least, most)
	}
	return d
}

func (c *compiler) change(name string, raw json.RawMessage) {
	if string(raw) == `"*"` {
		c.w.Changes[name] = Change{All: true}
		return
	}
	var seeds []string
	if json.Unmarshal(raw, &seeds) != nil {
		c.add("wrong_type", pointer("changes", name), `a change is a list of steps, or "*"`)
		return
	}
	var change Change
	for i, id := range seeds {
		place, exists := c.w.index[id]
		if !exists {
			c.add("target_unknown", pointer("changes", name, fmt.Sprint(i)), "there is no step %q%s", id, c.suggestion(id))
			continue
		}
		change.Seeds = append(change.Seeds, place)
	}
	c.w.Changes[name] = change
}

// suggestion names a step that the writer may have meant: one that differs by its
// letters' case or dashes.
func (c *compiler) suggestion(id string) string {
	if len(c.fields) > 10 {
		return "" // looking costs a walk through all steps
	}
	plain := strings.NewReplacer("-", "", "_", "", ".", "")
	want := strings.ToLower(plain.Replace(id))
	for i := range c.w.Steps {
		if strings.ToLower(plain.Replace(c.w.Steps[i].ID)) == want {
			return fmt.Sprintf("; is it %q?", c.w.Steps[i].ID)
		}
	}
	return ""
}

// canonicalOf is the canonical form; nothing stays nothing.
func canonicalOf(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	canonical, err := canon.JSON(raw)
	if err != nil {
		return nil, fmt.Errorf("canonicalise: %w", err)
	}
	return canonical, nil
}

// quoted is a string as canonical JSON. Invalid UTF-8 cannot come here from JSON
// that was read strictly; elsewhere it is replaced.
func quoted(text string) string {
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
