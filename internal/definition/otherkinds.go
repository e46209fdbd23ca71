package definition

import (
	"embed"
	"encoding/json"
	"regexp"
	"sync"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/internal/canon"
)

// Definitions of the other faces, conversations and runs: what they must look
// like is a JSON Schema in shapes/, and what a schema cannot say is code.

//go:embed shapes/*.json
var shapeFiles embed.FS

// ParseDraftOf reads a definition file of any kind, as ParseDraft does for
// cases.
func ParseDraftOf(kind rondo.DefinitionKind, src []byte) (Draft, error) {
	if kind == rondo.KindCase {
		return ParseDraft(src)
	}
	if len(src) > maxBytes {
		return Draft{}, &rondo.Error{Code: rondo.CodeTooLarge, Message: tooLarge, Hint: "split the workflow"}
	}
	body, err := plainJSON(src)
	if err != nil {
		return Draft{}, unreadable(err)
	}
	var p problems
	checkShape(kind, body, &p)
	if len(p.errors) > 0 {
		if kind == rondo.KindRun {
			checkRunBeside(body, &p)
		}
		p.sort()
		return Draft{}, &rondo.Error{
			Code: rondo.CodeInvalid, Message: "the definition is not well-formed",
			Hint: "correct each field listed", Fields: p.errors,
		}
	}
	var head struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return Draft{}, unreadable(err)
	}
	return Draft{Body: body, Name: head.Name, Semver: head.Version, DefaultMode: rondo.ModeActive, WorkflowTimeout: DefaultWorkflowTimeout}, nil
}

// ValidateOf judges a definition of any kind by the rules that hold at publish
// time, as Validate does for cases.
func ValidateOf(kind rondo.DefinitionKind, body json.RawMessage, env Environment) Report {
	if kind == rondo.KindCase {
		return Validate(body, env)
	}
	var p problems
	checkShape(kind, body, &p)
	switch {
	case kind == rondo.KindRun && len(p.errors) > 0:
		checkRunBeside(body, &p)
	case len(p.errors) > 0: // the rules rely on the shape
	case kind == rondo.KindRun:
		checkRun(body, &p)
	case kind == rondo.KindConversation:
		checkConversation(body, &p)
	}
	p.sort()
	return Report{Errors: nonNil(p.errors), Warnings: nonNil(p.warnings)}
}

// shapesOf compiles the shapes on first use; they never change. A test holds
// that every file compiles.
var shapesOf = sync.OnceValue(func() map[rondo.DefinitionKind]*Schema {
	shapes := map[rondo.DefinitionKind]*Schema{}
	for name, raw := range embedded(shapeFiles, "shapes") {
		if schema, err := CompileSchema(raw); err == nil {
			shapes[rondo.DefinitionKind(name)] = schema
		}
	}
	return shapes
})

// semver is a version as semver.org defines it.
var semver = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// checkShape judges what makes a body a draft of its kind.
func checkShape(kind rondo.DefinitionKind, body json.RawMessage, p *problems) {
	shape := shapesOf()[kind]
	if shape == nil {
		p.add("unknown_value", "", "there is no kind of definition %s; use case, conversation or run", quote(string(kind)))
		return
	}
	if err := canon.Check(body, canon.Limits{Bytes: maxBytes, Depth: maxDepth}); err != nil {
		addJSONError(p, err)
		return
	}
	for _, problem := range shape.check(body, "") {
		if kind == rondo.KindRun && isChange(problem.Pointer) {
			p.add("wrong_type", problem.Pointer, `a change is a list of steps, or "*"`)
			continue
		}
		p.add(shapeCode(problem.Code), problem.Pointer, "this %s", problem.Message)
	}
	var head struct {
		Version *string `json:"version"`
	}
	if kind == rondo.KindRun && json.Unmarshal(body, &head) == nil && head.Version != nil && !semver.MatchString(*head.Version) {
		p.add("version_invalid", "/version", "%s is not a version; write three numbers, e.g. 1.2.0", quote(*head.Version))
	}
}

// shapeCode names a violation of a shape as the same mistake in a case
// definition is named.
func shapeCode(code string) string {
	switch code {
	case "required":
		return "missing_member"
	case "type":
		return "wrong_type"
	case "enum", "const", "pattern":
		return "unknown_value"
	case "unknown_member":
		return code
	}
	return "out_of_range"
}

// KindOf tells the kind of a definition file by its members: a machine makes a
// conversation, a list of steps a run, anything else a case.
func KindOf(src []byte) rondo.DefinitionKind {
	if len(src) > maxBytes {
		return rondo.KindCase
	}
	body, err := plainJSON(src)
	if err != nil {
		return rondo.KindCase
	}
	var head struct {
		Machine json.RawMessage `json:"machine"`
		Steps   json.RawMessage `json:"steps"`
	}
	switch err := json.Unmarshal(body, &head); {
	case err != nil:
		return rondo.KindCase
	case head.Machine != nil:
		return rondo.KindConversation
	case typeOf(head.Steps) == "an array":
		return rondo.KindRun
	}
	return rondo.KindCase
}
