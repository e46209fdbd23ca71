package chart

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/rondo-engine/rondo/internal/cond"
)

// maxDelay is the longest after: ten years, in milliseconds.
const maxDelay = 10 * 366 * 24 * 3600 * 1000

// internal is how the names of events begin that the machine raises itself.
const internal = "xstate."

// behaviour reads what a state does.
func (c *compiler) behaviour(n *node, parts map[string]value) {
	if v, ok := parts["on"]; ok {
		members, _ := c.object(v, "on")
		for _, m := range scriptOrder(members) {
			c.event(m)
			d := descriptor{name: m.name, transitions: c.transitions(n, m.name, m.value, false)}
			n.descriptors = append(n.descriptors, d)
			if strings.HasSuffix(m.name, "*") {
				n.wildcards = append(n.wildcards, d)
			}
		}
		slices.SortStableFunc(n.wildcards, func(a, b descriptor) int { return units(b.name) - units(a.name) })
	}
	if v, ok := parts["onDone"]; ok {
		name := doneEvent(n)
		n.descriptors = append(n.descriptors, descriptor{name: name, transitions: c.transitions(n, "onDone", v, false)})
	}
	if v, ok := parts["after"]; ok {
		members, _ := c.object(v, "after")
		for _, m := range scriptOrder(members) {
			c.after(n, m)
		}
	}
	if v, ok := parts["always"]; ok {
		n.always = c.transitions(n, "", v, false)
	}
	if v, ok := parts["entry"]; ok {
		n.entry = c.actions(v)
	}
	if v, ok := parts["exit"]; ok {
		n.exit = c.actions(v)
	}
	if v, ok := parts["output"]; ok {
		n.output = c.selector(v)
	}
}

// units is the length of a text as JavaScript counts it.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// doneEvent is raised when a state has come to its end.
func doneEvent(n *node) string { return internal + "done.state." + n.id }

// event checks a key of on.
func (c *compiler) event(m member) {
	switch {
	case m.name == "":
		c.add("bad_event", m.at, "an event has a name: for a transition without one write always")
	case strings.HasPrefix(m.name, internal):
		c.add("bad_event", m.at, "events that begin with %q are internal: write onDone or after", internal)
	case strings.Contains(strings.TrimSuffix(m.name, "*"), "*"), strings.HasSuffix(m.name, "*") && m.name != "*" && !strings.HasSuffix(m.name, ".*"):
		c.add("bad_event", m.at, `a wildcard stands alone ("*") or at the end ("order.*")`)
	}
}

func (c *compiler) after(n *node, m member) {
	ms, err := strconv.ParseInt(m.name, 10, 64)
	if err != nil || ms < 0 || ms > maxDelay || strconv.FormatInt(ms, 10) != m.name {
		c.add("bad_delay", m.at, "a delay is a whole number of milliseconds from 0 to %d, such as 30000", int64(maxDelay))
		return
	}
	event := internal + "after." + m.name + "." + n.id
	transitions := c.transitions(n, m.name, m.value, true)
	keep := ""
	for _, t := range transitions {
		if keep != "" && t.keep != "" && t.keep != keep {
			c.add("bad_timer", t.at, "transitions of one delay share one timer: say restart or remaining for all of them")
		}
		if t.keep != "" {
			keep = t.keep
		}
	}
	n.timers = append(n.timers, delay{id: n.id + "#" + m.name, event: event, wait: time.Duration(ms) * time.Millisecond, remaining: keep == "remaining"})
	n.descriptors = append(n.descriptors, descriptor{name: event, transitions: transitions})
}

func (c *compiler) transitions(n *node, label string, v value, timed bool) []*transition {
	items := c.array(v)
	list := make([]*transition, 0, len(items))
	for i, item := range items {
		t := &transition{source: n, label: label, index: i, at: item.at}
		switch item.kind() {
		case '"':
			c.target(t, item)
		case '{':
			c.transition(t, item, timed)
		default:
			c.add("type", item.at, "a transition is an object or the name of a target; write {} for one that does nothing")
		}
		list = append(list, t)
	}
	return list
}

func (c *compiler) transition(t *transition, v value, timed bool) {
	members, _ := c.object(v, "a transition")
	for _, m := range members {
		switch m.name {
		case "target":
			c.target(t, m.value)
		case "guard":
			t.guard = c.guard(m.value)
		case "actions":
			t.actions = c.actions(m.value)
		case "reenter":
			t.reenter = c.boolean(m.value, "reenter")
		case "description":
			c.text(m.value, "description")
		case "meta":
			c.object(m.value, "meta")
		case "timer":
			c.timer(t, m, timed)
		default:
			c.refuse(m, "a transition", []string{"target", "guard", "actions", "reenter", "description", "meta"})
		}
	}
}

