package cond

type nodeKind uint8

const (
	nodeLiteral  nodeKind = iota
	nodePath              // a dotted path
	nodeNot               // one child
	nodeAnd               // two or more children
	nodeOr                // two or more children
	nodeCompare           // two children
	nodeSample            // literal holds p
	nodeNow               // no children
	nodeLen               // one child
	nodeCoalesce          // two children
)

type comparison uint8

const (
	compareLess comparison = iota
	compareLessEqual
	compareEqual
	compareNotEqual
	compareGreaterEqual
	compareGreater
	compareIn
)

// node is one element of a parsed expression. start and end delimit its source,
// for messages.
type node struct {
	kind       nodeKind
	compare    comparison
	start, end int
	literal    any
	path       []string
	children   []*node
}
