package definition

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// Limits on one definition.
const (
	maxBytes           = 1 << 20
	maxDepth           = 32
	maxSteps           = 200
	maxNameBytes       = 200
	maxWorkflowTimeout = 10 * 365 * 24 * time.Hour
)

// document is a definition as written: every known member in its own type, and
// nothing judged yet beyond that. Members that are absent or of the wrong type
// keep their zero value.
type document struct {
	name        string
	defaultMode rondo.Mode
	timeout     time.Duration
	start       string
	steps       map[string]*writtenStep
	search      []string
	sla         *writtenSLA
}

// writtenSLA is a service level as written, in seconds; nil = absent.
type writtenSLA struct {
	at           string
	warn, breach *float64
}

// writtenStep is one step as written. Pointers are nil when the member is
// absent.
type writtenStep struct {
	id             string
	kind           string
	given          map[string]json.RawMessage // params as written
	params         map[string]json.RawMessage // given, and after resolve what the kind sets by default
	paramsJSON     json.RawMessage            // an object; nil when absent or of the wrong type
	expr           *string
	outcomes       []string          // every outcome the transitions name
	transitions    map[string]string // without those whose target is no text
	waysLost       bool              // it leads on, but what was written does not tell where
	timeout        *float64          // seconds
	maxRetries     *float64
	backoff        *string
	retryBase      *float64 // seconds
	retryCap       *float64 // seconds
	retryJitter    bool
	retryOnTimeout bool
	sla            *writtenSLA

	contract     *Contract // set by resolve; nil = its kind is not known
	branches     []Branch  // set by resolve, by name
	fork, branch string    // set by resolve: the innermost branch it is in
}

func (w *writtenStep) at(tokens ...string) string {
	return pointer(append([]string{"steps", w.id}, tokens...)...)
}

// readDocument reads a definition body and reports what is not of its shape:
// bad JSON, unknown members, wrong types, over the limits. It returns what could
// be read, nil when nothing could.
func readDocument(body []byte, p *problems) *document {
	if err := canon.Check(body, canon.Limits{Bytes: maxBytes, Depth: maxDepth}); err != nil {
		addJSONError(p, err)
		return nil
	}
	r := reader{problems: p}
	top, ok := r.object(body, "")
	if !ok {
		return nil
	}
	r.known(top, "", "a definition", "name", "description", "default_mode", "workflow_timeout_seconds", "start_step", "steps", "search",
		"sla", "tests", "require_tests")
	d := &document{defaultMode: rondo.ModeActive, timeout: DefaultWorkflowTimeout, steps: map[string]*writtenStep{}}
	d.readHead(&r, top)
	steps, _ := r.member(top, "", "steps").object()
	if len(steps) > maxSteps {
		p.add("too_many_steps", "/steps", "a definition has at most %d steps, this one has %d; split the workflow", maxSteps, len(steps))
		return nil
	}
	for _, id := range sortedKeys(steps) {
		d.steps[id] = readStep(&r, id, steps[id])
	}
	return d
}

func (d *document) readHead(r *reader, top map[string]json.RawMessage) {
	if _, given := top["name"]; !given && !r.lost("/name") {
		r.add("missing_member", "/name", `give the definition a name, e.g. "name": "Intake"`)
	} else if name, ok := r.member(top, "", "name").text(); ok {
		d.name = name
		if name == "" || len(name) > maxNameBytes {
			r.add("out_of_range", "/name", "a name has 1 to %d bytes", maxNameBytes)
		}
	}
	r.member(top, "", "description").text()
	if mode, ok := r.member(top, "", "default_mode").text(); ok {
		switch rondo.Mode(mode) {
		case rondo.ModeActive, rondo.ModeClientDriven:
			d.defaultMode = rondo.Mode(mode)
		default:
			r.add("unknown_value", "/default_mode", "%s is not a mode; use active or client_driven%s", quote(mode), suggestion(mode, []string{"active", "client_driven"}))
		}
	}
	if seconds, ok := r.member(top, "", "workflow_timeout_seconds").number(); ok {
		if seconds != math.Trunc(seconds) || seconds < 1 || seconds > maxWorkflowTimeout.Seconds() {
			r.add("out_of_range", "/workflow_timeout_seconds", "must be whole seconds from 1 to %.0f (ten years)", maxWorkflowTimeout.Seconds())
			r.drop("/workflow_timeout_seconds")
		} else {
			d.timeout = time.Duration(seconds) * time.Second
		}
	}
	d.start, _ = r.member(top, "", "start_step").text()
	d.search = r.member(top, "", "search").texts()
	d.sla = readSLA(r.member(top, "", "sla"))
	if tests, _ := r.member(top, "", "tests").array(); len(tests) > maxTests {
		r.add("too_many_tests", "/tests", tooManyTests, maxTests, len(tests))
	}
	r.member(top, "", "require_tests").boolean()
}

