package definition

import (
	"fmt"
	"net/url"
	"strings"
)

// maxUnfolded bounds a schema that refers to its own parts: as many values it
// has when each part is written where it is referred to.
const maxUnfolded = 20_000

// checkReferences judges the references of a schema. It may refer to its own
// $defs and to nothing else, never in a circle, and what it unfolds to has a
// bound: a few nested references could make checking a value exponential.
func checkReferences(doc any) error {
	r := references{doc: doc, sizes: map[string]int{}}
	if _, err := r.size(doc); err != nil {
		return err
	}
	if len(r.sizes) > 0 && r.dialect != "" && !strings.Contains(r.dialect, "/draft/2020-12/") {
		return fmt.Errorf("references are understood in draft 2020-12; remove $schema")
	}
	return nil
}

// references carries one judgement.
type references struct {
	doc     any
	sizes   map[string]int // reference → what it unfolds to; unfolding while it is looked at
	dialect string
}

const unfolding = -1

// size counts the values of a node with all that it refers to. What looks like a
// reference counts as one, even where it is but a value.
func (r *references) size(node any) (int, error) {
	total := 1
	add := func(n int, err error) error {
		if total += n; err == nil && total > maxUnfolded && len(r.sizes) > 0 {
			err = fmt.Errorf("with its references written out the schema has more than %d values; refer less", maxUnfolded)
		}
		return err
	}
	switch node := node.(type) {
	case map[string]any:
		for _, key := range sortedKeys(node) {
			switch key {
			case "$dynamicRef", "$recursiveRef", "$id":
				return 0, fmt.Errorf("a schema must stand alone: %s is not allowed; write the referenced part in place", key)
			case "$schema":
				r.dialect, _ = node[key].(string)
			case "$ref":
				if err := add(r.follow(node[key])); err != nil {
					return 0, err
				}
				continue
			}
			if err := add(r.size(node[key])); err != nil {
				return 0, err
			}
		}
	case []any:
		for _, item := range node {
			if err := add(r.size(item)); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// follow counts what a reference unfolds to.
func (r *references) follow(written any) (int, error) {
	ref, _ := written.(string)
	target, local := r.target(ref)
	if !local {
		return 0, fmt.Errorf("a schema must stand alone: $ref may only lead to its own $defs, e.g. #/$defs/address; write any other part in place")
	}
	if target == nil {
		return 0, fmt.Errorf("$ref leads to %s, which is not there", quote(ref))
	}
	switch known, seen := r.sizes[ref]; {
	case known == unfolding:
		return 0, fmt.Errorf("$ref leads from %s to itself; a schema must not refer to itself", quote(ref))
	case seen:
		return known, nil
	}
	r.sizes[ref] = unfolding
	size, err := r.size(target)
	r.sizes[ref] = size
	return size, err
}

// target finds what a reference leads to; local is whether it leads to $defs at
// all.
func (r *references) target(ref string) (target any, local bool) {
	way, found := strings.CutPrefix(ref, "#/$defs/")
	if !found {
		return nil, false
	}
	way, err := url.PathUnescape(way)
	if err != nil {
		return nil, true
	}
	top, _ := r.doc.(map[string]any)
	target = top["$defs"]
	for token := range strings.SplitSeq(way, "/") {
		object, _ := target.(map[string]any) // what is in a list cannot be named: its place is no name
		target = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return target, true
}

// parts are the objects that make up the top of a schema: itself, and what it
// refers to.
func (r *references) parts() []map[string]any {
	var parts []map[string]any
	node := r.doc
	for {
		object, ok := node.(map[string]any)
		if !ok {
			return parts
		}
		parts = append(parts, object)
		ref, _ := object["$ref"].(string)
		node, _ = r.target(ref)
	}
}
