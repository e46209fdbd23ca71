package plan

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rondo-engine/rondo/internal/canon"
)

// The defaults of retry.
const (
	DefaultMaxAttempts = 5
	DefaultBackoff     = 3 * time.Second
)

const maxTimeout = 365 * 24 * time.Hour

func (c *compiler) step(i int, at *place) {
	written, s := &c.doc.Steps[i], &c.w.Steps[i]
	s.Description, s.Skill, s.Class = written.Description, written.Skill, written.Class
	s.rawInput, s.rawCache, s.OutputSchema = written.Input, written.Cache, written.OutputSchema
	here := at.member("output_schema")
	s.schema = c.schema(written.OutputSchema, &here)
	here = at.member("timeout")
	s.Timeout = c.duration(written.Timeout, &here, 0, time.Millisecond, maxTimeout)
	here = at.member("cache")
	c.cache(s, written.Cache, &here)
	here = at.member("retry")
	c.retry(s, written.Retry, &here)
	here = at.member("skill")
	s.skill = c.skill(written.Skill, &here)
	c.before.stand(i)
	here = at.member("input")
	c.input(i, written.Input, &here)
	if written.Raise != nil {
		here = at.member("raise")
		s.Raise = c.raise(i, written.Raise, &here)
	}
	if s.skill != nil {
		s.static = staticOf(s)
	}
}

func (c *compiler) cache(s *Step, raw json.RawMessage, at *place) {
	s.Cached = true
	if raw == nil {
		return
	}
	var written cacheJSON
	if json.Unmarshal(raw, &written) != nil {
		c.add("wrong_type", at, `cache is {"enabled", "scope", "ttl", "ignore", "salt"}`)
	}
	s.Cached = written.Enabled == nil || *written.Enabled
	s.RunOnly = written.Scope == "run_only"
	s.Ignore, s.Salt = written.Ignore, written.Salt
	here := at.member("ttl")
	s.TTL = c.duration(written.TTL, &here, 0, time.Second, maxTimeout)
}

func (c *compiler) retry(s *Step, written retryJSON, at *place) {
	s.MaxAttempts = DefaultMaxAttempts
	if n := written.MaxAttempts; n != nil {
		s.MaxAttempts = *n
		if *n < 1 || *n > 10 {
			here := at.member("max_attempts")
			c.add("out_of_range", &here, "must be from 1 to 10")
		}
	}
	here := at.member("backoff")
	s.Backoff = c.duration(written.Backoff, &here, DefaultBackoff, 100*time.Millisecond, time.Minute)
}

func (c *compiler) raise(i int, written *raiseJSON, at *place) *Raise {
	r := reader{compiler: c, step: i, self: true}
	raise := &Raise{EventType: written.EventType, hasPayload: written.Payload != nil}
	here := at.member("case_id")
	raise.caseID = r.selector(written.CaseID, &here, 0)
	if raise.hasPayload {
		here = at.member("payload")
		raise.payload = r.selector(written.Payload, &here, 0)
	}
	return raise
}

func (c *compiler) input(i int, raw json.RawMessage, at *place) {
	if raw == nil {
		return
	}
	if kindOf(raw) != '{' {
		c.add("wrong_type", at, `input is an object of selectors, e.g. {"brief": {"trigger": "brief"}}`)
		return
	}
	s := &c.w.Steps[i]
	r := reader{compiler: c, step: i}
	eachMember(raw, func(quotedName, value []byte) {
		text, _ := canon.Text(quotedName)
		m := member{name: string(text), quoted: slices.Concat(quotedName, []byte{':'})}
		here := at.member(m.name)
		m.selector = r.selector(value, &here, 0)
		m.component = "input." + m.name
		if m.selector.registry != "" {
			m.component = m.selector.registry + ".input." + m.name
		}
		s.input = append(s.input, m)
	})
	slices.Sort(r.reads)
	s.reads = slices.Compact(r.reads)
}

// skill finds out about a skill, once.
func (c *compiler) skill(name string, at *place) *skillFacts {
	if facts, known := c.skills[name]; known {
		return facts
	}
	spec, found := c.doc.Skills[name]
	if !found && c.env != nil {
		spec, found = c.env.Skill(name)
	}
	if !found {
		c.add("skill_unknown", at, "there is no skill %q; declare it under skills of this file or in the server's config", name)
		return nil
	}
	resolved, outside := spec, map[string]string(nil)
	if resolver, can := c.env.(Resolver); can {
		resolved, outside = resolver.Resolve(spec)
	}
	facts, err := factsOf(name, resolved, outside)
	if err != nil {
		c.add("skill_invalid", at, "the config of the skill %q cannot be put in canonical form", name)
		return nil
	}
	facts.spec = spec
	c.skills[name] = facts
	return facts
}

func (c *compiler) schema(raw json.RawMessage, at *place) *jsonschema.Schema {
	if raw == nil {
		return nil
	}
	if known := c.schemas[string(raw)]; known != nil {
		return known
	}
	compiled, err := compileSchema(raw)
	if err != nil {
		c.add("schema_invalid", at, "%s", err)
		return nil
	}
	c.schemas[string(raw)] = compiled
	return compiled
}

func (c *compiler) duration(written *string, at *place, without, least, most time.Duration) time.Duration {
	if written == nil {
		return without
	}
	d, err := time.ParseDuration(*written)
	if err != nil || d < least || d > most {
		c.add("out_of_range", at, "%q is not a time from %s to %s; write e.g. 30s, 5m or 720h", *written, least, most)
	}
	return d
}
