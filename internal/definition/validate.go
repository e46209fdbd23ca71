package definition

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Bounds on one step.
const (
	maxRetries      = 100
	minSeconds      = 0.001
	maxRetrySeconds = 7 * 24 * 3600
)

// Environment is what an organisation can use.
type Environment struct {
	// ReasonCodes are the rows of the organisation over those of the system,
	// shadowing already applied. A row that is not active cannot be used.
	ReasonCodes []rondo.ReasonCode
	// Kinds are the organisation's own kinds, all versions; the newest active
	// one counts. Built-in kinds are always there.
	Kinds []rondo.StepKind
}

// Report is everything that is wrong with a definition, in order of place. A
// definition with errors cannot be published; warnings are for the author.
type Report struct {
	Errors   []rondo.FieldError `json:"errors"`
	Warnings []rondo.FieldError `json:"warnings"`
}

// Valid reports whether the definition can be published.
func (r Report) Valid() bool { return len(r.Errors) == 0 }

// Err returns nil for a valid definition, else a *rondo.Error that lists every
// error.
func (r Report) Err() error {
	if r.Valid() {
		return nil
	}
	return &rondo.Error{
		Code: rondo.CodeInvalidDef, Message: "the definition cannot be published",
		Hint: "correct each field listed", Fields: r.Errors,
	}
}

// Validate judges a definition by every rule that holds at publish time. It
// never stops at the first finding, and never panics, whatever the body.
func Validate(body json.RawMessage, env Environment) Report {
	v := &validator{kinds: kindsOf(env), codes: map[string]rondo.ReasonCode{}}
	for _, code := range env.ReasonCodes {
		if code.Scope == ScopeHalt {
			v.codes[code.Code] = code
		}
	}
	if v.doc = readDocument(body, &v.problems); v.doc != nil {
		v.doc.resolve(v.kinds)
		v.checkHead()
		v.checkSteps()
		v.checkGraph()
		v.checkBranches()
		v.checkPaths()
	}
	v.sort()
	return Report{Errors: nonNil(v.errors), Warnings: nonNil(v.warnings)}
}

// validator carries one judgement.
type validator struct {
	problems
	doc   *document
	kinds map[string]*Contract
	codes map[string]rondo.ReasonCode // scope halt
}

func (v *validator) contract(step *writtenStep) *Contract { return step.contract }

// checkSteps judges each step by itself.
func (v *validator) checkSteps() {
	for id, step := range v.doc.steps {
		v.checkID(id, step)
		v.checkTimes(step)
		contract := v.contract(step)
		if contract == nil {
			v.checkUnknownKind(step)
			continue
		}
		compiled := &Step{}
		v.checkBehaviour(step, compiled, v.checkParams(step, contract))
		v.checkOutcomes(step, contract, compiled)
		switch contract.Behaviour {
		case BehaviourDelay:
			v.checkDelay(step, compiled)
		case BehaviourParallel:
			v.checkJoin(step, compiled)
		case BehaviourCondition:
			v.checkExpression(step)
		case BehaviourHalt:
			v.checkReasonCode(step)
		case BehaviourRequest:
			v.checkFailureCode(step, contract)
		}
		if contract.Behaviour != BehaviourCondition && step.expr != nil {
			v.add("expr_not_for_kind", step.at("expr"), "only a condition has an expr; remove it or make the kind condition")
		}
		v.warnUnused(step, contract)
	}
}

func (v *validator) checkID(id string, step *writtenStep) {
	switch {
	case isReserved(id):
		v.add("step_id_reserved", step.at(), "%s has a meaning of its own and cannot name a step; rename the step", quote(id))
	case !isWord(id):
		v.add("step_id_invalid", step.at(), "%s cannot name a step; use lower-case letters, digits and underscores, beginning with a letter", quote(id))
	case len(id) > 128:
		v.add("step_id_invalid", step.at(), "a step id has at most 128 bytes; shorten it")
	}
}

func (v *validator) checkUnknownKind(step *writtenStep) {
	known := sortedKeys(v.kinds)
	switch near := suggestion(step.kind, known); {
	case v.lost(step.at(), step.at("kind")):
	case step.kind == "":
		v.add("kind_missing", step.at("kind"), "say what the step is; known kinds are %s", list(known, "and"))
	case near != "":
		v.add("kind_unknown", step.at("kind"), "there is no kind %s%s", quote(step.kind), near)
	default:
		v.add("kind_unknown", step.at("kind"), "there is no kind %s; known kinds are %s", quote(step.kind), list(known, "and"))
	}
}

