package scripted

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// template is a string with placeholders. It is filled in one pass: what a
// placeholder stands for is never looked at again.
type template struct{ parts []part }

// part is a literal, or a placeholder when name is not empty.
type part struct {
	literal string
	name    string // text, step, turn, data, submitted, group
	key     string // of data and submitted
	group   int
	number  bool
}

// parseTemplate compiles a string; problem says what is wrong with it.
func parseTemplate(source string, expression *regexp.Regexp) (compiled *template, problem string) {
	compiled = &template{}
	var literal strings.Builder
	for source != "" {
		plain, rest, found := strings.Cut(source, "${")
		if !found {
			literal.WriteString(source)
			break
		}
		if escaped, dollar := strings.CutSuffix(plain, "$"); dollar {
			literal.WriteString(escaped + "${")
			source = rest
			continue
		}
		literal.WriteString(plain)
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, "a placeholder is not closed; write ${name}, or $${ for a plain ${"
		}
		placeholder, problem := parsePlaceholder(inside, expression)
		if problem != "" {
			return nil, problem
		}
		if literal.Len() > 0 {
			compiled.parts = append(compiled.parts, part{literal: literal.String()})
			literal.Reset()
		}
		compiled.parts = append(compiled.parts, placeholder)
		source = after
	}
	if literal.Len() > 0 {
		compiled.parts = append(compiled.parts, part{literal: literal.String()})
	}
	return compiled, ""
}

func parsePlaceholder(inside string, expression *regexp.Regexp) (placeholder part, problem string) {
	name, number := strings.CutPrefix(inside, "number:")
	placeholder.number = number
	if slices.Contains([]string{"text", "step", "turn"}, name) {
		placeholder.name = name
		return placeholder, ""
	}
	if root, key, dotted := strings.Cut(name, "."); dotted && key != "" && (root == "data" || root == "submitted") {
		placeholder.name, placeholder.key = root, key
		return placeholder, ""
	}
	placeholder.name = "group"
	if expression != nil {
		if index, err := strconv.Atoi(name); err == nil && index >= 0 && index <= expression.NumSubexp() {
			placeholder.group = index
			return placeholder, ""
		}
		if index := expression.SubexpIndex(name); index >= 0 {
			placeholder.group = index
			return placeholder, ""
		}
	}
	return part{}, "${" + inside + "} stands for nothing; use text, step, turn, data.key, submitted.key, or a group of the rule's text expression"
}

// text fills the template in as text.
func (t *template) text(said *heard) string {
	if len(t.parts) == 1 {
		return t.parts[0].text(said)
	}
	var out strings.Builder
	for _, p := range t.parts {
		out.WriteString(p.text(said))
	}
	return out.String()
}

func (p part) text(said *heard) string {
	raw := p.json(said)
	if raw == nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return text
	}
	return string(raw)
}

// json fills the template in as a JSON value: a placeholder that stands alone
// keeps its type, everything else is a string.
func (t *template) json(said *heard) json.RawMessage {
	if len(t.parts) == 1 && t.parts[0].name != "" {
		if raw := t.parts[0].json(said); raw != nil {
			return raw
		}
		return json.RawMessage("null")
	}
	return quoted(t.text(said))
}

// json is what a part stands for, nil when it is not there.
func (p part) json(said *heard) json.RawMessage {
	var raw json.RawMessage
	switch p.name {
	case "":
		return quoted(p.literal)
	case "text":
		raw = quoted(said.text)
	case "step":
		raw = quoted(said.context.Step)
	case "turn":
		raw = json.RawMessage(strconv.Itoa(said.context.Turn))
	case "data":
		raw = said.context.Data[p.key]
	case "submitted":
		raw = said.submitted[p.key]
	case "group":
		if p.group < len(said.groups) {
			raw = quoted(said.groups[p.group])
		}
	}
	if p.number {
		return asNumber(raw)
	}
	return raw
}

// asNumber makes a number of a string that reads as one, and leaves anything else
// alone.
func asNumber(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	var number json.Number
	if json.Unmarshal([]byte(text), &number) != nil || number == "" {
		return raw
	}
	return json.RawMessage(number)
}

func quoted(text string) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// A string always has a JSON form.
	_ = encoder.Encode(text)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// form is a JSON value with templates for strings. Exactly one member is set; one
// without placeholders is fixed.
type form struct {
	fixed  json.RawMessage
	filled *template
	items  []*form
	keys   []string // with items: an object, its keys in order
	object bool
}

// json fills the form in.
func (f *form) json(said *heard) json.RawMessage {
	if f.fixed != nil {
		return f.fixed
	}
	if f.filled != nil {
		return f.filled.json(said)
	}
	var out bytes.Buffer
	opening, closing := byte('['), byte(']')
	if f.object {
		opening, closing = '{', '}'
	}
	out.WriteByte(opening)
	for i, item := range f.items {
		if i > 0 {
			out.WriteByte(',')
		}
		if f.object {
			out.Write(quoted(f.keys[i]))
			out.WriteByte(':')
		}
		out.Write(item.json(said))
	}
	out.WriteByte(closing)
	return out.Bytes()
}
