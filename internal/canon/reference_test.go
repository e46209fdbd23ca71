package canon

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf8"
)

// The reference is the npm package canonicalize, of the version that
// tools/canonicalize pins: the library that RFC 8785 itself refers to.
func TestCanonicalFormsAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	dir := referenceDir(t)
	documents := 30_000
	if os.Getenv("RONDO_TEST_REQUIRE") == "1" {
		documents = 1_000_000
	}
	node := exec.CommandContext(t.Context(), "node", "run.mjs")
	node.Dir = dir
	var complaints bytes.Buffer
	node.Stderr = &complaints
	input, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- sendDocuments(input, documents) }()

	mine := documentSource{rand: newSource()}
	answers := bufio.NewReaderSize(output, 1<<20)
	kinds := map[byte]int{}
	var document []byte
	for i := range documents {
		document = mine.document(document[:0])
		got, err := JSON(document)
		if err != nil {
			t.Fatalf("document %d, %s: %v", i, document, err)
		}
		want, err := answers.ReadSlice('\n')
		if err != nil {
			t.Fatalf("the reference answered %d of %d documents: %v\n%s", i, documents, err, complaints.String())
		}
		if !bytes.Equal(got, want[:len(want)-1]) {
			t.Fatalf("document %d: %s\nreference: %s\n      got: %s", i, document, want[:len(want)-1], got)
		}
		kinds[got[0]]++
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if err := node.Wait(); err != nil {
		t.Fatalf("node: %v\n%s", err, complaints.String())
	}
	for _, kind := range []byte(`{["-1`) {
		if kinds[kind] < documents/100 {
			t.Errorf("%d of %d documents begin with %c: the generator is too dull", kinds[kind], documents, kind)
		}
	}
}

