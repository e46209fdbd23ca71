package openai

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// promptReader finds, in a JSON object that arrives in pieces of any size, what is
// there already of the string under the top-level key `prompt`. A text that does
// not begin like an object is plain: all of it is the prompt.
type promptReader struct {
	plain   bool
	space   []byte // before the first character
	begun   bool   // the first character that is no space was seen
	done    bool   // the prompt is over: the rest is not looked at
	depth   int
	inside  bool // of a string
	isKey   bool // the string is a key of the outer object
	isValue bool // the string is the prompt
	wantKey bool // the next string of the outer object is a key
	key     strings.Builder
	found   bool // the last key was `prompt`

	escape string // of an escape sequence that has begun, what is there
	high   rune   // first half of a surrogate pair
	utf8   []byte // of a character that has begun, what is there
}

// add takes the next piece and returns what it adds to the prompt.
func (p *promptReader) add(next string) string {
	var out strings.Builder
	for i := range len(next) {
		if p.done {
			break
		}
		if p.plain {
			out.WriteString(next[i:])
			break
		}
		p.take(next[i], &out)
	}
	return out.String()
}

func (p *promptReader) take(b byte, out *strings.Builder) {
	if p.inside {
		p.takeInString(b, out)
		return
	}
	switch b {
	case ' ', '\t', '\r', '\n':
		if p.begun {
			return
		}
		// Space before an object is not part of it; a plain text keeps it.
		p.space = append(p.space, b)
	case '{', '[':
		p.open(b, out)
	case '}', ']':
		if p.depth--; p.depth <= 0 {
			p.done = true
		}
	case ',':
		p.wantKey = p.depth == 1
		p.found = false
	case ':':
	case '"':
		if !p.begun {
			p.turnPlain(b, out)
			return
		}
		p.inside = true
		p.isKey = p.depth == 1 && p.wantKey
		p.isValue = p.depth == 1 && !p.wantKey && p.found
		p.wantKey = false
		if p.isKey {
			p.key.Reset()
		}
	default:
		if !p.begun {
			p.turnPlain(b, out)
		}
	}
}

func (p *promptReader) open(b byte, out *strings.Builder) {
	if !p.begun && b == '[' {
		p.turnPlain(b, out)
		return
	}
	p.begun = true
	p.depth++
	p.wantKey = p.depth == 1
	p.found = p.found && p.depth == 1
}

// turnPlain takes the text for plain, with the space it began with.
func (p *promptReader) turnPlain(b byte, out *strings.Builder) {
	p.plain, p.begun = true, true
	out.Write(p.space)
	out.WriteByte(b)
}

// takeInString takes one byte of a string.
func (p *promptReader) takeInString(b byte, out *strings.Builder) {
	switch {
	case p.escape != "":
		p.takeEscape(b, out)
	case b == '\\':
		p.escape = `\`
	case b == '"':
		p.flush(out)
		p.inside = false
		if p.isKey {
			p.found = p.key.String() == "prompt"
		}
		p.done = p.done || p.isValue
	default:
		p.flushHigh(out)
		p.utf8 = append(p.utf8, b)
		if utf8.FullRune(p.utf8) {
			r, _ := utf8.DecodeRune(p.utf8)
			p.utf8 = p.utf8[:0]
			p.write(r, out)
		}
	}
}

func (p *promptReader) takeEscape(b byte, out *strings.Builder) {
	p.escape += string(rune(b))
	const whole = len(`\u0000`)
	switch {
	case p.escape[1] != 'u':
		p.flushHigh(out)
		r, known := map[byte]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[b]
		if !known {
			r = rune(b) // the quote, the slashes; anything else is no JSON anyway
		}
		p.escape = ""
		p.write(r, out)
	case len(p.escape) >= whole:
		unit, err := strconv.ParseUint(p.escape[2:], 16, 16)
		p.escape = ""
		if err != nil {
			unit = utf8.RuneError
		}
		p.takeUnit(rune(unit), out)
	}
}

// takeUnit takes one UTF-16 unit: half of a pair waits for the other half.
func (p *promptReader) takeUnit(unit rune, out *strings.Builder) {
	if p.high != 0 {
		if pair := utf16.DecodeRune(p.high, unit); pair != utf8.RuneError {
			p.high = 0
			p.write(pair, out)
			return
		}
		p.flushHigh(out)
	}
	switch {
	case unit >= 0xD800 && unit < 0xDC00:
		p.high = unit
	case utf16.IsSurrogate(unit):
		p.write(utf8.RuneError, out)
	default:
		p.write(unit, out)
	}
}

// flushHigh gives up on a half that stays alone, as decoders of JSON do.
func (p *promptReader) flushHigh(out *strings.Builder) {
	if p.high != 0 {
		p.high = 0
		p.write(utf8.RuneError, out)
	}
}

func (p *promptReader) flush(out *strings.Builder) {
	p.flushHigh(out)
	if len(p.utf8) > 0 {
		p.utf8 = p.utf8[:0]
		p.write(utf8.RuneError, out)
	}
}

func (p *promptReader) write(r rune, out *strings.Builder) {
	switch {
	case p.isKey:
		p.key.WriteRune(r)
	case p.isValue:
		out.WriteRune(r)
	}
}
