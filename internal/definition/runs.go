package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/event"
)

// runJSON is what the rules of a run look at. Its body has the shape.
type runJSON struct {
	Steps       []runStepJSON              `json:"steps"`
	Changes     map[string]json.RawMessage `json:"changes"`
	InputSchema json.RawMessage            `json:"input_schema"`
}

type runStepJSON struct {
	ID           string                     `json:"id"`
	Skill        string                     `json:"skill"`
	DependsOn    []string                   `json:"depends_on"`
	Input        map[string]json.RawMessage `json:"input"`
	OutputSchema json.RawMessage            `json:"output_schema"`
	Timeout      *string                    `json:"timeout"`
	Cache        struct {
		TTL *string `json:"ttl"`
	} `json:"cache"`
	Retry struct {
		Backoff *string `json:"backoff"`
	} `json:"retry"`
	Raise *struct {
		EventType string          `json:"event_type"`
		CaseID    json.RawMessage `json:"case_id"`
		Payload   json.RawMessage `json:"payload"`
	} `json:"raise"`
}

// runChecker carries one judgement of a run.
type runChecker struct {
	*problems
	places map[string]int      // step → its place in the list
	needs  map[string][]string // step → steps it depends on that exist
	before map[string]stepSet  // step → every step before it; nil when there is a cycle
}

// stepSet is a set of places. Runs have thousands of steps, most of them before
// the last ones, so that a bit each is what can be afforded.
type stepSet []uint64

func (s stepSet) add(place int)      { s[place/64] |= 1 << (place % 64) }
func (s stepSet) has(place int) bool { return s != nil && s[place/64]&(1<<(place%64)) != 0 }
func (s stepSet) addAll(others stepSet) {
	for i, word := range others {
		s[i] |= word
	}
}

func checkRun(body json.RawMessage, p *problems) {
	var run runJSON
	if err := json.Unmarshal(body, &run); err != nil {
		p.add("invalid_json", "", "%s", err)
		return
	}
	judgeRun(run, p)
}

// checkRunBeside holds the rules for what stands beside the mistakes that were found
// in the shape of a body, so that all is told at once: what can be read of it is
// judged, but not the places that are wrong already.
func checkRunBeside(body json.RawMessage, p *problems) {
	var run runJSON
	if err := json.Unmarshal(body, &run); err != nil {
		if _, partly := errors.AsType[*json.UnmarshalTypeError](err); !partly {
			return
		}
	}
	if len(run.Steps) == 0 {
		return
	}
	var more problems
	judgeRun(run, &more)
	wrong := p.errors
	for _, f := range more.errors {
		if !slices.ContainsFunc(wrong, func(known rondo.FieldError) bool {
			return known.Pointer == f.Pointer || known.Pointer != "" && strings.HasPrefix(f.Pointer, known.Pointer+"/")
		}) {
			p.errors = append(p.errors, f)
		}
	}
	p.warnings = append(p.warnings, more.warnings...)
}

// isChange reports whether a place is that of one change.
func isChange(pointer string) bool {
	name, under := strings.CutPrefix(pointer, "/changes/")
	return under && !strings.Contains(name, "/")
}

func judgeRun(run runJSON, p *problems) {
	c := runChecker{problems: p, places: map[string]int{}, needs: map[string][]string{}}
	if len(run.Steps) == 0 {
		p.add("steps_missing", "/steps", "a run needs at least one step")
	}
	readSchema(run.InputSchema, "/input_schema", p)
	for i, step := range run.Steps {
		if first, twice := c.places[step.ID]; twice {
			p.add("step_repeated", pointer("steps", fmt.Sprint(i), "id"), "the id %s is that of step %d already; ids are unique", quote(step.ID), first)
			continue
		}
		c.places[step.ID] = i
	}
	ids := sortedKeys(c.places)
	for i, step := range run.Steps {
		for j, need := range step.DependsOn {
			if _, exists := c.places[need]; !exists {
				p.add("target_unknown", pointer("steps", fmt.Sprint(i), "depends_on", fmt.Sprint(j)), "there is no step %s%s", quote(need), suggestion(need, ids))
			} else {
				c.needs[step.ID] = append(c.needs[step.ID], need)
			}
		}
	}
	c.findCycles(run.Steps)
	for i, step := range run.Steps {
		c.checkStep(pointer("steps", fmt.Sprint(i)), step, ids)
	}
	c.checkChanges(run.Changes, ids)
}

