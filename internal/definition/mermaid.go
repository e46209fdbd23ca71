package definition

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rondo-engine/rondo"
)

// Mermaid draws a definition, finished or not, as a Mermaid flowchart. Steps of
// the given kinds, an organisation's own, look like what they do; those of kinds
// that are not known look like work.
func Mermaid(body json.RawMessage, kinds ...rondo.StepKind) (string, error) {
	return MermaidOf(rondo.KindCase, body, kinds...)
}

// MermaidOf draws a definition of any kind, as Mermaid does for cases.
func MermaidOf(kind rondo.DefinitionKind, body json.RawMessage, kinds ...rondo.StepKind) (string, error) {
	d, err := readDrawingOf(kind, body, kinds)
	if err != nil {
		return "", err
	}
	var nodes, end, ways strings.Builder
	names := make([]string, len(d.nodes)) // not the ids: they may be words that Mermaid keeps for itself
	next := 0
	for i, n := range d.nodes {
		if n.terminal {
			names[i] = "terminal"
			end.WriteString("  terminal(((\"TERMINAL\")))\n")
			continue
		}
		names[i] = fmt.Sprintf("s%d", next)
		next++
		label := mermaidText(n.name)
		if n.sub != "" {
			label += "<br/><small>" + mermaidText(n.sub) + "</small>"
		}
		left, right := mermaidShape(n.shape)
		fmt.Fprintf(&nodes, "  %s%s\"%s\"%s\n", names[i], left, label, right)
	}
	for _, w := range d.ways {
		arrow := "-->"
		switch w.kind {
		case wayBad:
			arrow = "-.->"
		case wayBranch:
			arrow = "==>"
		}
		if w.label != "" {
			arrow += "|\"" + mermaidText(w.label) + "\"|"
		}
		fmt.Fprintf(&ways, "  %s %s %s\n", names[w.from], arrow, names[w.to])
	}
	return "flowchart TD\n" + nodes.String() + end.String() + ways.String(), nil
}

func mermaidShape(s shape) (left, right string) {
	switch s {
	case shapeChoice:
		return "{", "}"
	case shapeStop:
		return "[[", "]]"
	case shapeFork:
		return "{{", "}}"
	case shapeJoin, shapeStart:
		return "([", "])"
	case shapeFinal:
		return "(((", ")))"
	case shapePerson:
		return "[/", "/]"
	case shapeWait:
		return "(", ")"
	}
	return "[", "]"
}

// mermaidText escapes what would end a label or be read as markup.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "\n", " ", "\r", " ", "`", "#96;", "\\", "#92;").Replace(s)
}
