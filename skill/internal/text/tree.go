package text

import (
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// Names that templates get and nobody writes.
const (
	turnName  = "_turn"
	enterName = "_enter"
	leaveName = "_leave"
	maybeName = "_maybe"
)

// walker changes a parsed template: loops count their turns, conditions take absent
// members for empty ones.
type walker struct {
	rewrite func(*parse.ActionNode) // nil = nothing
}

func (w *walker) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe)
			if w.rewrite != nil && len(n.Pipe.Decl) == 0 {
				w.rewrite(n)
			}
		case *parse.IfNode:
			w.condition(n.Pipe)
			w.list(n.List)
			w.list(n.ElseList)
		case *parse.WithNode:
			w.condition(n.Pipe)
			w.list(n.List)
			w.list(n.ElseList)
		case *parse.RangeNode:
			w.pipe(n.Pipe)
			w.list(n.List)
			w.list(n.ElseList)
			n.List.Nodes = append([]parse.Node{action(turnName)}, n.List.Nodes...)
		case *parse.TemplateNode:
			w.pipe(n.Pipe)
		}
	}
}

// asking are the functions whose arguments may be absent.
var asking = []string{"and", "or", "not", "default"}

func (w *walker) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	for _, cmd := range pipe.Cmds {
		name, _ := cmd.Args[0].(*parse.IdentifierNode)
		for i, arg := range cmd.Args {
			switch a := arg.(type) {
			case *parse.PipeNode:
				w.pipe(a)
			case *parse.FieldNode, *parse.VariableNode:
				if i > 0 && name != nil && slices.Contains(asking, name.Ident) {
					cmd.Args[i] = maybe(a)
				}
			}
		}
	}
}

// condition is a pipe that may be a member alone: absent is false.
func (w *walker) condition(pipe *parse.PipeNode) {
	w.pipe(pipe)
	for _, cmd := range pipe.Cmds {
		if len(cmd.Args) == 1 {
			cmd.Args[0] = maybe(cmd.Args[0])
		}
	}
}

// maybe is a member as a call that does not mind when it is absent.
func maybe(node parse.Node) parse.Node {
	from, names := ".", []string(nil)
	switch n := node.(type) {
	case *parse.FieldNode:
		names = n.Ident
	case *parse.VariableNode:
		from, names = n.Ident[0], n.Ident[1:]
	}
	if len(names) == 0 {
		return node
	}
	var source strings.Builder
	source.WriteString("(" + maybeName + " " + from)
	for _, name := range names {
		source.WriteString(" " + strconv.Quote(name))
	}
	return firstPipe(source.String()+")", from).Cmds[0].Args[0]
}

// action calls a function that counts.
func action(name string) parse.Node {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: firstPipe(name, ".")}
}

// escapeActions adds the escaping of a URL to a value that is printed.
func escapeActions(action *parse.ActionNode) {
	last := action.Pipe.Cmds[len(action.Pipe.Cmds)-1]
	if name, ok := last.Args[0].(*parse.IdentifierNode); ok && slices.Contains([]string{"raw", "urlquery", "urlpart"}, name.Ident) {
		return
	}
	action.Pipe.Cmds = append(action.Pipe.Cmds, firstPipe("urlpart", ".").Cmds...)
}

// firstPipe parses what stands between {{ and }}. The sources are our own: one that
// does not parse is a defect.
func firstPipe(source, variable string) *parse.PipeNode {
	text := "{{" + source + "}}"
	if strings.HasPrefix(variable, "$") && variable != "$" {
		text = "{{" + variable + " := 0}}" + text
	}
	idle := &rendering{}
	trees, err := parse.Parse("own", text, "", "", idle.functions())
	if err != nil {
		panic("text: " + err.Error())
	}
	nodes := trees["own"].Root.Nodes
	action, _ := nodes[len(nodes)-1].(*parse.ActionNode)
	return action.Pipe
}
