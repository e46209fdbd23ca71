package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

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

func (c *compiler) add(code string, at *place, format string, args ...any) {
	if len(c.fields) == maxProblems {
		c.more++
		return
	}
	c.fields = append(c.fields, rondo.FieldError{Code: code, Pointer: at.String(), Message: fmt.Sprintf(format, args...)})
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
	var root place
	steps := root.member("steps")
	if len(c.doc.Steps) == 0 {
		c.add("steps_missing", &steps, "a run needs at least one step")
	}
	inputSchema := root.member("input_schema")
	c.w.schema = c.schema(c.doc.InputSchema, &inputSchema)
	for i := range c.doc.Steps {
		id := c.doc.Steps[i].ID
		c.w.Steps[i].ID = id
		if first, twice := c.w.index[id]; twice {
			step := steps.element(i)
			at := step.member("id")
			c.add("step_repeated", &at, "the id %q is that of step %d already; ids are unique", id, first)
			continue
		}
		c.w.index[id] = i
	}
	for i := range c.doc.Steps {
		at := steps.element(i)
		c.link(i, &at)
	}
	c.w.order = sortSteps(c.w.Steps)
	if len(c.w.order) < len(c.w.Steps) {
		for _, circle := range circles(c.w.Steps, c.w.order) {
			step := steps.element(circle[0])
			at := step.member("depends_on")
			c.add("cycle", &at, "this closes a circle (%s); a step cannot wait for itself", circleText(c.w.Steps, circle))
		}
	}
	c.before = newAncestry(c.w.Steps, c.w.order)
	for i := range c.doc.Steps {
		at := steps.element(i)
		c.step(i, &at)
	}
	changes := root.member("changes")
	for _, name := range sortedKeys(c.doc.Changes) {
		at := changes.member(name)
		c.change(name, c.doc.Changes[name], &at)
	}
}

// link joins a step with what it depends on.
func (c *compiler) link(i int, at *place) {
	s, needs := &c.w.Steps[i], at.member("depends_on")
	for j, id := range c.doc.Steps[i].DependsOn {
		need, exists := c.w.index[id]
		if !exists {
			here := needs.element(j)
			c.add("target_unknown", &here, "there is no step %q%s", id, c.suggestion(id))
			continue
		}
		s.Needs = append(s.Needs, need)
	}
	if len(s.Needs) > 1 && repeats(s.Needs) {
		c.add("step_repeated", &needs, "a step is named twice")
	}
	for _, need := range s.Needs {
		c.w.Steps[need].Feeds = append(c.w.Steps[need].Feeds, i)
	}
}

func repeats(list []int) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) < len(list)
}

func (c *compiler) change(name string, raw json.RawMessage, at *place) {
	if string(raw) == `"*"` {
		c.w.Changes[name] = Change{All: true}
		return
	}
	var seeds []string
	if json.Unmarshal(raw, &seeds) != nil {
		c.add("wrong_type", at, `a change is a list of steps, or "*"`)
		return
	}
	var change Change
	for i, id := range seeds {
		step, exists := c.w.index[id]
		if !exists {
			here := at.element(i)
			c.add("target_unknown", &here, "there is no step %q%s", id, c.suggestion(id))
			continue
		}
		change.Seeds = append(change.Seeds, step)
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