// findCycles names every circle of dependencies, and without one learns what is
// before each step.
func (c *runChecker) findCycles(steps []runStepJSON) {
	const inPath, done = 1, 2
	state := map[string]int{}
	before := map[string]stepSet{}
	var path []string
	cyclic := false
	var visit func(id string)
	visit = func(id string) {
		state[id] = inPath
		path = append(path, id)
		all := make(stepSet, len(steps)/64+1)
		for _, need := range c.needs[id] {
			switch state[need] {
			case inPath:
				cyclic = true
				way := append(slices.Clone(path[slices.Index(path, need):]), need)
				c.add("cycle", pointer("steps", fmt.Sprint(c.places[id]), "depends_on"), "this closes a circle (%s); a step cannot wait for itself", strings.Join(way, " → "))
				continue
			case 0:
				visit(need)
			}
			all.add(c.places[need])
			all.addAll(before[need])
		}
		before[id] = all
		path = path[:len(path)-1]
		state[id] = done
	}
	for _, step := range steps {
		if state[step.ID] == 0 {
			visit(step.ID)
		}
	}
	if !cyclic {
		c.before = before
	}
}

func (c *runChecker) checkStep(at string, step runStepJSON, ids []string) {
	readSchema(step.OutputSchema, at+"/output_schema", c.problems)
	c.checkDuration(step.Timeout, at+"/timeout", time.Millisecond, maxWorkflowTimeout)
	c.checkDuration(step.Cache.TTL, at+"/cache/ttl", time.Second, maxWorkflowTimeout)
	c.checkDuration(step.Retry.Backoff, at+"/retry/backoff", 100*time.Millisecond, time.Minute)
	for _, name := range sortedKeys(step.Input) {
		c.checkSelector(step.Input[name], at+pointer("input", name), stepReader{step: step.ID}, ids, 0)
	}
	if step.Raise != nil {
		if t := step.Raise.EventType; !isEventType(t) || event.PublishedByOrchestrator(t) || event.RunAnswer(t) || !event.Known(t) && !strings.HasPrefix(t, ExtPrefix) {
			c.add("event_type_invalid", at+"/raise/event_type", "%s cannot be raised; use a type of your own, e.g. ext.campaign.built", quote(t))
		}
		for name, selector := range map[string]json.RawMessage{"case_id": step.Raise.CaseID, "payload": step.Raise.Payload} {
			if selector != nil {
				c.checkSelector(selector, at+pointer("raise", name), stepReader{step: step.ID, itself: true}, ids, 0)
			}
		}
	}
}

func (c *runChecker) checkDuration(written *string, at string, least, most time.Duration) {
	if written == nil {
		return
	}
	if d, err := time.ParseDuration(*written); err != nil || d < least || d > most {
		c.add("out_of_range", at, "%s is not a time from %s to %s; write e.g. 30s, 5m or 720h", quote(*written), least, most)
	}
}

// selectorWords are what one selector may be; each takes the members named
// beside it.
var selectorWords = map[string][]string{
	"trigger": nil, "change": nil, "const": nil, "merge": nil, "pick": nil,
	"step": {"path"}, "base": {"path"}, "registry": nil,
}

// stepReader is who reads by a selector. What a step raises may be of its own output.
type stepReader struct {
	step   string
	itself bool
}

