package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	strictjson "github.com/go-json-experiment/json"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
	"github.com/rondo-engine/rondo/internal/cond"
)

// frozen is the document that drives instances: a definition and the contract
// of every kind it uses, so that nothing published later can change it.
type frozen struct {
	Definition json.RawMessage            `json:"definition"`
	Kinds      map[string]json.RawMessage `json:"kinds"`
}

// Freeze copies a definition and the contracts of the kinds it uses into one
// canonical document. The tests of the definition are left out: they drive
// nothing. The hash (hex SHA-256) names its content: equal content has an equal
// hash. It does not judge the definition; Validate does.
func Freeze(body json.RawMessage, env Environment) (document []byte, hash string, err error) {
	var p problems
	d := readDocument(body, &p)
	if d == nil || len(p.errors) > 0 {
		p.sort()
		return nil, "", &rondo.Error{Code: rondo.CodeInvalidDef, Op: "freeze definition", Message: "the definition is not well-formed", Fields: p.errors}
	}
	kinds := kindsOf(env)
	driving, err := withoutTests(body)
	if err != nil {
		return nil, "", fmt.Errorf("freeze definition: %w", err)
	}
	doc := frozen{Definition: driving, Kinds: map[string]json.RawMessage{}}
	for id, step := range d.steps {
		contract := kinds[step.kind]
		if contract == nil {
			return nil, "", &rondo.Error{Code: rondo.CodeInvalidDef, Op: "freeze definition", Message: fmt.Sprintf("step %s is of kind %s, which is not known", quote(id), quote(step.kind))}
		}
		doc.Kinds[step.kind] = contract.JSON()
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, "", fmt.Errorf("freeze definition: %w", err)
	}
	if document, err = canon.JSON(raw); err != nil {
		return nil, "", fmt.Errorf("freeze definition: %w", err)
	}
	if hash, err = canon.Digest(document); err != nil {
		return nil, "", fmt.Errorf("freeze definition: %w", err)
	}
	return document, hash, nil
}

// FrozenKinds returns the organisation's own kinds out of a frozen document, by
// name, as they were when it was frozen. They have no version and no author.
func FrozenKinds(document []byte) ([]rondo.StepKind, error) {
	var doc frozen
	if err := strictjson.Unmarshal(document, &doc, strictjson.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read frozen kinds: %w", err)
	}
	var kinds []rondo.StepKind
	for _, name := range sortedKeys(doc.Kinds) {
		if builtinContracts()[name] == nil {
			kinds = append(kinds, rondo.StepKind{Name: name, Contract: doc.Kinds[name], Status: "active"})
		}
	}
	return kinds, nil
}

// Compile makes the snapshot of a frozen document. It checks what the case
// machine relies on (targets, kinds, expressions, no cycle) and nothing else.
func Compile(document []byte) (*Snapshot, error) {
	s, err := compile(document)
	if err != nil {
		return nil, &rondo.Error{Code: rondo.CodeInvalidDef, Op: "compile definition", Err: err}
	}
	return s, nil
}

