package flow

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is wrong with an answer may name its members, whatever they are called.
func TestReasonsFitATextColumn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ words, want string }{
		"as it is":    {"/grams must be a number", "/grams must be a number"},
		"NUL":         {"/a\x00b must be a number", "/a\ufffdb must be a number"},
		"long":        {strings.Repeat("a", 2000), strings.Repeat("a", 1000)},
		"cut in half": {strings.Repeat("a", 999) + "é", strings.Repeat("a", 999)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := storable(c.words)
			if got != c.want || !utf8.ValidString(got) {
				t.Errorf("storable(%.40q…) = %.40q…, want %.40q…", c.words, got, c.want)
			}
		})
	}
}
