package definition

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxSearch bounds the searchable paths of one definition: each is a row per
// case.
const maxSearch = 20

// checkHead judges what the definition says about the whole case.
func (v *validator) checkHead() {
	v.checkSLA(v.doc.sla)
	for _, step := range v.doc.steps {
		v.checkSLA(step.sla)
	}
	v.checkSearch()
}

// checkSLA judges a service level: a warning comes before the breach.
func (v *validator) checkSLA(sla *writtenSLA) {
	if sla == nil {
		return
	}
	if sla.warn == nil && sla.breach == nil && !v.lost(sla.at+"/warn_after_seconds", sla.at+"/breach_after_seconds") {
		v.add("sla_empty", sla.at, "say warn_after_seconds, breach_after_seconds or both; remove sla if neither matters")
	}
	limit := v.doc.timeout.Seconds()
	for _, written := range []struct {
		name  string
		value *float64
	}{{"warn_after_seconds", sla.warn}, {"breach_after_seconds", sla.breach}} {
		at := sla.at + pointer(written.name)
		switch {
		case written.value == nil:
		case *written.value < minSeconds:
			v.add("sla_invalid", at, "must be more than 0 seconds")
		case *written.value >= limit && !v.lost("/workflow_timeout_seconds"):
			v.warn("sla_never", at, "the workflow ends after %.0f s, so this time never comes; shorten it or raise workflow_timeout_seconds", limit)
		}
	}
	if sla.warn != nil && sla.breach != nil && *sla.warn >= *sla.breach {
		v.add("sla_invalid", sla.at+"/warn_after_seconds", "a warning comes before the breach (%s s); lower it", seconds(*sla.breach))
	}
}

// checkSearch judges the searchable paths: each begins with a step that leaves
// an output, or with what every case has.
func (v *validator) checkSearch() {
	if len(v.doc.search) > maxSearch {
		v.add("too_many_paths", "/search", "a definition has at most %d searchable paths, this one has %d; keep those that people look for", maxSearch, len(v.doc.search))
	}
	seen := map[string]bool{}
	for i, written := range v.doc.search {
		at := pointer("search", fmt.Sprint(i))
		switch {
		case v.lost(at):
		case !isPath(written):
			v.add("path_invalid", at, "%s is not a path; write names joined by dots, e.g. ai_review.confidence", quote(written))
		case seen[written]:
			v.add("path_repeated", at, "%s is there already; keep one", quote(written))
		case !v.lost("/steps"):
			v.checkRoot(strings.Split(written, "."), at, v.add)
		}
		seen[written] = true
	}
}

// outputMembers lists what the output of a step is known to have, and whether
// it can have nothing else; nil when nothing is known.
func (w *writtenStep) outputMembers() (members []string, closed bool) {
	if w.contract == nil {
		return nil, false
	}
	if w.contract.Behaviour == BehaviourManual {
		var form json.RawMessage
		if !w.param("form", &form) {
			return nil, false
		}
		schema, err := CompileSchema(form)
		if err != nil || schema.props == nil {
			return nil, false
		}
		return append([]string{"outcome"}, schema.props...), schema.closed
	}
	if schema := w.contract.OutputSchema; schema != nil {
		return schema.props, schema.closed
	}
	return nil, false
}
