package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	strictjson "github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/cond"
)

// ExtPrefix begins every event type of an organisation's own kinds.
const ExtPrefix = "ext."

// Limits on one contract.
const (
	maxContractBytes = 64 << 10
	maxSelectorDepth = 8
)

// contractJSON is the written form of a contract.
type contractJSON struct {
	Description     string                     `json:"description"`
	Behaviour       Behaviour                  `json:"behaviour"`
	ParamsSchema    json.RawMessage            `json:"params_schema"`
	Defaults        map[string]json.RawMessage `json:"defaults"`
	Events          eventsJSON                 `json:"events"`
	Request         map[string]Selector        `json:"request"`
	OutputSchema    json.RawMessage            `json:"output_schema"`
	Outcomes        []outcomeJSON              `json:"outcomes"`
	FailureHaltCode string                     `json:"failure_halt_code"`
	Client          clientJSON                 `json:"client"`
}

type eventsJSON struct {
	Requested string `json:"requested"`
	Completed string `json:"completed"`
	Failed    string `json:"failed"`
	Cancelled string `json:"cancelled"`
}

type outcomeJSON struct {
	When    string `json:"when"`
	Outcome string `json:"outcome"`
}

type clientJSON struct {
	Module   string `json:"module"`
	Endpoint string `json:"endpoint"`
}

// ParseContract reads the contract of an organisation's own kind. Unknown
// members are refused and event types must begin with ExtPrefix. The error is a
// *rondo.Error whose Fields list everything that is wrong.
func ParseContract(raw []byte) (*Contract, error) { return parseContract(raw, true) }

// parseContract reads a contract; custom ones may only use event types of their
// own. Contracts out of a frozen document and built-in ones are not custom.
func parseContract(raw []byte, custom bool) (*Contract, error) {
	var problems problems
	c := readContract(raw, custom, &problems)
	if len(problems.errors) > 0 {
		problems.sort()
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the contract of the step kind is not valid",
			Hint: "correct each field listed", Fields: problems.errors,
		}
	}
	return c, nil
}

func readContract(raw []byte, custom bool, p *problems) *Contract {
	if err := canon.Check(raw, canon.Limits{Bytes: maxContractBytes, Depth: maxDepth}); err != nil {
		addJSONError(p, err)
		return nil
	}
	var written contractJSON
	if err := strictjson.Unmarshal(raw, &written, strictjson.RejectUnknownMembers(true)); err != nil {
		addDecodeError(p, err)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		p.add("invalid_json", "", "%s", err)
		return nil
	}
	c := &Contract{
		Behaviour: written.Behaviour,
		Requested: written.Events.Requested, Completed: written.Events.Completed, Failed: written.Events.Failed, Cancelled: written.Events.Cancelled,
		Defaults:       written.Defaults,
		Request:        written.Request,
		ClientModule:   written.Client.Module,
		ClientEndpoint: written.Client.Endpoint,
		raw:            compact.Bytes(),
	}
	read := readSchema
	if custom {
		read = readObjectSchema
	}
	c.ParamsSchema = read(written.ParamsSchema, "/params_schema", p)
	c.OutputSchema = read(written.OutputSchema, "/output_schema", p)
	readBehaviour(c, &written, p)
	readEvents(c, custom, p)
	checkDefaults(c, p)
	for member, selector := range written.Request {
		checkSelector(selector, pointer("request", member), c.ParamsSchema, 0, p)
	}
	return c
}

// addDecodeError says which member is unknown or of the wrong type.
func addDecodeError(p *problems, err error) {
	bad, ok := errors.AsType[*strictjson.SemanticError](err)
	switch {
	case !ok:
		p.add("invalid_json", "", "the contract cannot be read")
	case errors.Is(bad.Err, strictjson.ErrUnknownName):
		p.add("unknown_member", string(bad.JSONPointer), "is not a member that is known here; remove it")
	default:
		p.add("wrong_type", string(bad.JSONPointer), "is not of the type that belongs here (%s)", bad.JSONKind)
	}
}

func readSchema(raw json.RawMessage, at string, p *problems) *Schema {
	if raw == nil {
		return nil
	}
	schema, err := CompileSchema(raw)
	if err != nil {
		p.add("schema_invalid", at, "%s", err)
		return nil
	}
	return schema
}

// readObjectSchema reads the schema of what is always an object: params, outputs
// and forms.
func readObjectSchema(raw json.RawMessage, at string, p *problems) *Schema {
	schema := readSchema(raw, at, p)
	if schema != nil && !schema.forObjects {
		p.add("schema_not_object", at, `what this describes is always an object, and the schema refuses objects; make its type "object"`)
	}
	return schema
}

