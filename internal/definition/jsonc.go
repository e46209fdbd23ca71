package definition

import (
	"bytes"
	"fmt"
)

// syntaxError says where a file stops being readable. Lines and columns count
// from 1; a zero line is unknown.
type syntaxError struct {
	Line, Column int
	Pointer      string
	Message      string
}

func (e *syntaxError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// looksLikeJSON reports whether the first thing in the file is a brace, a
// bracket, or a comment that only JSON with comments has.
func looksLikeJSON(src []byte) bool {
	rest := bytes.TrimLeft(src, " \t\r\n")
	return bytes.HasPrefix(rest, []byte("{")) || bytes.HasPrefix(rest, []byte("[")) || bytes.HasPrefix(rest, []byte("/"))
}

// stripComments overwrites comments and trailing commas with spaces, so that
// what remains is JSON with every byte where it was.
func stripComments(src []byte) ([]byte, error) {
	out := bytes.Clone(src)
	comma := -1 // a comma after which nothing but space and comments has come
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i = endOfString(out, i)
			comma = -1
		case c == '/':
			end, err := endOfComment(out, i)
			if err != nil {
				return nil, err
			}
			blank(out[i:end])
			i = end
		case c == ',':
			comma = i
			i++
		case c == '}' || c == ']':
			if comma > 0 && !startsEmpty(out[:comma]) {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out, nil
}

// startsEmpty reports whether what precedes a comma is an opening bracket or
// another comma: such a comma trails nothing and stays an error.
func startsEmpty(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r\n")
	return len(before) == 0 || bytes.IndexByte([]byte("{[,:"), before[len(before)-1]) >= 0
}

// endOfString returns the index after the string that begins at i.
func endOfString(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

func endOfComment(src []byte, i int) (int, error) {
	if bytes.HasPrefix(src[i:], []byte("//")) {
		if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
			return i + n, nil
		}
		return len(src), nil
	}
	line, column := position(src, i)
	if !bytes.HasPrefix(src[i:], []byte("/*")) {
		return 0, &syntaxError{Line: line, Column: column, Message: "a lone slash; comments are // … or /* … */"}
	}
	n := bytes.Index(src[i+2:], []byte("*/"))
	if n < 0 {
		return 0, &syntaxError{Line: line, Column: column, Message: "this comment never ends; close it with */"}
	}
	return i + 2 + n + 2, nil
}

// blank overwrites with spaces but keeps line ends.
func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' && b[i] != '\r' {
			b[i] = ' '
		}
	}
}

// position turns an offset into line and column, counted from 1.
func position(src []byte, offset int) (line, column int) {
	offset = min(max(offset, 0), len(src))
	before := src[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}
