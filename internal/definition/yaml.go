package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlToJSON reads one YAML document that says no more than JSON can: no
// anchors or aliases (a few lines of them can stand for gigabytes), no tags of
// its own, string keys only, each once.
func yamlToJSON(src []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var root yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &syntaxError{Message: "the file is empty; write a definition"}
		}
		return nil, &syntaxError{Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	var next yaml.Node
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, &syntaxError{Line: next.Line, Message: "one file holds one definition; remove what follows the first document"}
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return nil, &syntaxError{Message: "the file is empty; write a definition"}
	}
	var out bytes.Buffer
	if err := writeYAML(&out, root.Content[0], "", 0); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeYAML(out *bytes.Buffer, node *yaml.Node, at string, depth int) error {
	fail := func(message string) error {
		return &syntaxError{Line: node.Line, Column: node.Column, Pointer: at, Message: message}
	}
	if depth > maxDepth {
		return fail("nested too deep; at most 32 levels")
	}
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fail("anchors and aliases are not allowed; write the value in place")
	}
	switch node.Kind {
	case yaml.MappingNode:
		if node.ShortTag() != "!!map" {
			return fail("tags are not allowed")
		}
		return writeYAMLMap(out, node, at, depth)
	case yaml.SequenceNode:
		if node.ShortTag() != "!!seq" {
			return fail("tags are not allowed")
		}
		out.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeYAML(out, item, at, depth+1); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		scalar, problem := yamlScalar(node)
		if problem != "" {
			return fail(problem)
		}
		encoded, err := json.Marshal(scalar)
		if err != nil {
			return fail("this value has no JSON form")
		}
		out.Write(encoded)
		return nil
	}
	return fail("this cannot be written as JSON")
}

func writeYAMLMap(out *bytes.Buffer, node *yaml.Node, at string, depth int) error {
	seen := make(map[string]bool, len(node.Content)/2)
	out.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, item := node.Content[i], node.Content[i+1]
		fail := func(message string) error {
			return &syntaxError{Line: key.Line, Column: key.Column, Pointer: at, Message: message}
		}
		switch {
		case key.Kind == yaml.AliasNode || key.Anchor != "":
			return fail("anchors and aliases are not allowed; write the value in place")
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return fail("keys must be strings; put this one in quotes")
		case seen[key.Value]:
			return fail("the key " + quote(key.Value) + " is there twice; keep one")
		}
		seen[key.Value] = true
		if i > 0 {
			out.WriteByte(',')
		}
		encoded, err := json.Marshal(key.Value)
		if err != nil {
			return fail("this key has no JSON form")
		}
		out.Write(encoded)
		out.WriteByte(':')
		if err := writeYAML(out, item, at+pointer(key.Value), depth+1); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// yamlScalar returns the JSON value of a scalar, or what is wrong with it. A
// date is the string as written.
func yamlScalar(node *yaml.Node) (scalar any, problem string) {
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return node.Value, ""
	case "!!null":
		return nil, ""
	case "!!bool":
		var b bool
		if node.Decode(&b) == nil {
			return b, ""
		}
	case "!!int":
		var n int64
		if node.Decode(&n) == nil {
			return n, ""
		}
		return nil, "this integer is too large"
	case "!!float":
		var f float64
		if node.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, ""
		}
		return nil, "this number has no JSON form"
	}
	return nil, "tags are not allowed; write a plain string, number, true, false or null"
}
