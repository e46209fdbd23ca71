package definition

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Mermaid draws a definition, finished or not, as a Mermaid flowchart.
func Mermaid(body json.RawMessage) (string, error) {
	d, err := drawable(body)
	if err != nil {
		return "", err
	}
	order, _ := d.graph().order()
	names := map[string]string{} // step ids may be words that Mermaid keeps for itself
	for i, id := range order {
		names[id] = fmt.Sprintf("s%d", i)
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, id := range order {
		step := d.steps[id]
		open, end := `["`, `"]`
		switch shapeOf(step.kind) {
		case shapeChoice:
			open, end = `{"`, `"}`
		case shapeStop:
			open, end = `[["`, `"]]`
		}
		fmt.Fprintf(&b, "  %s%s%s<br/><small>%s</small>%s\n", names[id], open, mermaidText(id), mermaidText(subtitle(step)), end)
	}
	if d.leadsTo(Terminal) {
		b.WriteString("  terminal(((\"TERMINAL\")))\n")
	}
	for _, id := range order {
		transitions := d.steps[id].transitions
		for _, outcome := range outcomeOrder(transitions) {
			target := names[transitions[outcome]]
			if transitions[outcome] == Terminal {
				target = "terminal"
			}
			if target != "" {
				fmt.Fprintf(&b, "  %s -->|\"%s\"| %s\n", names[id], mermaidText(strings.TrimPrefix(outcome, "on_")), target)
			}
		}
	}
	return b.String(), nil
}

// drawable reads a definition for drawing: it must be well-formed, not valid.
func drawable(body json.RawMessage) (*document, error) {
	var p problems
	d := readDocument(body, &p)
	if d == nil || len(p.errors) > 0 {
		p.sort()
		return nil, &rondo.Error{Code: rondo.CodeInvalid, Op: "draw definition", Message: "the definition is not well-formed", Fields: p.errors}
	}
	d.resolve(builtinContracts())
	return d, nil
}

type shape int

const (
	shapeWork shape = iota
	shapeChoice
	shapeStop
	shapeEnd
)

// shapeOf picks a shape by the built-in kind; everything else is work.
func shapeOf(kind string) shape {
	if c := builtinContracts()[kind]; c != nil {
		switch c.Behaviour {
		case BehaviourCondition:
			return shapeChoice
		case BehaviourHalt:
			return shapeStop
		case BehaviourFinal:
			return shapeEnd
		}
	}
	return shapeWork
}

// subtitle is the second line of a step: what decides, why it halts, or its kind.
func subtitle(step *writtenStep) string {
	switch shapeOf(step.kind) {
	case shapeChoice:
		if src, _ := step.expression(); src != "" {
			return src
		}
	case shapeStop:
		var code string
		if json.Unmarshal(step.params["reason_code"], &code) == nil && code != "" {
			return "halt: " + code
		}
	}
	return step.kind
}

func (d *document) leadsTo(target string) bool {
	for _, step := range d.steps {
		for _, to := range step.transitions {
			if to == target {
				return true
			}
		}
	}
	return false
}

// mermaidText escapes what would end a label or be read as markup.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "\n", " ", "\r", " ", "`", "#96;", "\\", "#92;").Replace(s)
}
