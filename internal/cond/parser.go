package cond

import (
	"slices"
	"strings"
)

// parser reads the grammar of the package comment by recursive descent, one
// token ahead.
type parser struct {
	lex   lexer
	tok   token
	expr  *Expr
	nodes int
	depth int
}

func (p *parser) parse() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == tokenEnd {
		return nil, p.fail("the expression is empty: write a condition such as ai_review.confidence < 0.7")
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEnd {
		return nil, p.fail("%s", p.afterOperand())
	}
	return root, nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

func (p *parser) fail(format string, args ...any) error {
	return p.lex.fail(p.tok.start, format, args...)
}

func (p *parser) at(symbol string) bool {
	return p.tok.kind == tokenSymbol && p.tok.text == symbol
}

func (p *parser) expect(symbol, message string) error {
	if !p.at(symbol) {
		return p.fail("%s", message)
	}
	return p.advance()
}

// add counts a node against the limit.
func (p *parser) add(n node) (*node, error) {
	p.nodes++
	if p.nodes > MaxNodes {
		return nil, p.lex.fail(n.start, "the expression has more than %d parts: split it over several conditions", MaxNodes)
	}
	return &n, nil
}

// enter and leave bound how deep the parser recurses.
func (p *parser) enter() error {
	p.depth++
	if p.depth > MaxDepth {
		return p.fail("the expression nests deeper than %d: split it over several conditions", MaxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) or() (*node, error)  { return p.chain("||", nodeOr, p.and) }
func (p *parser) and() (*node, error) { return p.chain("&&", nodeAnd, p.compare) }

// chain reads operands joined by one operator into one flat node, so that a
// long list of alternatives is not a deep tree.
func (p *parser) chain(symbol string, kind nodeKind, operand func() (*node, error)) (*node, error) {
	first, err := operand()
	if err != nil || !p.at(symbol) {
		return first, err
	}
	children := []*node{first}
	for p.at(symbol) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		next, err := operand()
		if err != nil {
			return nil, err
		}
		children = append(children, next)
	}
	return p.add(node{kind: kind, start: first.start, end: children[len(children)-1].end, children: children})
}

func (p *parser) compare() (*node, error) {
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	op, ok := p.comparison()
	if !ok {
		return left, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	if _, again := p.comparison(); again {
		return nil, p.fail("comparisons do not chain: write a < b && b < c")
	}
	return p.add(node{kind: nodeCompare, compare: op, start: left.start, end: right.end, children: []*node{left, right}})
}

func (p *parser) comparison() (comparison, bool) {
	if p.tok.kind == tokenPath && p.tok.text == "in" {
		return compareIn, true
	}
	if p.tok.kind != tokenSymbol {
		return 0, false
	}
	switch p.tok.text {
	case "<":
		return compareLess, true
	case "<=":
		return compareLessEqual, true
	case "==":
		return compareEqual, true
	case "!=":
		return compareNotEqual, true
	case ">=":
		return compareGreaterEqual, true
	case ">":
		return compareGreater, true
	}
	return 0, false
}

func (p *parser) unary() (*node, error) {
	if !p.at("!") {
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if err := p.advance(); err != nil {
		return nil, err
	}
	operand, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.add(node{kind: nodeNot, start: start, end: operand.end, children: []*node{operand}})
}

func (p *parser) primary() (*node, error) {
	switch {
	case p.at("("):
		return p.group()
	case p.tok.kind == tokenPath && !isLiteralWord(p.tok.text):
		return p.pathOrCall()
	case p.startsLiteral():
		return p.literal()
	case p.tok.kind == tokenEnd:
		return nil, p.fail("the expression ends where a value should be: a path, a literal, a helper call or ( … )")
	}
	return nil, p.fail("%s cannot begin a value: a path, a literal, a helper call or ( … ) may stand here", p.tok.text)
}

func (p *parser) group() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	start := p.tok.start
	if err := p.advance(); err != nil {
		return nil, err
	}
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	end := p.tok.end
	if !p.at(")") {
		return nil, p.fail("%s", p.unclosed("( … )", ")"))
	}
	inner.start, inner.end = start, end
	return inner, p.advance()
}

func (p *parser) pathOrCall() (*node, error) {
	word := p.tok
	root, _, _ := strings.Cut(word.text, ".")
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case isHelper(word.text):
		return p.call(word)
	case isHelper(root) || isLiteralWord(root) || root == "in":
		return nil, p.lex.fail(word.start, "%s is a word of the language: a path cannot begin with it", root)
	case strings.EqualFold(word.text, "not") && p.startsOperand():
		return nil, p.lex.fail(word.start, `use ! for "not", in front of what it negates: !(a in b)`)
	case p.at("("):
		return nil, p.lex.fail(word.start, "there is no such helper: only sample(p), now(), len(x) and coalesce(a, b) can be called")
	case p.at("["):
		return nil, p.fail("there is no indexing: paths go by name, such as case.metadata.site")
	}
	path := strings.Split(word.text, ".")
	n, err := p.add(node{kind: nodePath, path: path, start: word.start, end: word.end})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(p.expr.paths, func(seen []string) bool { return slices.Equal(seen, path) }) {
		p.expr.paths = append(p.expr.paths, path)
	}
	return n, nil
}

// startsOperand reports whether the token begins a value of its own.
func (p *parser) startsOperand() bool {
	return p.at("(") || p.at("!") || p.startsLiteral() || p.tok.kind == tokenPath && p.tok.text != "in"
}

// afterOperand says why the token after a complete operand is wrong.
func (p *parser) afterOperand() string {
	const allowed = "only < <= == != >= > in && || may follow a value"
	switch p.tok.kind {
	case tokenPath:
		switch strings.ToLower(p.tok.text) {
		case "and":
			return `use && for "and"`
		case "or":
			return `use || for "or"`
		case "not":
			return `use ! for "not", in front of what it negates: !(a in b)`
		case "is", "eq", "equals":
			return `use == for "equal"`
		case "ne":
			return `use != for "not equal"`
		}
		return "an operator is missing before this name: " + allowed
	case tokenNumber:
		return "an operator is missing before this number: " + allowed + "; there is no arithmetic"
	case tokenString:
		return "an operator is missing before this string: " + allowed
	case tokenSymbol:
		switch p.tok.text {
		case "[":
			return "there is no indexing: " + allowed
		case "(":
			return "this cannot be called: " + allowed
		case "!":
			return "! stands in front of what it negates: write !(a in b)"
		case ")", "]", ",":
			return p.tok.text + " has no opening counterpart"
		}
	}
	return allowed
}

// unclosed says what is wrong where a bracket should close.
func (p *parser) unclosed(form, closing string) string {
	if p.tok.kind == tokenEnd {
		return form + " is not closed: add " + closing
	}
	if p.at(",") || p.at(")") || p.at("]") {
		return form + " must end with " + closing + " here"
	}
	return p.afterOperand()
}

func isLiteralWord(word string) bool {
	return word == "true" || word == "false" || word == "null"
}

func isHelper(word string) bool {
	return word == "sample" || word == "now" || word == "len" || word == "coalesce"
}