// readBehaviour fills what follows from the behaviour: the outcomes that
// transitions must and may name, and what the contract may say at all.
func readBehaviour(c *Contract, written *contractJSON, p *problems) {
	if c.Behaviour == BehaviourRequest {
		readOutcomes(c, written.Outcomes, p)
		c.Optional = []string{OnFailure, OnTimeout}
		c.FailureHaltCode = written.FailureHaltCode
		if c.FailureHaltCode == "" {
			c.FailureHaltCode = "step_failed"
		}
		return
	}
	switch c.Behaviour {
	case BehaviourCondition:
		c.Mandatory = []string{OnTrue, OnFalse}
	case BehaviourEmit, BehaviourFinal:
		c.Mandatory = []string{OnComplete}
	case BehaviourHalt:
	case BehaviourDelay:
		c.Mandatory = []string{OnComplete}
	case BehaviourWait:
		c.Mandatory, c.Optional = []string{OnEvent}, []string{OnTimeout}
	case BehaviourManual: // each step names its outcomes
		c.Optional = []string{OnTimeout}
	case BehaviourParallel:
		c.Mandatory, c.Optional = []string{OnComplete}, []string{OnTimeout}
	default:
		known := []string{"request", "condition", "emit", "final", "halt", "delay", "wait_for_event", "manual", "parallel"}
		p.add("behaviour_unknown", "/behaviour", "%s is not a behaviour; use %s%s",
			quote(string(c.Behaviour)), list(known, "or"), suggestion(string(c.Behaviour), known))
		return
	}
	if len(written.Outcomes) > 0 {
		p.add("not_for_behaviour", "/outcomes", "only a request kind maps outputs to outcomes; remove outcomes")
	}
	if len(written.Request) > 0 {
		p.add("not_for_behaviour", "/request", "only a request kind builds a request; remove request")
	}
	if written.FailureHaltCode != "" {
		p.add("not_for_behaviour", "/failure_halt_code", "only a request kind can fail; remove failure_halt_code")
	}
}

// checkDefaults judges the defaults as far as they can be judged without a
// step: what a step may give must be as params_schema says, and what the
// behaviour uses must be as it needs it.
func checkDefaults(c *Contract, p *problems) {
	for name, value := range c.Defaults {
		for _, schema := range []*Schema{c.ParamsSchema, behaviourParams(c.Behaviour)} {
			if schema == nil || !slices.Contains(schema.props, name) {
				continue
			}
			alone, err := json.Marshal(map[string]json.RawMessage{name: value})
			if err != nil {
				p.add("default_invalid", pointer("defaults", name), "is not a JSON value")
				continue
			}
			for _, problem := range schema.check(alone, "/defaults") {
				if strings.HasPrefix(problem.Pointer, pointer("defaults", name)) {
					p.add("default_invalid", problem.Pointer, "this %s", problem.Message)
				}
			}
		}
	}
	switch c.Behaviour {
	case BehaviourManual:
		if form, given := c.Defaults["form"]; given && typeOf(form) == "an object" {
			readForm(form, "/defaults/form", p)
		}
	case BehaviourCondition:
		raw, given := c.Defaults["expr"]
		var src string
		if !given {
			return
		}
		if json.Unmarshal(raw, &src) != nil {
			p.add("default_invalid", "/defaults/expr", "this must be a string")
		} else if _, err := cond.Parse(src); err != nil {
			p.add("expr_invalid", "/defaults/expr", "%s", err)
		}
	}
}

func readOutcomes(c *Contract, rules []outcomeJSON, p *problems) {
	if len(rules) == 0 {
		p.add("missing_member", "/outcomes", `say which outcome an output means, e.g. [{"outcome": "on_complete"}]`)
	}
	for i, rule := range rules {
		at := pointer("outcomes", fmt.Sprint(i))
		if !isWord(rule.Outcome) || !strings.HasPrefix(rule.Outcome, "on_") || rule.Outcome == OnFailure || rule.Outcome == OnTimeout {
			p.add("outcome_invalid", at+"/outcome", "%s cannot be an outcome; use a word like on_complete (on_failure and on_timeout come from the engine)", quote(rule.Outcome))
			continue
		}
		compiled := OutcomeRule{Outcome: rule.Outcome}
		if rule.When != "" {
			compiled.When = readWhen(rule.When, at+"/when", p)
		} else if i < len(rules)-1 {
			p.add("outcome_shadowed", at, "a rule without when always matches, so no later rule is ever looked at; put it last")
		}
		c.Outcomes = append(c.Outcomes, compiled)
		if !slices.Contains(c.Mandatory, rule.Outcome) {
			c.Mandatory = append(c.Mandatory, rule.Outcome)
		}
	}
}