// checkSelector judges one selector of a step: it is exactly one thing, and
// reads only what is surely there before.
func (c *runChecker) checkSelector(raw json.RawMessage, at string, by stepReader, ids []string, depth int) {
	var members map[string]json.RawMessage
	if depth > maxSelectorDepth || json.Unmarshal(raw, &members) != nil {
		c.add("selector_invalid", at, `a selector is an object, e.g. {"trigger": "brief"} or {"step": "plan", "path": "data.title"}, at most %d deep`, maxSelectorDepth)
		return
	}
	var words []string
	for _, name := range sortedKeys(members) {
		if _, known := selectorWords[name]; known {
			words = append(words, name)
		}
	}
	if len(words) != 1 {
		c.add("selector_invalid", at, "a selector is exactly one of %s", list(sortedKeys(selectorWords), "and"))
		return
	}
	word := words[0]
	for _, name := range sortedKeys(members) {
		if name != word && !slices.Contains(selectorWords[word], name) {
			c.add("unknown_member", at+pointer(name), "%s does not go with %s; remove it", quote(name), word)
		}
	}
	switch value := members[word]; word {
	case "trigger", "change":
		c.checkText(value, at+pointer(word))
	case "step", "base":
		if id, ok := c.checkText(value, at+pointer(word)); ok {
			c.checkRead(word, id, at+pointer(word), by, ids)
		}
		if path, given := members["path"]; given {
			c.checkText(path, at+"/path")
		}
	case "merge":
		var parts []json.RawMessage
		if json.Unmarshal(value, &parts) != nil || len(parts) == 0 {
			c.add("selector_invalid", at+"/merge", "merge is a list of selectors")
		}
		for i, part := range parts {
			c.checkSelector(part, at+pointer("merge", fmt.Sprint(i)), by, ids, depth+1)
		}
	case "pick":
		var pick struct {
			From json.RawMessage `json:"from"`
			Keys []string        `json:"keys"`
		}
		if json.Unmarshal(value, &pick) != nil || pick.From == nil || len(pick.Keys) == 0 {
			c.add("selector_invalid", at+"/pick", `pick is {"from": selector, "keys": ["…"]}`)
			return
		}
		c.checkSelector(pick.From, at+"/pick/from", by, ids, depth+1)
	case "registry":
		c.checkRegistry(value, at+"/registry")
	}
}

func (c *runChecker) checkText(raw json.RawMessage, at string) (text string, ok bool) {
	if json.Unmarshal(raw, &text) != nil || text == "" {
		c.add("wrong_type", at, "must be a string with something in it")
		return "", false
	}
	return text, true
}

// checkRead judges which step a selector reads: one that is surely done, or one
// of the base run.
func (c *runChecker) checkRead(word, id, at string, by stepReader, ids []string) {
	if _, exists := c.places[id]; !exists {
		c.add("target_unknown", at, "there is no step %s%s", quote(id), suggestion(id, ids))
		return
	}
	if word != "step" || by.itself && id == by.step {
		return
	}
	if id == by.step {
		c.add("path_never_produced", at, "a step cannot read its own output")
		return
	}
	if c.before != nil && !c.before[by.step].has(c.places[id]) {
		c.add("path_never_produced", at, "%s does not depend on %s, so its output may not be there; add it to depends_on", quote(by.step), quote(id))
	}
}

func (c *runChecker) checkRegistry(raw json.RawMessage, at string) {
	var ref map[string]string
	if json.Unmarshal(raw, &ref) != nil || (ref["prompt"] == "") == (ref["config"] == "") {
		c.add("selector_invalid", at, `registry is {"prompt": id, "version": v} or {"config": id, "version": v}`)
	}
}

func (c *runChecker) checkChanges(changes map[string]json.RawMessage, ids []string) {
	for _, name := range sortedKeys(changes) {
		var seeds []string
		if json.Unmarshal(changes[name], &seeds) != nil {
			continue // "*"
		}
		for i, seed := range seeds {
			if _, exists := c.places[seed]; !exists {
				c.add("target_unknown", pointer("changes", name, fmt.Sprint(i)), "there is no step %s%s", quote(seed), suggestion(seed, ids))
			}
		}
	}
}