func readStep(r *reader, id string, raw json.RawMessage) *writtenStep {
	s := &writtenStep{id: id}
	members, ok := r.object(raw, s.at())
	if !ok {
		s.waysLost = true
		return s
	}
	r.known(members, s.at(), "a step", "kind", "description", "params", "expr", "timeout_seconds", "max_retries", "retry_backoff",
		"retry_base_seconds", "retry_cap_seconds", "retry_jitter", "retry_on_timeout", "transitions", "sla")
	member := func(name string) value { return r.member(members, s.at(), name) }
	s.kind, _ = member("kind").text()
	member("description").text()
	if s.given, ok = member("params").object(); ok {
		s.paramsJSON = members["params"]
	}
	s.params = s.given
	s.expr = member("expr").textPointer()
	s.timeout = member("timeout_seconds").numberPointer()
	s.maxRetries = member("max_retries").numberPointer()
	s.backoff = member("retry_backoff").textPointer()
	s.retryBase = member("retry_base_seconds").numberPointer()
	s.retryCap = member("retry_cap_seconds").numberPointer()
	s.retryJitter = member("retry_jitter").boolean()
	s.retryOnTimeout = member("retry_on_timeout").boolean()
	s.sla = readSLA(member("sla"))
	targets, _ := member("transitions").object()
	s.waysLost = r.lost(s.at("transitions"))
	s.outcomes = sortedKeys(targets)
	s.transitions = make(map[string]string, len(targets))
	for _, outcome := range s.outcomes {
		if target, ok := r.member(targets, s.at("transitions"), outcome).text(); ok {
			s.transitions[outcome] = target
		} else {
			s.waysLost = true
		}
	}
	return s
}

func readSLA(v value) *writtenSLA {
	members, ok := v.object()
	if !ok {
		return nil
	}
	v.r.known(members, v.at, "an sla", "warn_after_seconds", "breach_after_seconds")
	return &writtenSLA{
		at:     v.at,
		warn:   v.r.member(members, v.at, "warn_after_seconds").numberPointer(),
		breach: v.r.member(members, v.at, "breach_after_seconds").numberPointer(),
	}
}

// compile gives the service level that was written; nil asks for none.
func (w *writtenSLA) compile() (sla SLA) {
	if w == nil {
		return sla
	}
	for _, written := range []struct {
		seconds *float64
		target  *time.Duration
	}{{w.warn, &sla.WarnAfter}, {w.breach, &sla.BreachAfter}} {
		if written.seconds != nil {
			*written.target = duration(min(max(*written.seconds, 0), maxWorkflowTimeout.Seconds()))
		}
	}
	return sla
}

// duration turns written seconds into time, at microsecond grain.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds*1e6)) * time.Microsecond
}

func addJSONError(p *problems, err error) {
	bad, ok := errors.AsType[*canon.Error](err)
	switch {
	case !ok:
		p.add("invalid_json", "", "%s", err)
	case bad.TooLarge:
		p.add("too_large", "", "%s", bad.Message)
	default:
		p.add("invalid_json", bad.Pointer, "%s", bad.Message)
	}
}
