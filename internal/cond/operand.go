package cond

// call reads the arguments of a helper whose name was just consumed.
func (p *parser) call(name token) (*node, error) {
	if !p.at("(") {
		return nil, p.lex.fail(name.start, "%s is a helper and must be called: write %s", name.text, usage(name.text))
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n := node{start: name.start}
	var err error
	switch name.text {
	case "sample":
		n.kind = nodeSample
		n.literal, err = p.share()
	case "now":
		n.kind = nodeNow
		p.expr.usesNow = true
	case "len":
		n.kind = nodeLen
		n.children, err = p.arguments(name.text, 1)
	case "coalesce":
		n.kind = nodeCoalesce
		n.children, err = p.arguments(name.text, 2)
	}
	if err != nil {
		return nil, err
	}
	n.end = p.tok.end
	if p.tok.kind == tokenEnd {
		return nil, p.fail("the call of %s is not closed: add )", name.text)
	}
	if err := p.expect(")", "the call must end with ) here: write "+usage(name.text)); err != nil {
		return nil, err
	}
	return p.add(n)
}

// share reads the argument of sample, which must be a literal so that it can be
// judged before a case ever runs.
func (p *parser) share() (float64, error) {
	share := p.tok.number
	if p.tok.kind != tokenNumber || share < 0 || share > 1 {
		return 0, p.fail("sample takes a number literal from 0 to 1, such as sample(0.1)")
	}
	p.expr.samples = append(p.expr.samples, share)
	return share, p.advance()
}

func (p *parser) arguments(name string, count int) ([]*node, error) {
	arguments := make([]*node, 0, count)
	for i := range count {
		if p.at(")") {
			return nil, p.fail("too few arguments: write %s", usage(name))
		}
		if i > 0 {
			if err := p.expect(",", "a comma must separate the arguments: write "+usage(name)); err != nil {
				return nil, err
			}
		}
		argument, err := p.or()
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, argument)
	}
	if p.at(",") {
		return nil, p.fail("too many arguments: write %s", usage(name))
	}
	return arguments, nil
}

func usage(helper string) string {
	switch helper {
	case "sample":
		return "sample(0.1)"
	case "now":
		return "now()"
	case "len":
		return "len(x)"
	default:
		return "coalesce(a, b)"
	}
}

func (p *parser) startsLiteral() bool {
	switch p.tok.kind {
	case tokenNumber, tokenString:
		return true
	case tokenPath:
		return isLiteralWord(p.tok.text)
	default:
		return p.at("[")
	}
}

func (p *parser) literal() (*node, error) {
	start := p.tok.start
	value, end, err := p.literalValue()
	if err != nil {
		return nil, err
	}
	// literalValue has counted every element; the literal itself is one of them.
	return &node{kind: nodeLiteral, literal: value, start: start, end: end}, nil
}

func (p *parser) literalValue() (value any, end int, err error) {
	if _, err := p.add(node{start: p.tok.start}); err != nil {
		return nil, 0, err
	}
	end = p.tok.end
	switch p.tok.kind {
	case tokenNumber:
		value = p.tok.number
	case tokenString:
		value = p.tok.text
	case tokenPath:
		switch p.tok.text {
		case "true":
			value = true
		case "false":
			value = false
		}
	default:
		return p.array()
	}
	return value, end, p.advance()
}

func (p *parser) array() (value any, end int, err error) {
	if err := p.enter(); err != nil {
		return nil, 0, err
	}
	defer p.leave()
	if err := p.advance(); err != nil {
		return nil, 0, err
	}
	elements := []any{}
	for !p.at("]") {
		if len(elements) > 0 {
			if p.tok.kind == tokenEnd {
				return nil, 0, p.fail("[ … ] is not closed: add ]")
			}
			if err := p.expect(",", "a comma must separate the elements of an array; they are literals"); err != nil {
				return nil, 0, err
			}
		}
		if p.tok.kind == tokenEnd {
			return nil, 0, p.fail("[ … ] is not closed: add ]")
		}
		if !p.startsLiteral() {
			return nil, 0, p.fail("the elements of an array are literals: numbers, strings, true, false, null or arrays of them")
		}
		element, _, err := p.literalValue()
		if err != nil {
			return nil, 0, err
		}
		elements = append(elements, element)
	}
	end = p.tok.end
	return elements, end, p.advance()
}
