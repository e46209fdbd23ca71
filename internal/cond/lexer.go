package cond

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenPath             // text is the dotted path; one word when it has no dot
	tokenNumber           // number is set
	tokenString           // text is the unescaped value
	tokenSymbol           // text is the symbol: an operator or punctuation
)

type token struct {
	kind       tokenKind
	text       string
	number     float64
	start, end int
}

// lexer cuts a source text into tokens, one at a time.
type lexer struct {
	src string
	pos int
}

func (l *lexer) fail(offset int, format string, args ...any) error {
	return &ParseError{Offset: offset, Message: fmt.Sprintf(format, args...)}
}

func (l *lexer) next() (token, error) {
	for l.pos < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	if start == len(l.src) {
		return token{kind: tokenEnd, start: start, end: start}, nil
	}
	switch c := l.src[start]; {
	case isIdentStart(c):
		return l.path()
	case isDigit(c) || c == '-':
		return l.number()
	case c == '"' || c == '\'':
		return l.quoted(c)
	default:
		return l.symbol()
	}
}

func (l *lexer) path() (token, error) {
	start := l.pos
	for {
		if l.pos == len(l.src) || !isIdentStart(l.src[l.pos]) {
			return token{}, l.fail(l.pos, "a name must follow the dot, without space: names are letters, digits and _, and do not begin with a digit")
		}
		for l.pos < len(l.src) && isIdentPart(l.src[l.pos]) {
			l.pos++
		}
		if l.pos == len(l.src) || l.src[l.pos] != '.' {
			return token{kind: tokenPath, text: l.src[start:l.pos], start: start, end: l.pos}, nil
		}
		l.pos++
	}
}

// number reads exactly what JSON calls a number.
func (l *lexer) number() (token, error) {
	start := l.pos
	if l.src[l.pos] == '-' {
		l.pos++
	}
	switch digits := l.digits(); {
	case digits == 0:
		return token{}, l.fail(start, "- must be followed by a digit: there is no arithmetic, only negative numbers")
	case digits > 1 && l.src[l.pos-digits] == '0':
		return token{}, l.fail(start, "a number does not begin with a needless 0")
	}
	if l.pos < len(l.src) && l.src[l.pos] == '.' {
		l.pos++
		if l.digits() == 0 {
			return token{}, l.fail(l.pos, "a digit must follow the decimal point")
		}
	}
	if l.pos < len(l.src) && l.src[l.pos]|0x20 == 'e' {
		l.pos++
		if l.pos < len(l.src) && (l.src[l.pos] == '+' || l.src[l.pos] == '-') {
			l.pos++
		}
		if l.digits() == 0 {
			return token{}, l.fail(l.pos, "a digit must follow the exponent sign")
		}
	}
	if l.pos < len(l.src) && (isIdentPart(l.src[l.pos]) || l.src[l.pos] == '.') {
		return token{}, l.fail(l.pos, "a number must end before this: write it as in JSON, such as 12, -0.5 or 1e3")
	}
	value, err := strconv.ParseFloat(l.src[start:l.pos], 64)
	if err != nil || math.IsInf(value, 0) {
		return token{}, l.fail(start, "the number is too large: it must fit a 64-bit float")
	}
	return token{kind: tokenNumber, number: value, start: start, end: l.pos}, nil
}

func (l *lexer) digits() int {
	start := l.pos
	for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
		l.pos++
	}
	return l.pos - start
}

// quoted reads a string in either kind of quotes. The escapes are those of
// JSON, and the single quote itself.
func (l *lexer) quoted(quote byte) (token, error) {
	start := l.pos
	l.pos++
	var value strings.Builder
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == quote:
			l.pos++
			return token{kind: tokenString, text: value.String(), start: start, end: l.pos}, nil
		case c == '\\':
			r, err := l.escape()
			if err != nil {
				return token{}, err
			}
			value.WriteRune(r)
		case c < 0x20:
			return token{}, l.fail(l.pos, "a control character in a string must be escaped, such as \\n or \\u0009")
		default:
			r, size := utf8.DecodeRuneInString(l.src[l.pos:])
			if r == utf8.RuneError && size == 1 {
				return token{}, l.fail(l.pos, "the expression is not valid UTF-8 here")
			}
			value.WriteString(l.src[l.pos : l.pos+size])
			l.pos += size
		}
	}
	return token{}, l.fail(start, "the string is not closed: end it with %c", quote)
}

func (l *lexer) escape() (rune, error) {
	start := l.pos
	l.pos++
	if l.pos == len(l.src) {
		return 0, l.fail(start, "the string is not closed after a backslash")
	}
	c := l.src[l.pos]
	l.pos++
	switch c {
	case '"', '\'', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return l.unicodeEscape(start)
	}
	return 0, l.fail(start, `unknown escape: use \" \' \\ \/ \b \f \n \r \t or \u and four hex digits`)
}

func (l *lexer) unicodeEscape(start int) (rune, error) {
	first, ok := l.hex4()
	if !ok {
		return 0, l.fail(start, `\u needs four hex digits`)
	}
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if strings.HasPrefix(l.src[l.pos:], `\u`) {
		l.pos += 2
		if second, ok := l.hex4(); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, nil
			}
		}
	}
	return 0, l.fail(start, `half of a surrogate pair: write both halves, as \ud83d\ude00, or the character itself`)
}

func (l *lexer) hex4() (rune, bool) {
	if len(l.src)-l.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range []byte(l.src[l.pos : l.pos+4]) {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	l.pos += 4
	return r, true
}

func (l *lexer) symbol() (token, error) {
	start := l.pos
	rest := l.src[start:]
	for _, slip := range [...]struct{ written, meant, says string }{
		{"<>", "!=", "not equal"}, {"=<", "<=", "at most"}, {"=>", ">=", "at least"}, {"=!", "!=", "not equal"},
	} {
		if strings.HasPrefix(rest, slip.written) {
			return token{}, l.fail(start, "there is no %s: use %s for %q", slip.written, slip.meant, slip.says)
		}
	}
	for _, symbol := range [...]string{"<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ","} {
		if strings.HasPrefix(rest, symbol) {
			l.pos += len(symbol)
			if strings.HasSuffix(symbol, "=") && l.pos < len(l.src) && l.src[l.pos] == '=' {
				return token{}, l.fail(start, "there is no such operator: == and != are strict already")
			}
			return token{kind: tokenSymbol, text: symbol, start: start, end: l.pos}, nil
		}
	}
	switch c := rest[0]; c {
	case '=':
		return token{}, l.fail(start, "there is no assignment: use == to compare")
	case '&':
		return token{}, l.fail(start, "use && for \"and\"")
	case '|':
		return token{}, l.fail(start, "use || for \"or\"; there are no pipes")
	case '+', '*', '/', '%', '^':
		return token{}, l.fail(start, "there is no arithmetic: only comparisons, in, &&, || and !")
	case '?', ':':
		return token{}, l.fail(start, "there is no ternary: branch with the transitions of a step")
	case '.':
		return token{}, l.fail(start, "a dot only joins the names of a path, such as ai_review.confidence; numbers begin with a digit")
	case '{', '}':
		return token{}, l.fail(start, "there are no object literals: compare the members one by one")
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size == 1 {
		return token{}, l.fail(start, "the expression is not valid UTF-8 here")
	}
	return token{}, l.fail(start, "the character %s has no meaning here: text belongs in quotes, names are ASCII letters, digits and _", strconv.QuoteRune(r))
}

func isDigit(c byte) bool      { return '0' <= c && c <= '9' }
func isIdentStart(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }
func isIdentPart(c byte) bool  { return isIdentStart(c) || isDigit(c) }