func (c *compiler) timer(t *transition, m member, timed bool) {
	if !timed {
		c.add("misplaced_member", m.at, "only transitions of after have a timer")
		return
	}
	keep, ok := c.text(m.value, "timer")
	if ok && keep != "restart" && keep != "remaining" {
		c.add("bad_timer", m.at, "timer must be restart (each entry waits the whole delay) or remaining (a new entry waits what was left)")
	}
	t.keep = keep
}

// roots are what guards and selectors can look at.
var roots = []string{"context", "event", "turn", "payload"}

func (c *compiler) guard(v value) *cond.Expr {
	if v.kind() == '{' {
		c.add("bad_guard", v.at, `a guard is an expression in a string, such as "context.turnCount < 3"; combine with &&, || and !`)
		return nil
	}
	source, ok := c.text(v, "guard")
	if !ok {
		return nil
	}
	expr, err := cond.Parse(source)
	if err != nil {
		c.add("bad_guard", v.at, "the guard cannot be read %v", err)
		return nil
	}
	if len(expr.Samples()) > 0 {
		c.add("bad_guard", v.at, "sample is for cases, not for conversations: leave it out")
	}
	for _, path := range expr.Paths() {
		if !slices.Contains(roots, path[0]) {
			c.add("unknown_root", v.at, "the guard looks at %q: paths begin with %s", strings.Join(path, "."), strings.Join(roots, ", "))
		}
	}
	return expr
}

// target reads one target or several, once all states are known.
func (c *compiler) target(t *transition, v value) {
	c.links = append(c.links, func() {
		items := c.array(v)
		if len(items) == 0 {
			c.add("bad_target", v.at, "a list of targets is not empty: leave the target out to stay")
		}
		for _, item := range items {
			if text, ok := c.text(item, "target"); ok {
				if target := c.find(t.source, text, item.at); target != nil {
					t.targets = append(t.targets, target)
				}
			}
		}
		c.links = append(c.links, func() { c.recallable(t, v.at) })
		c.together(t.targets, v.at)
	})
}

// find resolves a target as seen from a state: "sibling", "sibling.child",
// ".child", "#id" or "#id.child".
func (c *compiler) find(from *node, target, at string) *node {
	path := strings.Split(target, ".")
	start := from.parent
	switch {
	case strings.HasPrefix(target, "#"):
		start = c.machine.byID[path[0][1:]]
		if start == nil {
			c.add("unknown_target", at, "there is no state with the id %q", path[0][1:])
			return nil
		}
		path = path[1:]
	case strings.HasPrefix(target, ".") && from.kind == history:
		c.add("bad_target", at, "the target of a history state is written as seen from the state it is in, without a dot")
		return nil
	case strings.HasPrefix(target, "."):
		start = from
		path = path[1:]
	case start == nil:
		c.add("unknown_target", at, "the machine itself has no siblings: write %q", "."+target)
		return nil
	}
	for _, key := range path {
		next := start.child(key)
		if next == nil {
			c.add("unknown_target", at, "%q is no state inside %q: there are %s", key, start.key, strings.Join(keys(start.children), ", "))
			return nil
		}
		start = next
	}
	return start
}

// together checks that several targets can be active at the same time.
func (c *compiler) together(targets []*node, at string) {
	for i, a := range targets {
		for _, b := range targets[i+1:] {
			if !compatible(a, b) {
				c.add("bad_target", at, "%q and %q cannot be active together: several targets must be in different regions of a parallel state", a.key, b.key)
				return
			}
		}
	}
}

// recallable refuses transitions that leave a state and lead to the history of that
// very state: leaving it would change what it remembers while it is asked.
func (c *compiler) recallable(t *transition, at string) {
	for _, h := range t.targets {
		if h.kind != history {
			continue
		}
		leaves := t.source == h.parent && t.reenter
		leaves = leaves || (h.parent.kind == parallel && h.fallback == nil && t.source.within(h.parent))
		if leaves {
			c.add("bad_target", at, "the transition leaves %q and leads to its history: target the state itself", h.parent.key)
		}
	}
}

// compatible reports whether both can be entered by one transition. A history
// state stands for the state it is in.
func compatible(a, b *node) bool {
	if a.kind == history {
		a = a.parent
	}
	if b.kind == history {
		b = b.parent
	}
	if a == b || a.within(b) || b.within(a) {
		return false
	}
	return commonAncestor([]*node{a, b}).kind == parallel
}

// commonAncestor is the nearest proper ancestor of all; nil = there is none.
func commonAncestor(nodes []*node) *node {
	for _, ancestor := range nodes[0].ancestors(nil) {
		if !slices.ContainsFunc(nodes[1:], func(n *node) bool { return !n.within(ancestor) }) {
			return ancestor
		}
	}
	return nil
}