func compile(document []byte) (*Snapshot, error) {
	hash, err := canon.Digest(document)
	if err != nil {
		return nil, err
	}
	var doc frozen
	if err := strictjson.Unmarshal(document, &doc, strictjson.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	var p problems
	d := readDocument(doc.Definition, &p)
	if d == nil || len(p.errors) > 0 {
		p.sort()
		return nil, fmt.Errorf("the definition is not well-formed: %s %s", p.errors[0].Pointer, p.errors[0].Message)
	}
	contracts := map[string]*Contract{}
	for name, raw := range doc.Kinds {
		if contracts[name], err = parseContract(raw, false); err != nil {
			return nil, fmt.Errorf("kind %s: %w", quote(name), err)
		}
	}
	d.resolve(contracts)
	s := &Snapshot{
		Hash: hash, Name: d.name, DefaultMode: d.defaultMode, WorkflowTimeout: d.timeout, Start: d.start, Search: d.search,
		SLA: d.sla.compile(), Steps: make(map[string]*Step, len(d.steps)),
	}
	for id, written := range d.steps {
		if s.Steps[id], err = compileStep(written); err != nil {
			return nil, fmt.Errorf("step %s: %w", quote(id), err)
		}
	}
	return s, s.index(d)
}

func compileStep(w *writtenStep) (*Step, error) {
	contract := w.contract
	if contract == nil {
		return nil, fmt.Errorf("the contract of kind %s is missing", quote(w.kind))
	}
	s := &Step{
		ID: w.id, Kind: w.kind, Contract: contract, Params: w.params, Transitions: w.transitions,
		Backoff: BackoffExponential, RetryBase: DefaultRetryBase, RetryCap: DefaultRetryCap,
		RetryJitter: w.retryJitter, RetryOnTimeout: w.retryOnTimeout,
		SLA: w.sla.compile(), Fork: w.fork, Branch: w.branch,
	}
	if w.maxRetries != nil {
		s.MaxRetries = int(min(max(*w.maxRetries, 0), maxRetries))
	}
	if w.backoff != nil {
		s.Backoff = *w.backoff
	}
	seconds := func(written *float64, otherwise time.Duration) time.Duration {
		if written == nil {
			return otherwise
		}
		return duration(min(max(*written, 0), maxWorkflowTimeout.Seconds()))
	}
	s.Timeout = seconds(w.timeout, 0)
	s.RetryBase = seconds(w.retryBase, DefaultRetryBase)
	s.RetryCap = seconds(w.retryCap, DefaultRetryCap)
	if contract.Behaviour == BehaviourCondition {
		src, _ := w.expression()
		expr, err := cond.Parse(src)
		if err != nil {
			return nil, fmt.Errorf("expr: %w", err)
		}
		s.Expr = expr
	}
	var p problems
	if w.behave(s, &p); len(p.errors) > 0 {
		p.sort()
		return nil, errors.New(p.errors[0].Message)
	}
	return s, nil
}

// expression returns the source of a condition and where it is written: the
// step's expr, its alias among the params, or what the kind sets by default.
func (w *writtenStep) expression() (src, at string) {
	if w.expr != nil {
		return *w.expr, w.at("expr")
	}
	if raw, given := w.params["expr"]; given && json.Unmarshal(raw, &src) == nil {
		if _, own := w.given["expr"]; !own {
			return src, w.at("kind")
		}
		return src, w.at("params", "expr")
	}
	return "", w.at("expr")
}

// index computes what the engine looks up: order, reachability, event types.
func (s *Snapshot) index(d *document) error {
	if s.Steps[s.Start] == nil {
		return fmt.Errorf("start_step %s does not exist", quote(s.Start))
	}
	if err := s.checkTargets(); err != nil {
		return err
	}
	g := d.graph()
	order, cycles := g.order()
	if len(cycles) > 0 {
		return errors.New("the steps form a cycle")
	}
	s.Order = order
	s.reachable = make(map[string]map[string]bool, len(order))
	s.byEvent, s.waiting = map[string][]*Step{}, map[string][]*Step{}
	for _, id := range order {
		s.reachable[id] = g.reachableFrom(id)
		contract := s.Steps[id].Contract
		for _, eventType := range contract.Answers() {
			s.byEvent[eventType] = append(s.byEvent[eventType], s.Steps[id])
		}
		if awaited := s.Steps[id].WaitFor; awaited != "" {
			s.waiting[awaited] = append(s.waiting[awaited], s.Steps[id])
		}
	}
	s.inbound = slices.Compact(slices.Sorted(slices.Values(append(sortedKeys(s.byEvent), sortedKeys(s.waiting)...))))
	return nil
}

// checkTargets holds that every way leads to a step or an end, and that a
// branch is left by JOIN alone.
func (s *Snapshot) checkTargets() error {
	for id, step := range s.Steps {
		here := place{step.Fork, step.Branch}
		lead := func(outcome, target string, to place) error {
			next := s.Steps[target]
			switch {
			case target == Join && here.fork != "" && to == here, target == Terminal && here.fork == "" && to == here:
				return nil
			case next == nil:
				return fmt.Errorf("step %s: %s leads to %s, which does not exist there", quote(id), quote(outcome), quote(target))
			case to != place{next.Fork, next.Branch}:
				return fmt.Errorf("step %s: %s leads to %s, which is in another branch", quote(id), quote(outcome), quote(target))
			}
			return nil
		}
		for outcome, target := range step.Transitions {
			if err := lead(outcome, target, here); err != nil {
				return err
			}
		}
		for _, b := range step.Branches {
			if err := lead(b.Name, b.Start, place{id, b.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}
