package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/chart"
	"github.com/rondo-engine/rondo/internal/cond"
)

// Bounds of one definition.
const (
	maxBytes    = 1 << 20
	maxDepth    = 100
	maxSteps    = 200
	maxSignals  = 500
	maxName     = 200
	maxStepName = 128
	// maxStepUnits is what the name of a step takes at most, in UTF-16 units.
	maxStepUnits = 2 * maxStepName
	// maxTemplate bounds the fixed text of a context template, in UTF-16 units, so
	// that step and turn number always fit beside it.
	maxTemplate = 1500
	maxWait     = 10 * time.Minute
)

// Compile reads a conversation definition. It returns either the definition or
// everything that is wrong with it, each with its place in the body.
func Compile(body []byte) (*Definition, []rondo.FieldError) {
	c := &compiler{d: &Definition{merge: policies{byDefault: mergeLatest}, minConfidence: rondo.ConfidenceLow}}
	if err := canon.Check(body, canon.Limits{Bytes: maxBytes, Depth: maxDepth, Tokens: maxBytes}); err != nil {
		at := ""
		if refused, ok := errors.AsType[*canon.Error](err); ok {
			at = refused.Pointer
		}
		c.add("invalid_json", at, "%v", err)
		return nil, c.problems
	}
	if written, ok := c.object(json.RawMessage(body), ""); ok {
		c.definition(written)
	}
	if len(c.problems) > 0 {
		slices.SortStableFunc(c.problems, func(a, b rondo.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return nil, c.problems
	}
	return c.d, nil
}

// compiler carries one compilation.
type compiler struct {
	d        *Definition
	problems []rondo.FieldError
}

func (c *compiler) add(code, at, format string, args ...any) {
	c.problems = append(c.problems, rondo.FieldError{Code: code, Pointer: at, Message: fmt.Sprintf(format, args...)})
}

// definition reads the members of the body.
func (c *compiler) definition(written map[string]json.RawMessage) {
	read := map[string]func(raw json.RawMessage, at string){
		"name":            c.name,
		"description":     func(raw json.RawMessage, at string) { c.text(raw, at, 0) },
		"steps":           c.steps,
		"machine":         c.machine,
		"signals":         c.signals,
		"merge":           c.merge,
		"minConfidence":   c.minConfidence,
		"outputSchema":    c.outputSchema,
		"agent":           c.agent,
		"contextTemplate": c.template,
		"busy":            c.busy,
		"agentTimeoutMs":  c.agentTimeout,
	}
	c.refuseOthers(written, "", keys(read))
	for _, name := range []string{"name", "steps", "machine"} {
		if _, has := written[name]; !has {
			c.add("missing_member", "", "a conversation definition must have %q", name)
		}
	}
	for _, name := range keys(read) {
		if raw, has := written[name]; has {
			read[name](raw, pointer(name))
		}
	}
	if c.d.schema == nil {
		schema, err := ownSchema()
		if err != nil {
			c.add("schema_invalid", "", "%s", err)
		}
		c.d.schema = schema
	}
}

func (c *compiler) name(raw json.RawMessage, at string) { c.d.Name = c.text(raw, at, maxName) }

func (c *compiler) steps(raw json.RawMessage, at string) {
	list := c.list(raw, at, maxSteps)
	if list != nil && len(list) == 0 {
		c.add("steps_missing", at, "name the steps of the conversation, in order; progress is counted along them")
	}
	for i, item := range list {
		here := at + pointer(strconv.Itoa(i))
		step := c.text(item, here, maxStepName)
		if step != "" && slices.Contains(c.d.Steps, step) {
			c.add("step_repeated", here, "%q is in the list already; keep one", step)
		}
		c.d.Steps = append(c.d.Steps, step)
	}
}

func (c *compiler) machine(raw json.RawMessage, at string) {
	machine, problems := chart.Compile(raw)
	for _, problem := range problems {
		problem.Pointer = at + problem.Pointer
		problem.Code = codeOfAll(problem.Code)
		c.problems = append(c.problems, problem)
	}
	if len(problems) > 0 {
		return
	}
	c.d.machine, c.d.config = machine, slices.Clone(raw)
	var own struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	_ = json.Unmarshal(raw, &own) // compiled: it is an object, or missing
	c.d.context = cloneMembers(own.Context)
	if data, has := c.d.context[contextData]; has {
		if _, ok := object(data); !ok {
			c.add("wrong_type", at+pointer("context", contextData), "what is collected is an object")
		}
	}
	c.d.states = readStates(raw, "", at, nil)
	c.d.states.all(func(s *state) bool {
		known := []string{string(rondo.WorkflowActive), string(rondo.WorkflowCompleted), string(rondo.WorkflowError)}
		if s.status != "" && !slices.Contains(known, s.status) {
			c.add("unknown_value", s.at+pointer("meta", "status"), "a state makes the workflow %s", strings.Join(known, ", "))
		}
		for at, name := range map[string]string{s.at: s.key, s.at + pointer("meta", "step"): s.step} {
			if utf8.RuneCountInString(name) > maxStepName {
				c.add("out_of_range", at, "the name of a step must have at most %d characters", maxStepName)
			}
		}
		return true
	})
}

// codeOfAll names a mistake in a machine as the same mistake is named in every
// definition; most have names of their own.
func codeOfAll(code string) string {
	switch code {
	case "syntax":
		return "invalid_json"
	case "type":
		return "wrong_type"
	case "bad_type":
		return "unknown_value"
	case "missing_initial":
		return "missing_member"
	case "unknown_target":
		return "target_unknown"
	case "unknown_root":
		return "path_unknown"
	case "bad_guard":
		return "expr_invalid"
	}
	return code
}

func (c *compiler) signals(raw json.RawMessage, at string) {
	for i, item := range c.list(raw, at, maxSignals) {
		here := at + pointer(strconv.Itoa(i))
		written, ok := c.object(item, here)
		if !ok {
			continue
		}
		c.refuseOthers(written, here, []string{"event", "when"})
		s := signal{event: c.required(written, "event", here, maxStepName)}
		if strings.HasPrefix(s.event, "xstate.") || strings.Contains(s.event, "*") {
			c.add("unknown_value", here+"/event", "the name of an event has no * and does not begin with xstate.")
		}
		if source := c.required(written, "when", here, 0); source != "" {
			s.when = c.expression(source, here+"/when")
		}
		c.d.signals = append(c.d.signals, s)
	}
}

// expression reads the condition of a signal rule. There is no event yet, and
// nothing that a share of all cases could be taken of.
func (c *compiler) expression(source, at string) *cond.Expr {
	expr, err := cond.Parse(source)
	if err != nil {
		c.add("expr_invalid", at, "%s", err)
		return nil
	}
	roots := []string{"context", "turn", "payload"}
	for _, path := range expr.Paths() {
		switch {
		case path[0] == "event":
			c.add("path_unknown", at, "%q: a signal rule says which event there will be, so it cannot ask for one; use %s", strings.Join(path, "."), strings.Join(roots, ", "))
		case !slices.Contains(roots, path[0]):
			c.add("path_unknown", at, "%q: what is known here is %s", strings.Join(path, "."), strings.Join(roots, ", "))
		}
	}
	if len(expr.Samples()) > 0 {
		c.add("expr_invalid", at, "sample takes a share of cases; a conversation is none")
	}
	return expr
}

func (c *compiler) merge(raw json.RawMessage, at string) {
	written, ok := c.object(raw, at)
	if !ok {
		return
	}
	c.refuseOthers(written, at, []string{"default", "fields"})
	if policy, has := written["default"]; has {
		c.d.merge.byDefault = c.oneOf(policy, at+"/default", mergePolicies())
	}
	fields, has := written["fields"]
	if !has {
		return
	}
	byField, ok := c.object(fields, at+"/fields")
	if !ok {
		return
	}
	c.d.merge.fields = map[string]string{}
	for _, field := range keys(byField) {
		c.d.merge.fields[field] = c.oneOf(byField[field], at+pointer("fields", field), mergePolicies())
	}
}

func (c *compiler) minConfidence(raw json.RawMessage, at string) {
	c.d.minConfidence = c.oneOf(raw, at, []string{rondo.ConfidenceLow, rondo.ConfidenceMedium, rondo.ConfidenceHigh})
}

func (c *compiler) outputSchema(raw json.RawMessage, at string) {
	if _, ok := c.object(raw, at); !ok {
		return
	}
	schema, err := compileSchema(raw)
	if err != nil {
		c.add("schema_invalid", at, "%s", err)
		return
	}
	c.d.schema, c.d.OutputSchema = schema, slices.Clone(raw)
}

func (c *compiler) agent(raw json.RawMessage, at string) {
	written, ok := c.object(raw, at)
	if !ok {
		return
	}
	c.d.Agent = Binding{Provider: c.required(written, "provider", at, maxName), Raw: slices.Clone(raw)}
	if instructions, has := written["instructions"]; has {
		c.d.Agent.Instructions = c.text(instructions, at+"/instructions", 0)
	}
}

func (c *compiler) template(raw json.RawMessage, at string) {
	template := c.text(raw, at, 0)
	fixed := units(substitute(template, map[string]string{}))
	longest := units(substitute(template, map[string]string{
		placeStep: strings.Repeat("s", maxStepUnits), placeTurn: strconv.Itoa(math.MaxInt32), placeData: dataOmitted,
	}))
	switch {
	case template == "":
	case !strings.Contains(template, placeUser):
		c.add("template_invalid", at, "without %s the agent would never read what the user says", placeUser)
	case fixed > maxTemplate:
		c.add("template_invalid", at, "the text around the placeholders has %d characters; %d are the most", fixed, maxTemplate)
	case longest > maxPreamble:
		c.add("template_invalid", at, "with a long step in all its places it would have %d characters; %d are the most", longest, maxPreamble)
	}
	c.d.template = template
}

func (c *compiler) busy(raw json.RawMessage, at string) {
	written, ok := c.object(raw, at)
	if !ok {
		return
	}
	c.refuseOthers(written, at, []string{"strategy", "waitMs"})
	strategy := "reject"
	if s, has := written["strategy"]; has {
		strategy = c.oneOf(s, at+"/strategy", []string{"reject", "wait"})
	}
	wait := defaultWait
	if ms, has := written["waitMs"]; has {
		wait = c.milliseconds(ms, at+"/waitMs", 0)
	}
	if strategy == "wait" {
		c.d.Busy.Wait = wait
	}
}

// defaultWait is how long a turn waits for another when it shall wait and nothing
// says how long.
const defaultWait = 5 * time.Second

func (c *compiler) agentTimeout(raw json.RawMessage, at string) {
	c.d.AgentTimeout = c.milliseconds(raw, at, 1)
}