// sendDocuments writes the same documents as the reading side makes, once more: that
// is cheaper than keeping them.
func sendDocuments(to io.WriteCloser, documents int) error {
	buffered := bufio.NewWriterSize(to, 1<<20)
	theirs := documentSource{rand: newSource()}
	var document []byte
	for range documents {
		document = append(theirs.document(document[:0]), '\n')
		if _, err := buffered.Write(document); err != nil {
			return err
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return to.Close()
}

// referenceDir finds node and the reference, or skips where they are not required.
func referenceDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "tools", "canonicalize")
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "canonicalize"))
	}
	if err != nil && os.Getenv("RONDO_TEST_REQUIRE") != "1" {
		t.Skip("the reference is not there: install node and run npm ci in tools/canonicalize")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newSource() *rand.Rand { return rand.New(rand.NewPCG(8785, 1)) }

// documentSource makes JSON that is easily put in a wrong form: names whose order
// differs between bytes and UTF-16, every way to write a character or a number,
// space where it may stand. All of it is accepted by both sides.
type documentSource struct {
	rand *rand.Rand
}

func (d *documentSource) document(b []byte) []byte {
	return d.value(b, d.rand.IntN(5))
}

func (d *documentSource) space(b []byte) []byte {
	if d.rand.IntN(8) == 0 {
		return append(b, " \t\r "[d.rand.IntN(4)])
	}
	return b
}

func (d *documentSource) value(b []byte, depth int) []byte {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch d.rand.IntN(kinds) {
	case 0:
		return append(b, [...]string{"null", "true", "false"}[d.rand.IntN(3)]...)
	case 1, 2:
		return d.text(b)
	case 3, 4, 5:
		return d.number(b)
	case 6:
		b = append(b, '[')
		for i := range d.rand.IntN(4) {
			if i > 0 {
				b = append(b, ',')
			}
			b = d.space(d.value(d.space(b), depth-1))
		}
		return append(b, ']')
	}
	return d.object(b, depth)
}

func (d *documentSource) object(b []byte, depth int) []byte {
	b = append(b, '{')
	used := map[string]bool{}
	for range d.rand.IntN(6) {
		var quoted []byte
		quoted = d.text(quoted)
		name, ok := Text(quoted)
		if !ok || used[string(name)] {
			continue
		}
		if len(used) > 0 {
			b = append(b, ',')
		}
		used[string(name)] = true
		b = append(d.space(append(d.space(b), quoted...)), ':')
		b = d.space(d.value(d.space(b), depth-1))
	}
	return append(b, '}')
}

// traps are characters around the places where orders and escapes differ.
var traps = []rune{
	0, 1, 8, 9, 10, 11, 12, 13, 31, ' ', '"', '\'', '/', '<', '>', '&', '\\', '0', '1', 'A', 'a', 'z', 127, 0x80, 0xf6,
	0x7ff, 0x800, 0x2028, 0x2029, 0x20ac, 0xd7ff, 0xe000, 0xfb33, 0xfeff, 0xfffd, 0xffff, 0x10000, 0x1f600, 0x10ffff,
}

func (d *documentSource) text(b []byte) []byte {
	b = append(b, '"')
	for range d.rand.IntN(5) {
		r := traps[d.rand.IntN(len(traps))]
		if d.rand.IntN(4) == 0 {
			for r = -1; !utf8.ValidRune(r); r = d.rand.Int32N(utf8.MaxRune + 1) {
			}
		}
		b = d.character(b, r)
	}
	return append(b, '"')
}

// character writes one plainly or escaped.
func (d *documentSource) character(b []byte, r rune) []byte {
	must := r < ' ' || r == '"' || r == '\\'
	if !must && d.rand.IntN(4) > 0 {
		return utf8.AppendRune(b, r)
	}
	if at := bytes.IndexRune([]byte("\"\\/\b\f\n\r\t"), r); at >= 0 && d.rand.IntN(2) == 0 {
		return append(b, '\\', `"\/bfnrt`[at])
	}
	if r < 0x10000 {
		return d.unit(b, r)
	}
	r -= 0x10000
	return d.unit(d.unit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
}

func (d *documentSource) unit(b []byte, unit rune) []byte {
	digits := "0123456789abcdef"
	if d.rand.IntN(2) == 0 {
		digits = "0123456789ABCDEF"
	}
	return append(b, '\\', 'u', digits[unit>>12], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
}

// number writes one that neither side refuses: whole numbers are safe integers.
func (d *documentSource) number(b []byte) []byte {
	switch d.rand.IntN(8) {
	case 0:
		return append(b, [...]string{"0", "-0", "-0.0", "0e5", "-0E-3", "1e-400", "5e-324", "-2.2250738585072014e-308", "1.7976931348623157e308"}[d.rand.IntN(9)]...)
	case 1:
		return strconv.AppendInt(b, d.rand.Int64N(2001)-1000, 10)
	case 2:
		return strconv.AppendInt(b, d.rand.Int64N(2*maxSafe+1)-maxSafe, 10)
	case 3: // a fraction of few digits, with needless zeros
		b = strconv.AppendInt(b, d.rand.Int64N(1000), 10)
		b = strconv.AppendInt(append(b, '.'), d.rand.Int64N(1000), 10)
		return append(b, "000"[d.rand.IntN(4):]...)
	case 4: // where the form changes to exponents and back
		b = strconv.AppendInt(b, 1+d.rand.Int64N(9), 10)
		return strconv.AppendInt(append(b, [...]string{"e-", "E-", ".5e-"}[d.rand.IntN(3)]...), 1+d.rand.Int64N(30), 10)
	case 5: // next to a power of two, and subnormal
		f := math.Ldexp(1, d.rand.IntN(1100)-1074)
		return d.float(b, math.Nextafter(f, 0))
	}
	return d.float(b, math.Float64frombits(d.rand.Uint64()))
}

func (d *documentSource) float(b []byte, f float64) []byte {
	whole := math.Trunc(f) == f && math.Abs(f) > maxSafe && math.Abs(f) < 1e21
	if math.IsNaN(f) || math.IsInf(f, 0) || whole {
		return append(b, '7')
	}
	format := "eEg"[d.rand.IntN(3)]
	if math.Abs(f) > 1e-6 && math.Abs(f) < 1e15 && d.rand.IntN(2) == 0 {
		format = 'f'
	}
	precision := -1
	if d.rand.IntN(3) == 0 {
		precision = 17 + d.rand.IntN(4) // more digits than it has
	}
	return strconv.AppendFloat(b, f, format, precision, 64)
}
