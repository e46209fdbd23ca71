package definition

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo/event"
	"github.com/rondo-engine/rondo/internal/cond"
)

// The words of a parallel step's join.
const (
	joinAll = "all"
	joinAny = "any"
)

// behave reads what the step's behaviour takes from its params into s and notes
// what cannot be used. Validate and Compile both read it here, so that what one
// accepts the other can use. What is missing or of another type, which the
// schema of the behaviour says too, has the code params_invalid.
func (w *writtenStep) behave(s *Step, p *problems) {
	switch w.contract.Behaviour {
	case BehaviourDelay:
		w.readDelay(s, p)
	case BehaviourWait:
		w.readWait(s, p)
	case BehaviourManual:
		w.readManual(s, p)
	case BehaviourParallel:
		w.readParallel(s, p)
	}
}

// param decodes one param; false when it is absent or of another type.
func (w *writtenStep) param(name string, target any) bool {
	raw, given := w.params[name]
	return given && json.Unmarshal(raw, target) == nil
}

func (w *writtenStep) readDelay(s *Step, p *problems) {
	var length float64
	bySeconds, byPath := w.param("seconds", &length), w.param("until", &s.Until)
	_, seconds := w.params["seconds"]
	_, until := w.params["until"]
	switch {
	case seconds && until:
		p.add("delay_twice", w.at("params"), "the delay has both seconds and until; keep one of them")
	case !seconds && !until:
		p.add("delay_missing", w.at("params"), `say how long, e.g. "seconds": 3600, or until when, e.g. "until": "case.metadata.due_at"`)
	case !bySeconds && !byPath:
		p.add("params_invalid", w.at("params"), "seconds is a number, until a path")
	case bySeconds:
		s.Delay = max(duration(min(length, maxWorkflowTimeout.Seconds())), time.Microsecond)
	case !isPath(s.Until):
		p.add("path_invalid", w.at("params", "until"), "%s is not a path; write names joined by dots, e.g. case.metadata.due_at", quote(s.Until))
	}
}

func (w *writtenStep) readWait(s *Step, p *problems) {
	if w.param("event_type", &s.WaitFor) {
		checkAwaited(s.WaitFor, w.at("params", "event_type"), p)
	} else {
		p.add("params_invalid", w.at("params"), "name the event_type to wait for")
	}
	var src string
	if !w.param("match", &src) {
		return
	}
	match, err := cond.Parse(src)
	if err != nil {
		p.add("expr_invalid", w.at("params", "match"), "%s", err)
		return
	}
	s.Match = match
}

// checkAwaited judges whether an event of the type can ever come for a case
// that has begun.
func checkAwaited(eventType, at string, p *problems) {
	switch {
	case !isEventType(eventType):
		p.add("event_type_invalid", at, "%s is not an event type; use lower-case words joined by dots, e.g. ext.contract.signed", quote(eventType))
	case eventType == event.TypeCaseCreated:
		p.add("event_type_not_awaitable", at, "%s begins a case and never comes again for it; wait for another type", quote(eventType))
	case event.RunAnswer(eventType):
		p.add("event_type_not_awaitable", at, "%s answers a step of a run and never comes to a case; start the run by a step of kind start_run", quote(eventType))
	case event.PublishedByOrchestrator(eventType):
		p.add("event_type_not_awaitable", at, "only the orchestrator publishes %s, so nobody can send it; wait for what a module publishes", quote(eventType))
	case !event.Known(eventType) && !strings.HasPrefix(eventType, ExtPrefix):
		var awaitable []string
		for _, known := range event.Types() {
			if known != event.TypeCaseCreated && !event.PublishedByOrchestrator(known) && !event.RunAnswer(known) {
				awaitable = append(awaitable, known)
			}
		}
		p.add("event_type_unknown", at, "%s is not in the catalogue; types of your own begin with ext., e.g. %s%s", quote(eventType), quote(ExtPrefix+eventType), suggestion(eventType, awaitable))
	}
}

func (w *writtenStep) readManual(s *Step, p *problems) {
	m := &Manual{}
	s.Manual = m
	if !w.param("title", &m.Title) || !w.param("outcomes", &m.Outcomes) || len(m.Outcomes) == 0 {
		p.add("params_invalid", w.at("params"), "a step for a person needs a title and its outcomes")
	}
	w.param("instructions", &m.Instructions)
	w.param("assignees", &m.Assignees)
	for _, outcome := range m.Outcomes {
		if outcome == OnTimeout || outcome == OnFailure {
			p.add("outcome_invalid", w.at("params", "outcomes"), "%s comes from the engine and is not a person's choice; use a word like on_approved", quote(outcome))
		}
	}
	form, given := w.params["form"]
	if !given {
		return
	}
	if m.Form = readForm(form, w.at("params", "form"), p); m.Form == nil {
		return
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, form); err != nil {
		p.add("schema_invalid", w.at("params", "form"), "%s", err)
		return
	}
	m.FormJSON = compact.Bytes()
}

// readForm reads the schema of what a person fills in: an object without the
// member outcome, which holds the choice made.
func readForm(form json.RawMessage, at string, p *problems) *Schema {
	schema := readObjectSchema(form, at, p)
	if schema == nil {
		return nil
	}
	if slices.Contains(schema.props, "outcome") {
		p.add("form_hides_outcome", at+"/properties/outcome", "the output has a member outcome of its own, the choice made; give this field another name")
	}
	if slices.Contains(schema.required, "outcome") {
		p.add("form_hides_outcome", at+"/required", "outcome is the choice made and no part of the form, so nobody could fill it in; do not require it")
	}
	return schema
}

func (w *writtenStep) readParallel(s *Step, p *problems) {
	s.Branches = w.branches
	if len(s.Branches) == 0 {
		p.add("params_invalid", w.at("params", "branches"), `name the branches and the step each begins with, e.g. {"legal": "legal_check", "credit": "credit_check"}`)
		return
	}
	s.Need = w.need()
	if s.Need < 1 || s.Need > len(s.Branches) {
		p.add("join_invalid", w.at("params", "join"), "join is all, any, or {\"at_least\": n} with n from 1 to %d, the number of branches", len(s.Branches))
	}
}

// need is how many branches must join; 0 when what is written has no meaning.
func (w *writtenStep) need() int {
	raw, given := w.params["join"]
	if !given {
		return len(w.branches)
	}
	var word string
	var count map[string]float64
	switch {
	case json.Unmarshal(raw, &word) == nil:
		switch word {
		case joinAll:
			return len(w.branches)
		case joinAny:
			return 1
		}
	case json.Unmarshal(raw, &count) == nil && len(count) == 1 && count["at_least"] == math.Trunc(count["at_least"]):
		return int(min(max(count["at_least"], 0), maxSteps))
	}
	return 0
}
