package exec

import (
	"strings"
	"testing"
)

func TestComplaintsAreReadable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxComplaint)
	for name, test := range map[string]struct {
		printed string
		cut     bool
		want    string
	}{
		"plain":              {"first\nlast\n", false, "first\nlast"},
		"colours":            {"\x1b[1;31merror:\x1b[0m it \x1b[38;5;12mbroke\x1b[m", false, "error: it broke"},
		"a link and a title": {"\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\ \x1b]0;title\x07done", false, "here done"},
		"short sequences":    {"\x1b(Ba\x1b7b\x1bMc", false, "abc"},
		"moves":              {"\x1b[2K\x1b[1Gnpm \x1b[?25hERR!", false, "npm ERR!"},
		"a progress bar":     {"10 %\r90 %\rfailed\r\n", false, "10 %\n90 %\nfailed"},
		"half a sequence":    {"8;5;12mbroken\nwhole", true, "…whole"},
		"a half line alone":  {"broken", true, "broken"},
		"bad bytes":          {"a\xffb\x00c", false, "a�bc"},
		"too much": {
			"first\n" + strings.Repeat("x", maxComplaint-5) + "\nlast", false,
			"…" + strings.Repeat("x", maxComplaint-5) + "\nlast",
		},
		"too much in one line": {long, false, "…" + long[len(long)-maxComplaint:]},
	} {
		if got := lastLines([]byte(test.printed), test.cut); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
