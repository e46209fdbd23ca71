package canon

import (
	"fmt"
	"strconv"
	"strings"
)

// scanner checks one document in one pass by recursive descent, bounded by the
// depth limit. It allocates only for escaped names, wide objects and errors.
type scanner struct {
	raw    []byte
	pos    int
	depth  int
	tokens int
	limits Limits
	names  nameStack
}

// newScanner takes the room for open names from its caller, whose stack has it
// for free.
func newScanner(raw []byte, limits Limits, names [][]byte) scanner {
	if limits.Depth <= 0 {
		limits.Depth = DefaultDepth
	}
	if limits.Tokens <= 0 {
		limits.Tokens = DefaultTokens
	}
	if limits.Bytes <= 0 {
		limits.Bytes = DefaultBytes
	}
	return scanner{raw: raw, limits: limits, names: nameStack{names}}
}

// document reads the whole input. A member function makes it require an object
// and is told that object's members.
func (s *scanner) document(member func(name, value []byte)) error {
	if len(s.raw) > s.limits.Bytes {
		return &Error{Offset: s.limits.Bytes, Message: fmt.Sprintf("longer than %d bytes", s.limits.Bytes), TooLarge: true, Limit: true}
	}
	s.space()
	if s.pos == len(s.raw) {
		return s.fail(s.pos, "a JSON value is missing: the input is empty")
	}
	if member != nil && s.raw[s.pos] != '{' {
		return s.fail(s.pos, "must be a JSON object")
	}
	if err := s.value(member); err != nil {
		return err
	}
	s.space()
	if s.pos != len(s.raw) {
		return s.fail(s.pos, "data follows the JSON value: send exactly one")
	}
	return nil
}

func (s *scanner) fail(offset int, message string) *Error {
	return &Error{Offset: offset, Message: message}
}

// within adds one level to the pointer of an error on its way up.
func (e *Error) within(token string) *Error {
	token = strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
	e.Pointer = "/" + token + e.Pointer
	return e
}

func (s *scanner) space() {
	for s.pos < len(s.raw) {
		switch s.raw[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) count() *Error {
	s.tokens++
	if s.tokens > s.limits.Tokens {
		return &Error{Offset: s.pos, Message: fmt.Sprintf("more than %d values and names", s.limits.Tokens), Limit: true}
	}
	return nil
}

// value reads one value; the position is at its first byte.
func (s *scanner) value(member func(name, value []byte)) *Error {
	if err := s.count(); err != nil {
		return err
	}
	if s.pos == len(s.raw) {
		return s.fail(s.pos, "the input ends where a value should be")
	}
	switch c := s.raw[s.pos]; {
	case c == '"':
		_, err := s.text()
		return err
	case c == '{':
		return s.object(member)
	case c == '[':
		return s.array()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.fail(s.pos, "a value must stand here: an object, array, string, number, true, false or null")
}

func (s *scanner) word(word string) *Error {
	if end := s.pos + len(word); end <= len(s.raw) && string(s.raw[s.pos:end]) == word {
		s.pos = end
		return nil
	}
	return s.fail(s.pos, "a value must stand here: an object, array, string, number, true, false or null")
}

func (s *scanner) enter() *Error {
	s.depth++
	if s.depth > s.limits.Depth {
		return &Error{Offset: s.pos, Message: fmt.Sprintf("nests deeper than %d levels", s.limits.Depth), Limit: true}
	}
	s.pos++
	s.space()
	return nil
}

// separator reads what follows an element: true means another one comes.
func (s *scanner) separator(closing byte, message string) (bool, *Error) {
	s.space()
	if s.pos < len(s.raw) {
		switch s.raw[s.pos] {
		case closing:
			s.pos++
			s.depth--
			return false, nil
		case ',':
			s.pos++
			s.space()
			return true, nil
		}
	}
	return false, s.fail(s.pos, message)
}

func (s *scanner) array() *Error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.pos < len(s.raw) && s.raw[s.pos] == ']' {
		s.pos++
		s.depth--
		return nil
	}
	for i := 0; ; i++ {
		if err := s.value(nil); err != nil {
			return err.within(strconv.Itoa(i))
		}
		more, err := s.separator(']', "a comma or ] must follow an array element")
		if err != nil || !more {
			return err
		}
	}
}

func (s *scanner) object(member func(name, value []byte)) *Error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.pos < len(s.raw) && s.raw[s.pos] == '}' {
		s.pos++
		s.depth--
		return nil
	}
	names := s.names.open()
	for {
		if err := s.member(&names, member); err != nil {
			return err
		}
		more, err := s.separator('}', "a comma or } must follow an object member")
		if err != nil {
			return err
		}
		if !more {
			s.names.close(names)
			return nil
		}
	}
}

func (s *scanner) member(names *nameSet, member func(name, value []byte)) *Error {
	if s.pos == len(s.raw) || s.raw[s.pos] != '"' {
		return s.fail(s.pos, "a member name in double quotes must stand here")
	}
	if err := s.count(); err != nil {
		return err
	}
	start := s.pos
	escaped, err := s.text()
	if err != nil {
		return err
	}
	name := s.raw[start+1 : s.pos-1]
	if escaped {
		name = unescape(name)
	}
	if !s.names.add(names, name) {
		return s.fail(start, "the same member name stands twice in one object").within(string(name))
	}
	s.space()
	if s.pos == len(s.raw) || s.raw[s.pos] != ':' {
		return s.fail(s.pos, "a colon must follow the member name").within(string(name))
	}
	s.pos++
	s.space()
	valueStart := s.pos
	if err := s.value(nil); err != nil {
		return err.within(string(name))
	}
	if member != nil {
		member(name, s.raw[valueStart:s.pos])
	}
	return nil
}
