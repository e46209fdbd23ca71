package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/definition"
)

// runSource is a workflow file as it was read, in its own syntax and as JSON.
type runSource struct {
	text []byte
	body json.RawMessage
}

// readRunSource reads a workflow file. One that is not there makes the command line
// wrong, one that is no definition of a run is wrong itself.
func readRunSource(file string) (runSource, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return runSource{}, usageError{err}
	}
	body, err := definition.PlainJSON(text)
	if err != nil {
		return runSource{}, inFile(file, err)
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return runSource{}, &rondo.Error{
			Code: rondo.CodeInvalidDef, Message: file + " is empty", Hint: "a run has name, version and a list of steps, each with a skill; see docs/runs.md",
		}
	}
	if kind := definition.KindOf(text); kind != rondo.KindRun {
		return runSource{}, notARun(file, string(kind))
	}
	return runSource{text: text, body: body}, nil
}

// digest tells two files apart.
func (r runSource) digest() string {
	sum := sha256.Sum256(r.body)
	return hex.EncodeToString(sum[:])
}

// schema is what the file says of its input.
func (r runSource) schema() inputSchema {
	var file struct {
		Schema json.RawMessage `json:"input_schema"`
	}
	_ = json.Unmarshal(r.body, &file) // its shape is judged elsewhere
	return readInputSchema(file.Schema)
}

// unread names the members of a payload that no step reads and no schema names,
// each with the name that may have been meant.
func (r runSource) unread(payload json.RawMessage) []string {
	var file struct {
		Steps []struct {
			Input map[string]any `json:"input"`
			Raise map[string]any `json:"raise"`
		} `json:"steps"`
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(r.body, &file) != nil || json.Unmarshal(payload, &given) != nil {
		return nil
	}
	known := map[string]bool{}
	for name := range r.schema() {
		known[name] = true
	}
	for _, step := range file.Steps {
		readsOf(step.Input, known)
		readsOf(step.Raise, known)
	}
	if known["$"] { // all of it is read
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known[name] {
			continue
		}
		line := fmt.Sprintf("nothing reads the input %q", plain(name))
		if meant := definition.Nearest(name, slices.Sorted(maps.Keys(known))); meant != "" {
			line += fmt.Sprintf("; did you mean %s?", meant)
		}
		out = append(out, line)
	}
	return out
}

// readsOf notes which members of the payload selectors read; "$" is all of them.
func readsOf(v any, known map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			path, isPath := inner.(string)
			switch {
			case isPath && name == "trigger":
				known[firstPart(path)] = true
			case isPath && name == "change":
				known[firstPart(strings.TrimPrefix(path, "payload."))] = true
				known["$"] = known["$"] || path == "$" || path == "payload"
			case name != "const":
				readsOf(inner, known)
			}
		}
	case []any:
		for _, inner := range v {
			readsOf(inner, known)
		}
	}
}

// firstPart is the member that a path begins with.
func firstPart(path string) string {
	if at := strings.IndexAny(path, ".["); at > 0 {
		return path[:at]
	}
	return path
}

// inputSchema is what a schema says of the members of an input, as far as it
// matters to who types them: name → what is known of it.
type inputSchema map[string]inputMember

type inputMember struct {
	Type     any    `json:"type"` // a word, or a list of them
	Enum     []any  `json:"enum"`
	About    string `json:"description"`
	required bool
}

func readInputSchema(schema json.RawMessage) inputSchema {
	var read struct {
		Properties inputSchema `json:"properties"`
		Required   []string    `json:"required"`
	}
	_ = json.Unmarshal(schema, &read) // a schema of another form says nothing of members
	out := inputSchema{}
	maps.Copy(out, read.Properties)
	for _, name := range read.Required {
		member := out[name]
		member.required = true
		out[name] = member
	}
	return out
}

// text reports whether a member is text and nothing else, so that 2026 is the text
// "2026".
func (s inputSchema) text(name string) bool { return s[name].Type == "string" }

// rows are the members as a table.
func (s inputSchema) rows() [][]string {
	rows := [][]string{{"INPUT", "TYPE", "REQUIRED", "ABOUT"}}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		member := s[name]
		rows = append(rows, []string{plain(name), member.words(), yesNo(member.required), orDash(plain(member.About))})
	}
	return rows
}

func (m inputMember) words() string {
	var words []string
	switch kind := m.Type.(type) {
	case string:
		words = []string{kind}
	case []any:
		for _, one := range kind {
			words = append(words, fmt.Sprint(one))
		}
	}
	if len(m.Enum) > 0 {
		words = nil
		for _, one := range m.Enum {
			words = append(words, fmt.Sprint(one))
		}
	}
	if len(words) == 0 {
		return "any"
	}
	return plain(strings.Join(words, " or "))
}
