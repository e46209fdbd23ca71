package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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

// selectorWords are what a selector can be, with the members that go with it.
var selectorWords = map[string][]string{
	"trigger": nil, "change": nil, "const": nil, "merge": nil, "pick": nil,
	"step": {"path"}, "base": {"path"}, "registry": nil,
}

// reader parses the selectors of one step.
type reader struct {
	*compiler
	step  int
	self  bool // the step's own output can be read: raise
	reads map[int]bool
}

// selector parses one; at is where it stands.
func (r *reader) selector(raw json.RawMessage, at string, depth int) selector {
	var members map[string]json.RawMessage
	if depth > maxSelectorDepth || kindOf(raw) != '{' || json.Unmarshal(raw, &members) != nil {
		r.add("selector_invalid", at, `a selector is an object, e.g. {"trigger": "brief"} or {"step": "plan", "path": "data.title"}, at most %d deep`, maxSelectorDepth)
		return selector{}
	}
	s := selector{}
	for name := range members {
		if _, known := selectorWords[name]; known {
			if s.word != "" {
				s.word = ""
				break
			}
			s.word = name
		}
	}
	if s.word == "" {
		r.add("selector_invalid", at, "a selector is exactly one of %s", strings.Join(sortedKeys(selectorWords), ", "))
		return selector{}
	}
	for _, name := range sortedKeys(members) {
		if name != s.word && !slices.Contains(selectorWords[s.word], name) {
			r.add("unknown_member", at+pointer(name), "%q does not go with %s; remove it", name, s.word)
		}
	}
	switch value := members[s.word]; s.word {
	case "trigger", "change":
		s.path = r.path(value, at+pointer(s.word))
	case "const":
		s.value = value
	case "step", "base":
		s.id = r.text(value, at+pointer(s.word))
		if s.id != "" {
			s.step = r.readStep(s.word, s.id, at+pointer(s.word))
		}
		if way, given := members["path"]; given {
			s.path = r.path(way, at+"/path")
		}
	case "merge":
		var parts []json.RawMessage
		if json.Unmarshal(value, &parts) != nil || len(parts) == 0 {
			r.add("selector_invalid", at+"/merge", "merge is a list of selectors")
		}
		for i, part := range parts {
			s.parts = append(s.parts, r.selector(part, at+pointer("merge", fmt.Sprint(i)), depth+1))
		}
	case "pick":
		var pick struct {
			From json.RawMessage `json:"from"`
			Keys []string        `json:"keys"`
		}
		if json.Unmarshal(value, &pick) != nil || pick.From == nil || len(pick.Keys) == 0 {
			r.add("selector_invalid", at+"/pick", `pick is {"from": selector, "keys": ["…"]}`)
			break
		}
		slices.Sort(pick.Keys)
		s.keys = slices.Compact(pick.Keys)
		s.parts = []selector{r.selector(pick.From, at+"/pick/from", depth+1)}
	case "registry":
		s.registry, s.value = r.registered(value, at+"/registry")
	}
	return s
}

func (r *reader) text(raw json.RawMessage, at string) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || text == "" {
		r.add("wrong_type", at, "must be a string with something in it")
	}
	return text
}

func (r *reader) path(raw json.RawMessage, at string) path {
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
func (r *reader) readStep(word, id, at string) int {
	if word == "base" {
		return -1
	}
	place, exists := r.w.index[id]
	switch {
	case !exists:
		r.add("target_unknown", at, "there is no step %q%s", id, r.suggestion(id))
		return -1
	case place == r.step && r.self:
	case !r.before.has(r.step, place):
		r.add("path_never_produced", at, "%q does not depend on %q, so its output may not be there; add it to depends_on", r.w.Steps[r.step].ID, id)
	default:
		r.reads[place] = true
	}
	return place
}

// registered finds a prompt or a config: the file's own, else the environment's.
// Without a version it is the only one that the file has.
func (r *reader) registered(raw json.RawMessage, at string) (kind string, value json.RawMessage) {
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
