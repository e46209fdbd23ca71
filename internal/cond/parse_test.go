package cond

import (
	"errors"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		src    string
		offset int
		says   string
	}{
		{"", 0, "empty"},
		{"  ", 2, "empty"},
		{"a b", 2, "operator is missing"},
		{"a 1", 2, "operator is missing"},
		{"a 'x'", 2, "operator is missing"},
		{"a and b", 2, `use && for "and"`},
		{"a < 1 And b", 6, `use && for "and"`},
		{"(a AND b)", 3, `use && for "and"`},
		{"a or b", 2, `use || for "or"`},
		{"a not in b", 2, `use ! for "not"`},
		{"not a", 0, `use ! for "not"`},
		{"a && NOT (b)", 5, `use ! for "not"`},
		{"not true", 0, `use ! for "not"`},
		{"a is null", 2, "use =="},
		{"a ne null", 2, "use !="},
		{"a <> b", 2, `use != for "not equal"`},
		{"a =< b", 2, `use <= for "at most"`},
		{"a => b", 2, `use >= for "at least"`},
		{"a =! b", 2, `use != for "not equal"`},
		{"a &&", 4, "ends where a value"},
		{"a && && b", 5, "cannot begin a value"},
		{"a & b", 2, "use &&"},
		{"a | b", 2, "use ||"},
		{"a = b", 2, "use =="},
		{"a === b", 2, "strict already"},
		{"a !== b", 2, "strict already"},
		{"a + 1", 2, "no arithmetic"},
		{"a * 1", 2, "no arithmetic"},
		{"a / 1", 2, "no arithmetic"},
		{"a % 1", 2, "no arithmetic"},
		{"a - 1", 2, "no arithmetic"},
		{"a -1", 2, "no arithmetic"},
		{"1-1", 1, "no arithmetic"},
		{"-a", 0, "negative numbers"},
		{"a ? b : c", 2, "no ternary"},
		{"a; b", 1, "has no meaning"},
		{"{a: 1}", 0, "no object literals"},
		{"a[0]", 1, "no indexing"},
		{"(a)[0]", 3, "no indexing"},
		{"a.b()", 0, "no such helper"},
		{"upper(a)", 0, "no such helper"},
		{"(a)(b)", 3, "cannot be called"},
		{"a.", 2, "must follow the dot"},
		{"a..b", 2, "must follow the dot"},
		{"a. b", 2, "must follow the dot"},
		{"a .b", 2, "a dot only joins"},
		{"a.1", 2, "must follow the dot"},
		{".5", 0, "begin with a digit"},
		{"a.b-c", 3, "negative numbers"},
		{"ä == 1", 0, "has no meaning"},
		{"a == “x”", 5, "has no meaning"},
		{"true.x", 0, "word of the language"},
		{"in.x", 0, "word of the language"},
		{"in", 0, "word of the language"},
		{"len.x", 0, "word of the language"},
		{"len", 0, "must be called"},
		{"now == 1", 0, "must be called"},
		{"true()", 4, "cannot be called"},

		{"a < b < c", 6, "do not chain"},
		{"a == b == c", 7, "do not chain"},
		{"a in b in c", 7, "do not chain"},
		{"1 < a <= 2", 6, "do not chain"},

		{"(a", 2, "not closed"},
		{"(a, b)", 2, "must end with )"},
		{"a)", 1, "no opening"},
		{"a]", 1, "no opening"},
		{"()", 1, "cannot begin a value"},
		{"(a b)", 3, "operator is missing"},

		{"[a]", 1, "elements of an array are literals"},
		{"[(1)]", 1, "elements of an array are literals"},
		{"[1,]", 3, "elements of an array are literals"},
		{"[1 2]", 3, "comma must separate"},
		{"[1", 2, "not closed"},
		{"[", 1, "not closed"},
		{"[1,", 3, "not closed"},

		{"sample()", 7, "from 0 to 1"},
		{"sample(1.1)", 7, "from 0 to 1"},
		{"sample(-0.1)", 7, "from 0 to 1"},
		{"sample(p)", 7, "from 0 to 1"},
		{"sample('0.1')", 7, "from 0 to 1"},
		{"sample((0.1))", 7, "from 0 to 1"},
		{"sample(0.1, 0.2)", 10, "sample(0.1)"},
		{"now(1)", 4, "now()"},
		{"len()", 4, "too few"},
		{"len(a, b)", 5, "too many"},
		{"len(a", 5, "not closed"},
		{"len(a b)", 6, "len(x)"},
		{"coalesce(a)", 10, "too few"},
		{"coalesce(a b)", 11, "comma must separate"},
		{"coalesce(a, b, c)", 13, "too many"},
		{"coalesce(a,)", 11, "cannot begin a value"},
		{"coalesce(a, b", 13, "not closed"},

		{"01", 0, "needless 0"},
		{"1.", 2, "decimal point"},
		{"1.e5", 2, "decimal point"},
		{"1e", 2, "exponent"},
		{"1a", 1, "must end before this"},
		{"1.5.2", 3, "must end before this"},
		{"0x10", 1, "must end before this"},
		{"1_000", 1, "must end before this"},
		{"1e400", 0, "too large"},
		{"-1e999", 0, "too large"},
		{"- 1", 0, "negative numbers"},
		{"+1", 0, "no arithmetic"},
		{"NaN == Infinity()", 7, "no such helper"},

		{`"abc`, 0, "not closed"},
		{`'abc"`, 0, "not closed"},
		{`"a\`, 2, "not closed"},
		{`"\x41"`, 1, "unknown escape"},
		{`"\u12"`, 1, "four hex"},
		{`"\u12g4"`, 1, "four hex"},
		{`"\ud800"`, 1, "surrogate"},
		{`"\ud800\n"`, 1, "surrogate"},
		{`"\ud800\ud800"`, 1, "surrogate"},
		{`"\udc00"`, 1, "surrogate"},
		{"\"a\nb\"", 2, "control character"},
		{"\"\xff\"", 1, "UTF-8"},
		{"a == \xff", 5, "UTF-8"},
		{"a\x00", 1, "has no meaning"},
	} {
		t.Run(tc.src, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tc.src)
			refused, ok := errors.AsType[*ParseError](err)
			if !ok {
				t.Fatalf("Parse error = %v, want a *ParseError", err)
			}
			if refused.Offset != tc.offset {
				t.Errorf("offset %d, want %d (%s)", refused.Offset, tc.offset, refused.Message)
			}
			if !strings.Contains(refused.Message, tc.says) {
				t.Errorf("message %q does not say %q", refused.Message, tc.says)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	repeat := strings.Repeat
	for _, tc := range []struct {
		name, src, says string // says "" = accepted
	}{
		{"longest", "'" + repeat("x", MaxLength-2) + "'", ""},
		{"too long", "'" + repeat("x", MaxLength-1) + "'", "longer than 2048"},
		{"deepest parentheses", repeat("(", MaxDepth) + "a" + repeat(")", MaxDepth), ""},
		{"too many parentheses", repeat("(", MaxDepth+1) + "a" + repeat(")", MaxDepth+1), "deeper than 32"},
		{"unclosed parentheses", repeat("(", MaxLength), "deeper than 32"},
		{"deepest negation", repeat("!", MaxDepth) + "a", ""},
		{"too many negations", repeat("!", MaxDepth+1) + "a", "deeper than 32"},
		{"deepest arrays", repeat("[", MaxDepth) + repeat("]", MaxDepth), ""},
		{"too deep arrays", repeat("[", MaxDepth+1) + repeat("]", MaxDepth+1), "deeper than 32"},
		{"too deep calls", repeat("len(", MaxDepth+1) + "a" + repeat(")", MaxDepth+1), "deeper than 32"},
		{"groups side by side are not deep", "(a)" + repeat("&&(a)", 100), ""},
		{"a long chain is not deep", "a" + repeat("||a", 500), ""},
		{"too many nodes", "a" + repeat("||a", MaxNodes), "more than 512"},
		{"most array elements", "[1" + repeat(",1", MaxNodes-2) + "]", ""},
		{"too many array elements", "[1" + repeat(",1", MaxNodes-1) + "]", "more than 512"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tc.src)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("error %v does not say %q", err, tc.says)
			}
		})
	}
}

func TestMessagesQuoteLongSourcesShortened(t *testing.T) {
	t.Parallel()
	expr, err := Parse("a < '" + strings.Repeat("ö", 500) + "'")
	if err != nil {
		t.Fatal(err)
	}
	_, err = expr.Eval(Env{Lookup: func([]string) (any, error) { return nil, nil }})
	if err == nil || len(err.Error()) > 400 || strings.ContainsRune(err.Error(), '\ufffd') {
		t.Errorf("error = %v", err)
	}
}
