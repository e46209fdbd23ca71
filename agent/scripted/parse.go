package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// Load reads a script from a file.
func Load(path string) (*Script, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the script cannot be read", Hint: "name a file that is there and may be read", Op: "read script", Err: err,
		}
	}
	return Parse(path, source)
}

// Parse checks a script. Its errors have code CodeInvalid and list everything that
// is wrong, each with its line in the file.
func Parse(file string, source []byte) (*Script, error) {
	p := &parser{file: file}
	script := p.script(p.document(source))
	if len(p.problems) > 0 {
		return nil, &rondo.Error{
			Code:    rondo.CodeInvalid,
			Message: p.problems[0].Message,
			Hint:    "docs/conversations.md, \"Write a script\", says what a script may have",
			Op:      "read script",
			Fields:  p.problems,
		}
	}
	return script, nil
}

// parser reads YAML nodes and collects what is wrong with them.
type parser struct {
	file     string
	problems []rondo.FieldError
}

func (p *parser) fail(node *yaml.Node, at, message string) {
	line := p.file + ":"
	if node != nil {
		line += strconv.Itoa(node.Line) + ":"
	}
	p.problems = append(p.problems, rondo.FieldError{Code: string(rondo.CodeInvalid), Pointer: at, Message: line + " " + message})
}

// document returns the one document of a file, nil when there is none.
func (p *parser) document(source []byte) *yaml.Node {
	if json.Valid(source) {
		source = yamlStrings(source)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	var root, next yaml.Node
	if err := decoder.Decode(&root); err != nil {
		message := "the file is empty; write rules"
		if !errors.Is(err, io.EOF) {
			message = strings.TrimPrefix(err.Error(), "yaml: ")
		}
		p.fail(nil, "", message)
		return nil
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		p.fail(&next, "", "one file holds one script; remove what follows the first document")
		return nil
	}
	return root.Content[0]
}

// yamlStrings rewrites the strings of a JSON text without the escapes that YAML does
// not know (\/ and pairs of surrogates). Lines stay where they are.
func yamlStrings(source []byte) []byte {
	var out bytes.Buffer
	for {
		start := bytes.IndexByte(source, '"')
		if start < 0 {
			out.Write(source)
			return out.Bytes()
		}
		end := start + 1
		for source[end] != '"' {
			if source[end] == '\\' {
				end++
			}
			end++
		}
		out.Write(source[:start])
		var text string
		// The whole text is valid JSON, so its strings are.
		_ = json.Unmarshal(source[start:end+1], &text)
		out.Write(quoted(text))
		source = source[end+1:]
	}
}

func (p *parser) script(node *yaml.Node) *Script {
	script := &Script{name: "script"}
	if node == nil {
		return script
	}
	p.members(node, "", map[string]member{
		"name":     func(node *yaml.Node, at string) { script.name = p.text(node, at) },
		"greeting": func(node *yaml.Node, at string) { script.greeting = p.replies(node, at, nil) },
		"rules": func(node *yaml.Node, at string) {
			p.items(node, at, func(node *yaml.Node, at string) { script.rules = append(script.rules, p.rule(node, at)) })
		},
	})
	if len(script.rules) == 0 && len(p.problems) == 0 {
		p.fail(node, "/rules", "a script needs at least one rule")
	}
	return script
}

func (p *parser) rule(node *yaml.Node, at string) rule {
	var read rule
	// Placeholders of replies name groups of the condition's expression, so the
	// condition is read first wherever it stands.
	if when := lookUp(node, "when"); when != nil {
		read.when = p.condition(when, at+"/when")
	}
	p.members(node, at, map[string]member{
		"name":  func(node *yaml.Node, at string) { p.text(node, at) },
		"when":  func(*yaml.Node, string) {},
		"reply": func(node *yaml.Node, at string) { read.replies = p.replies(node, at, read.when.text) },
		"fail":  func(node *yaml.Node, at string) { read.fail = p.failure(node, at) },
	})
	if node.Kind == yaml.MappingNode && lookUp(node, "reply") == nil && lookUp(node, "fail") == nil {
		p.fail(node, at, "a rule needs a reply or a fail")
	}
	return read
}

func (p *parser) condition(node *yaml.Node, at string) condition {
	var read condition
	list := func(into *[]string) member {
		return func(node *yaml.Node, at string) { *into = p.texts(node, at) }
	}
	p.members(node, at, map[string]member{
		"text": func(node *yaml.Node, at string) {
			expression, err := regexp.Compile(p.text(node, at))
			if err != nil {
				p.fail(node, at, "this is no regular expression: "+err.Error())
			}
			read.text = expression
		},
		"contains": func(node *yaml.Node, at string) {
			for _, part := range p.texts(node, at) {
				read.contains = append(read.contains, strings.ToLower(part))
			}
		},
		"step":       list(&read.step),
		"has":        list(&read.has),
		"lacks":      list(&read.lacks),
		"cardAction": list(&read.actions),
		"turn": func(node *yaml.Node, at string) {
			p.oneOrMany(node, at, func(node *yaml.Node, at string) { read.turn = append(read.turn, p.number(node, at)) })
		},
		"submitted": func(node *yaml.Node, at string) { read.submitted = p.fixedMembers(node, at) },
	})
	return read
}

func (p *parser) replies(node *yaml.Node, at string, expression *regexp.Regexp) []reply {
	var read []reply
	p.items(node, at, func(node *yaml.Node, at string) { read = append(read, p.reply(node, at, expression)) })
	return read
}

func (p *parser) reply(node *yaml.Node, at string, expression *regexp.Regexp) reply {
	read := reply{kind: rondo.ActivityMessage}
	object := func(into **form) member {
		return func(node *yaml.Node, at string) {
			if node.Kind != yaml.MappingNode {
				p.fail(node, at, "this must be an object")
				return
			}
			*into = p.form(node, at, expression, 0)
		}
	}
	p.members(node, at, map[string]member{
		"type":   func(node *yaml.Node, at string) { read.kind = p.text(node, at) },
		"code":   func(node *yaml.Node, at string) { read.code = p.text(node, at) },
		"text":   func(node *yaml.Node, at string) { read.text = p.template(node, at, expression) },
		"value":  object(&read.value),
		"card":   object(&read.card),
		"stream": func(node *yaml.Node, at string) { read.stream = p.boolean(node, at) },
		"choices": func(node *yaml.Node, at string) {
			p.items(node, at, func(node *yaml.Node, at string) {
				read.choices = append(read.choices, p.template(node, at, expression))
			})
		},
		"delayMs": func(node *yaml.Node, at string) { read.delay = time.Duration(p.number(node, at)) * time.Millisecond },
	})
	return read
}

var failureKinds = []agent.ErrorKind{
	agent.KindRefused, agent.KindUnreachable, agent.KindMalformed, agent.KindTooLarge, agent.KindToken, agent.KindOpen,
}

func (p *parser) failure(node *yaml.Node, at string) *failure {
	read := &failure{kind: agent.KindUnreachable}
	p.members(node, at, map[string]member{
		"kind": func(node *yaml.Node, at string) {
			read.kind = agent.ErrorKind(p.text(node, at))
			if !slices.Contains(failureKinds, read.kind) {
				p.fail(node, at, "unknown kind; use refused, unreachable, malformed, too_large, token or open")
			}
		},
		"status": func(node *yaml.Node, at string) { read.status = p.number(node, at) },
		"retryAfterMs": func(node *yaml.Node, at string) {
			read.retryAfter = time.Duration(p.number(node, at)) * time.Millisecond
		},
	})
	return read
}