// checkTimes judges timeouts and retries.
func (v *validator) checkTimes(step *writtenStep) {
	if t := step.timeout; t != nil {
		switch {
		case *t < minSeconds:
			v.add("timeout_invalid", step.at("timeout_seconds"), "a timeout is more than 0 seconds; remove it if the step may take as long as the workflow")
		case *t > v.doc.timeout.Seconds() && !v.lost("/workflow_timeout_seconds"):
			v.add("timeout_exceeds_workflow", step.at("timeout_seconds"), "the step may take %s s but the whole workflow only %.0f s; shorten it or raise workflow_timeout_seconds", seconds(*t), v.doc.timeout.Seconds())
		}
	}
	if n := step.maxRetries; n != nil && (*n != math.Trunc(*n) || *n < 0 || *n > maxRetries) {
		v.add("retries_invalid", step.at("max_retries"), "must be a whole number from 0 to %d", maxRetries)
	}
	if b := step.backoff; b != nil && *b != BackoffExponential && *b != BackoffLinear && *b != BackoffFixed {
		v.add("backoff_unknown", step.at("retry_backoff"), "%s is not a backoff; use exponential, linear or fixed%s", quote(*b), suggestion(*b, []string{BackoffExponential, BackoffLinear, BackoffFixed}))
	}
	base, limit := DefaultRetryBase.Seconds(), DefaultRetryCap.Seconds()
	for _, written := range []struct {
		name   string
		value  *float64
		target *float64
	}{{"retry_base_seconds", step.retryBase, &base}, {"retry_cap_seconds", step.retryCap, &limit}} {
		if written.value == nil {
			continue
		}
		*written.target = *written.value
		if *written.value < minSeconds || *written.value > maxRetrySeconds {
			v.add("retries_invalid", step.at(written.name), "must be more than 0 and at most %d seconds (7 days)", maxRetrySeconds)
		}
	}
	if base > limit {
		v.warn("retry_cap_below_base", step.at(), "the cap cuts the first wait of %s s, so every wait is %s s; raise retry_cap_seconds or lower retry_base_seconds", seconds(base), seconds(limit))
	}
}

// warnUnused points out settings that mean nothing on a step of its behaviour.
func (v *validator) warnUnused(step *writtenStep, contract *Contract) {
	if step.timeout == nil && !v.lost(step.at("timeout_seconds")) {
		if slices.Contains(step.outcomes, OnTimeout) && slices.Contains(contract.Optional, OnTimeout) {
			v.warn("no_effect", step.at("transitions", OnTimeout), "the step has no timeout_seconds, so on_timeout is never taken; give it a time or remove on_timeout")
		}
		if step.retryOnTimeout && contract.Behaviour == BehaviourRequest {
			v.warn("no_effect", step.at("retry_on_timeout"), "the step has no timeout_seconds, so retry_on_timeout has no effect; give it a time or remove it")
		}
	}
	why := "is done at once"
	switch contract.Behaviour {
	case BehaviourRequest:
		return
	case BehaviourDelay, BehaviourWait, BehaviourManual, BehaviourParallel:
		why = "is never retried"
		if contract.Behaviour == BehaviourDelay && step.timeout != nil {
			v.warn("no_effect", step.at("timeout_seconds"), "a delay ends by itself, so timeout_seconds has no effect; remove it")
		}
	default:
		for name, given := range map[string]bool{"timeout_seconds": step.timeout != nil, "sla": step.sla != nil} {
			if given {
				v.warn("no_effect", step.at(name), "a step of kind %s is done at once, so %s has no effect; remove it", step.kind, name)
			}
		}
	}
	for name, given := range map[string]bool{
		"max_retries": step.maxRetries != nil && *step.maxRetries != 0, "retry_backoff": step.backoff != nil,
		"retry_base_seconds": step.retryBase != nil, "retry_cap_seconds": step.retryCap != nil,
		"retry_jitter": step.retryJitter, "retry_on_timeout": step.retryOnTimeout,
	} {
		if given {
			v.warn("no_effect", step.at(name), "a step of kind %s %s, so %s has no effect; remove it", step.kind, why, name)
		}
	}
}

// checkParams judges params against the schema of the kind, and against what
// the behaviour needs. It reports whether nothing is wrong.
func (v *validator) checkParams(step *writtenStep, contract *Contract) bool {
	if v.lost(step.at("params")) {
		return false
	}
	if contract.ParamsSchema == nil && len(step.given) > 0 {
		v.add("params_invalid", step.at("params"), "a step of kind %s has no params; remove them", step.kind)
		return false
	}
	found := step.paramProblems()
	for _, problem := range found {
		what := "this"
		if problem.Pointer == step.at("params") {
			what = "params"
		}
		v.add("params_invalid", problem.Pointer, "%s %s", what, problem.Message)
	}
	return len(found) == 0
}

// checkBehaviour judges what the behaviour makes of the params. When they do not
// match their schema, what merely is not there has been said.
func (v *validator) checkBehaviour(step *writtenStep, compiled *Step, matches bool) {
	var found problems
	step.behave(compiled, &found)
	for _, problem := range found.errors {
		if matches || problem.Code != "params_invalid" {
			v.errors = append(v.errors, problem)
		}
	}
}

