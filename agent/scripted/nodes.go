package scripted

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// member reads the value of one key; at is a JSON Pointer to it.
type member func(node *yaml.Node, at string)

const maxDepth = 64

// lookUp finds the value of a key.
func lookUp(node *yaml.Node, key string) *yaml.Node {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// members reads an object with known keys.
func (p *parser) members(node *yaml.Node, at string, known map[string]member) {
	p.pairs(node, at, func(key, value *yaml.Node, at string) {
		read, there := known[key.Value]
		if !there {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			p.fail(key, at, strconv.Quote(key.Value)+" is not known here; use "+strings.Join(names, ", "))
			return
		}
		read(value, at)
	})
}

// pairs goes through an object's members in order.
func (p *parser) pairs(node *yaml.Node, at string, each func(key, value *yaml.Node, at string)) {
	if node.Kind != yaml.MappingNode {
		p.fail(node, at, "this must be an object")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		below := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			p.fail(key, below, "keys must be strings; put this one in quotes")
		case seen[key.Value]:
			p.fail(key, below, strconv.Quote(key.Value)+" is there twice; keep one")
		case value.Kind == yaml.AliasNode || value.Anchor != "":
			p.fail(value, below, "anchors and aliases are not allowed; write the value in place")
		default:
			each(key, value, below)
		}
		seen[key.Value] = true
	}
}

// items goes through a list.
func (p *parser) items(node *yaml.Node, at string, each member) {
	if node.Kind != yaml.SequenceNode {
		p.fail(node, at, "this must be a list")
		return
	}
	for i, item := range node.Content {
		below := at + "/" + strconv.Itoa(i)
		if item.Kind == yaml.AliasNode || item.Anchor != "" {
			p.fail(item, below, "anchors and aliases are not allowed; write the value in place")
			continue
		}
		each(item, below)
	}
}

// oneOrMany goes through a list, or takes one value for a list of it.
func (p *parser) oneOrMany(node *yaml.Node, at string, each member) {
	if node.Kind == yaml.SequenceNode {
		p.items(node, at, each)
		return
	}
	each(node, at)
}

func (p *parser) text(node *yaml.Node, at string) string {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" || node.Value == "" {
		p.fail(node, at, "this must be a text; put it in quotes")
		return ""
	}
	return node.Value
}

func (p *parser) texts(node *yaml.Node, at string) []string {
	var read []string
	p.oneOrMany(node, at, func(node *yaml.Node, at string) { read = append(read, p.text(node, at)) })
	return read
}

func (p *parser) number(node *yaml.Node, at string) int {
	var number int
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" || node.Decode(&number) != nil || number < 0 || number > 1<<30 {
		p.fail(node, at, "this must be a whole number, 0 or more")
	}
	return number
}

func (p *parser) boolean(node *yaml.Node, at string) bool {
	var is bool
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" || node.Decode(&is) != nil {
		p.fail(node, at, "this must be true or false")
	}
	return is
}

func (p *parser) template(node *yaml.Node, at string, expression *regexp.Regexp) *template {
	compiled, problem := parseTemplate(p.text(node, at), expression)
	if problem != "" {
		p.fail(node, at, problem)
	}
	return compiled
}

// fixedMembers reads an object whose values have no placeholders.
func (p *parser) fixedMembers(node *yaml.Node, at string) map[string]json.RawMessage {
	read := map[string]json.RawMessage{}
	p.pairs(node, at, func(key, value *yaml.Node, at string) {
		if fixed := p.form(value, at, nil, 0).fixed; fixed != nil {
			read[key.Value] = fixed
		} else {
			p.fail(value, at, "placeholders are not allowed here")
		}
	})
	return read
}

// form reads any JSON value, with templates for strings.
func (p *parser) form(node *yaml.Node, at string, expression *regexp.Regexp, depth int) *form {
	read := &form{}
	if depth > maxDepth {
		p.fail(node, at, "nested too deep")
		return read
	}
	switch node.Kind {
	case yaml.MappingNode:
		read.object = true
		p.pairs(node, at, func(key, value *yaml.Node, at string) {
			read.keys = append(read.keys, key.Value)
			read.items = append(read.items, p.form(value, at, expression, depth+1))
		})
	case yaml.SequenceNode:
		p.items(node, at, func(node *yaml.Node, at string) {
			read.items = append(read.items, p.form(node, at, expression, depth+1))
		})
	case yaml.ScalarNode:
		p.scalar(node, at, expression, read)
		return read
	default:
		p.fail(node, at, "this has no JSON form")
		return read
	}
	// What has no placeholder below is rendered once and for all.
	if !slices.ContainsFunc(read.items, func(item *form) bool { return item.fixed == nil }) {
		read.fixed = read.json(nil)
	}
	return read
}

func (p *parser) scalar(node *yaml.Node, at string, expression *regexp.Regexp, into *form) {
	switch node.ShortTag() {
	case "!!null":
		into.fixed = json.RawMessage("null")
	case "!!str", "!!timestamp":
		compiled, problem := parseTemplate(node.Value, expression)
		if problem != "" {
			p.fail(node, at, problem)
			return
		}
		if slices.ContainsFunc(compiled.parts, func(p part) bool { return p.name != "" }) {
			into.filled = compiled
			return
		}
		into.fixed = quoted(compiled.text(nil))
	default:
		var value any
		err := node.Decode(&value)
		if err == nil {
			into.fixed, err = json.Marshal(value)
		}
		if err != nil {
			p.fail(node, at, "this has no JSON form")
		}
	}
}