func readWhen(src, at string, p *problems) *cond.Expr {
	expr, err := cond.Parse(src)
	if err != nil {
		p.add("expr_invalid", at, "%s", err)
		return nil
	}
	for _, path := range expr.Paths() {
		if path[0] != "output" {
			p.add("path_unknown", at, "%s: the only thing known here is output, the completed payload", quote(strings.Join(path, ".")))
		}
	}
	if expr.UsesNow() || len(expr.Samples()) > 0 {
		p.add("expr_invalid", at, "now() and sample() have no meaning here: the outcome must follow from the output alone")
	}
	return expr
}

// readEvents checks that the contract names the events its behaviour needs, and
// no others.
func readEvents(c *Contract, custom bool, p *problems) {
	needs := map[Behaviour][4]bool{ // requested, completed, failed, cancelled
		BehaviourRequest: {true, true, true, false},
		BehaviourEmit:    {true, false, false, false},
		BehaviourFinal:   {true, false, false, false},
	}
	mayHave := map[Behaviour][4]bool{
		BehaviourRequest: {true, true, true, true},
		BehaviourEmit:    {true, true, false, false},
		BehaviourFinal:   {true, false, false, false},
	}
	seen := map[string]bool{}
	for i, e := range []struct{ name, eventType string }{{"requested", c.Requested}, {"completed", c.Completed}, {"failed", c.Failed}, {"cancelled", c.Cancelled}} {
		at := pointer("events", e.name)
		if e.eventType == "" {
			if needs[c.Behaviour][i] {
				p.add("missing_member", at, "name the %s event type of this kind", e.name)
			}
			continue
		}
		if !mayHave[c.Behaviour][i] {
			p.add("not_for_behaviour", at, "a %s kind has no %s event; remove it", c.Behaviour, e.name)
		}
		if !isEventType(e.eventType) {
			p.add("event_type_invalid", at, "%s is not an event type; use lower-case words joined by dots, e.g. ext.credit_check.requested", quote(e.eventType))
		} else if custom && !strings.HasPrefix(e.eventType, ExtPrefix) {
			p.add("event_type_reserved", at, "event types of your own kinds begin with ext.; rename it to %s", quote(ExtPrefix+e.eventType))
		}
		if custom && i > 0 && event.PublishedByOrchestrator(e.eventType) {
			p.add("event_type_reserved", at, "only the orchestrator publishes %s, so nobody could answer with it; end it otherwise, e.g. in .%s", quote(e.eventType), e.name)
		}
		if seen[e.eventType] {
			p.add("event_type_repeated", at, "%s is already another event of this kind; they must all differ", quote(e.eventType))
		}
		seen[e.eventType] = true
	}
}

func checkSelector(s Selector, at string, params *Schema, depth int, p *problems) {
	if depth > maxSelectorDepth {
		p.add("selector_invalid", at, "selectors are nested more than %d deep; flatten them", maxSelectorDepth)
		return
	}
	set := 0
	for _, given := range []bool{s.Param != "", s.Context != "", s.Const != nil, s.Merge != nil, s.Pick != nil, s.Images, s.ContextSnapshot, s.Template != "", s.Timeout} {
		if given {
			set++
		}
	}
	if set != 1 {
		p.add("selector_invalid", at, `a selector is exactly one of {"param"}, {"context"}, {"const"}, {"merge"}, {"pick"}, {"template"}, {"images": true}, {"context_snapshot": true} and {"timeout": true}`)
		return
	}
	switch {
	case s.Param != "", s.Template != "":
		name, member := s.Param, "/param"
		if s.Template != "" {
			name, member = s.Template, "/template"
		}
		if params == nil || params.closed && !slices.Contains(params.props, name) {
			p.add("param_unknown", at+member, "params_schema has no property %s", quote(name))
		}
	case s.Context != "":
		if !isPath(s.Context) {
			p.add("selector_invalid", at+"/context", "%s is not a path; write names joined by dots", quote(s.Context))
		}
	case s.Merge != nil:
		if len(s.Merge) == 0 {
			p.add("selector_invalid", at+"/merge", "merge needs at least one selector")
		}
		for i, part := range s.Merge {
			checkSelector(part, at+pointer("merge", fmt.Sprint(i)), params, depth+1, p)
		}
	case s.Pick != nil:
		if len(s.Pick.Keys) == 0 {
			p.add("selector_invalid", at+"/pick/keys", "pick needs at least one key")
		}
		checkSelector(s.Pick.From, at+"/pick/from", params, depth+1, p)
	}
}
