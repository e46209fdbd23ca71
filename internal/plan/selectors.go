package plan

import (
	"encoding/json"
	"slices"

	"github.com/rondo-engine/rondo/internal/canon"
)

// selector is one declarative read. Exactly one of what it can be is set, as word
// says.
type selector struct {
	word  string // trigger, step, base, change, const, registry, merge, pick
	path  path
	step  int    // step
	id    string // base: a step of the base run
	value json.RawMessage
	// registry says where a value of the registry came from.
	registry string // "prompt" or "config"
	parts    []selector
	keys     []string // pick, sorted
}

const maxSelectorDepth = 8

// selectorWords are what a selector can be.
const selectorWords = "base, change, const, merge, pick, registry, step, trigger"

// wordOf returns what a member says a selector is.
func wordOf(name []byte) (word string, known bool) {
	switch string(name) {
	case "trigger":
		return "trigger", true
	case "step":
		return "step", true
	case "base":
		return "base", true
	case "change":
		return "change", true
	case "const":
		return "const", true
	case "registry":
		return "registry", true
	case "merge":
		return "merge", true
	case "pick":
		return "pick", true
	}
	return "", false
}

// reader parses the selectors of one step.
type reader struct {
	*compiler
	step  int
	self  bool // the step's own output can be read: raise
	reads []int
}

// selector parses one; at is where it stands.
func (r *reader) selector(raw json.RawMessage, at *place, depth int) selector {
	if depth > maxSelectorDepth || kindOf(raw) != '{' {
		r.add("selector_invalid", at, `a selector is an object, e.g. {"trigger": "brief"} or {"step": "plan", "path": "data.title"}, at most %d deep`, maxSelectorDepth)
		return selector{}
	}
	s := selector{}
	words := 0
	var value, way json.RawMessage
	var strange []string
	eachMember(raw, func(quoted, of []byte) {
		name, _ := canon.Text(quoted)
		if word, known := wordOf(name); known {
			words++
			s.word, value = word, of
		} else if string(name) == "path" {
			way = of
		} else {
			strange = append(strange, string(name))
		}
	})
	if words != 1 {
		r.add("selector_invalid", at, "a selector is exactly one of %s", selectorWords)
		return selector{}
	}
	if way != nil && s.word != "step" && s.word != "base" {
		strange = append(strange, "path")
	}
	for _, name := range strange {
		here := at.member(name)
		r.add("unknown_member", &here, "%q does not go with %s; remove it", name, s.word)
	}
	here := at.member(s.word)
	r.word(&s, value, way, &here, depth)
	return s
}

// word reads what a selector of its kind has. at is where its value stands.
func (r *reader) word(s *selector, value, way json.RawMessage, at *place, depth int) {
	switch s.word {
	case "trigger", "change":
		s.path = r.path(value, at)
	case "const":
		s.value = value
	case "step", "base":
		if s.id = r.text(value, at); s.id != "" {
			s.step = r.readStep(s.word, s.id, at)
		}
		if way != nil {
			beside := at.up.member("path")
			s.path = r.path(way, &beside)
		}
	case "merge":
		var parts []json.RawMessage
		if json.Unmarshal(value, &parts) != nil || len(parts) == 0 {
			r.add("selector_invalid", at, "merge is a list of selectors")
		}
		for i, part := range parts {
			here := at.element(i)
			s.parts = append(s.parts, r.selector(part, &here, depth+1))
		}
	case "pick":
		var pick struct {
			From json.RawMessage `json:"from"`
			Keys []string        `json:"keys"`
		}
		if json.Unmarshal(value, &pick) != nil || pick.From == nil || len(pick.Keys) == 0 {
			r.add("selector_invalid", at, `pick is {"from": selector, "keys": ["…"]}`)
			return
		}
		slices.Sort(pick.Keys)
		s.keys = slices.Compact(pick.Keys)
		from := at.member("from")
		s.parts = []selector{r.selector(pick.From, &from, depth+1)}
	case "registry":
		s.registry, s.value = r.registered(value, at)
	}
}

func (r *reader) text(raw json.RawMessage, at *place) string {
	text, _ := canon.Text(raw)
	if len(text) == 0 {
		r.add("wrong_type", at, "must be a string with something in it")
	}
	return string(text)
}

func (r *reader) path(raw json.RawMessage, at *place) path {
	text := r.text(raw, at)
	if text == "" {
		return nil
	}
	way, err := parsePath(text)
	if err != nil {
		r.add("path_invalid", at, "%s", err)
	}
	return way
}

// readStep judges which step a selector reads: one that is surely done. A step of
// the base run need not be one of this version.
func (r *reader) readStep(word, id string, at *place) int {
	if word == "base" {
		return -1
	}
	read, exists := r.w.index[id]
	switch {
	case !exists:
		r.add("target_unknown", at, "there is no step %q%s", id, r.suggestion(id))
		return -1
	case read == r.step && r.self:
	case read == r.step:
		r.add("path_never_produced", at, "a step cannot read its own output")
	case !r.before.has(r.step, read):
		r.add("path_never_produced", at, "%q does not depend on %q, so its output may not be there; add it to depends_on", r.w.Steps[r.step].ID, id)
	default:
		r.reads = append(r.reads, read)
	}
	return read
}

// registered finds a prompt or a config: the file's own, else the environment's.
// Without a version it is the only one that the file has.
func (r *reader) registered(raw json.RawMessage, at *place) (kind string, value json.RawMessage) {
	var ref map[string]string
	if json.Unmarshal(raw, &ref) != nil || (ref["prompt"] == "") == (ref["config"] == "") {
		r.add("selector_invalid", at, `registry is {"prompt": id, "version": v} or {"config": id, "version": v}`)
		return "", nil
	}
	kind, own := "prompt", r.doc.Prompts
	if ref["config"] != "" {
		kind, own = "config", r.doc.Configs
	}
	id, version := ref[kind], ref["version"]
	if value, found := own[id][version]; found && version != "" {
		return kind, value
	}
	if version == "" && len(own[id]) == 1 {
		for _, only := range own[id] {
			return kind, only
		}
	}
	if r.env != nil {
		look := r.env.Prompt
		if kind == "config" {
			look = r.env.Config
		}
		if value, found := look(id, version); found {
			if canonical, err := canonicalOf(value); err == nil {
				return kind, canonical
			}
			r.add("registry_invalid", at, "the %s %q cannot be put in canonical form", kind, id)
			return kind, nil
		}
	}
	r.add("registry_unknown", at, "there is no %s %q of version %q; add it to %ss of this file or to the server's config", kind, id, version, kind)
	return kind, nil
}