// paramProblems returns what is wrong with the params of a step: what it gives,
// and what it gets by default, against the schema of its kind, and whatever the
// behaviour uses against what that needs. A default that the kind's schema does
// not know is no business of that schema.
func (w *writtenStep) paramProblems() []rondo.FieldError {
	var found []rondo.FieldError
	judge := func(schema *Schema, counts func(name string) bool) {
		if schema == nil {
			return
		}
		judged := map[string]json.RawMessage{}
		for name, value := range w.params {
			if counts(name) {
				judged[name] = value
			}
		}
		raw, err := json.Marshal(judged)
		if err != nil {
			raw = json.RawMessage("null")
		}
		found = append(found, schema.check(raw, w.at("params"))...)
	}
	judge(w.contract.ParamsSchema, func(name string) bool {
		_, given := w.given[name]
		return given || slices.Contains(w.contract.ParamsSchema.props, name)
	})
	if needs := behaviourParams(w.contract.Behaviour); needs != nil {
		judge(needs, func(name string) bool { return slices.Contains(needs.props, name) })
	}
	slices.SortFunc(found, compareFields)
	return slices.Compact(found)
}

// checkOutcomes judges which outcomes the transitions name, and, for a final
// step, where they lead.
func (v *validator) checkOutcomes(step *writtenStep, contract *Contract, compiled *Step) {
	if contract.Behaviour == BehaviourHalt {
		if len(step.outcomes) > 0 {
			v.add("halt_has_transitions", step.at("transitions"), "a halt is the end of its way; remove the transitions")
		}
		return
	}
	mandatory := contract.Mandatory
	if contract.Behaviour == BehaviourManual {
		if compiled.Manual == nil || len(compiled.Manual.Outcomes) == 0 {
			return // what the outcomes are could not be read, and that is reported
		}
		mandatory = slices.DeleteFunc(slices.Clone(compiled.Manual.Outcomes), func(outcome string) bool {
			return !isWord(outcome) || slices.Contains(contract.Optional, outcome)
		})
	}
	allowed := slices.Concat(mandatory, contract.Optional)
	for _, outcome := range mandatory {
		if !slices.Contains(step.outcomes, outcome) && !v.lost(step.at("transitions")) {
			v.add("outcome_missing", step.at("transitions"), "say where %s leads, e.g. \"%s\": \"<step id>\"", outcome, outcome)
		}
	}
	for _, outcome := range step.outcomes {
		at := step.at("transitions", outcome)
		target, readable := step.transitions[outcome]
		if !slices.Contains(allowed, outcome) {
			v.add("outcome_unknown", at, "a step of kind %s has no outcome %s, only %s%s", step.kind, quote(outcome), list(allowed, "and"), suggestion(outcome, allowed))
		} else if contract.Behaviour == BehaviourFinal && readable && target != Terminal {
			v.add("final_target", at, "after the final step nothing may follow; lead %s to TERMINAL", outcome)
		}
	}
}

// checkReasonCode judges the reason of a halt step.
func (v *validator) checkReasonCode(step *writtenStep) {
	var word, note string
	if json.Unmarshal(step.params["reason_code"], &word) != nil || word == "" {
		return // the params schema has said so
	}
	at := step.at("params", "reason_code")
	code, found := v.codes[word]
	switch {
	case !found:
		v.add("reason_code_unknown", at, "there is no reason code %s of scope halt; create it or use another%s", quote(word), suggestion(word, sortedKeys(v.codes)))
	case !code.Active:
		v.add("reason_code_inactive", at, "the reason code %s is switched off; activate it or use another", quote(word))
	case code.RequiresNote:
		if json.Unmarshal(step.params["note"], &note) != nil || strings.TrimSpace(note) == "" {
			v.add("note_required", step.at("params"), "the reason code %s asks for a note; add \"note\" to the params", quote(word))
		}
	}
}

// checkFailureCode warns when a failure without on_failure would halt with a
// code that the organisation cannot use.
func (v *validator) checkFailureCode(step *writtenStep, contract *Contract) {
	if slices.Contains(step.outcomes, OnFailure) || v.lost(step.at("transitions")) {
		return
	}
	if code, found := v.codes[contract.FailureHaltCode]; !found || !code.Active {
		v.warn("failure_code_unusable", step.at("transitions"), "a failure would halt with %s, which is not an active reason code; activate it or name on_failure", quote(contract.FailureHaltCode))
	}
}

func seconds(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.3f", n), ".000") }

func nonNil(fields []rondo.FieldError) []rondo.FieldError {
	if fields == nil {
		return []rondo.FieldError{}
	}
	return fields
}
