package policy_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"
)

// everywhere are traces of one machine, or of where its packages came from, that
// no file may carry. They are written in pieces so that this file may stay.
var everywhere = []*regexp.Regexp{
	regexp.MustCompile(`(^|[^\w.:$}-])/` + `(work|root|home/\w+)/`),
	regexp.MustCompile(`(proxy|sum)\.` + `golang\.org`),
	regexp.MustCompile(`(registry\.)` + `(npmjs\.org|yarnpkg\.com)|` + `(deb|security|ftp)\.` + `debian\.org|` + `files\.` + `pythonhosted\.org|` + `pypi\.` + `org`),
}

// inDocuments are paths that a reader should not find in documentation: a
// temporary file has a place of its own on every machine.
var inDocuments = []*regexp.Regexp{
	regexp.MustCompile("(^|[\\s`'\"(=])/" + `tmp/`),
}

// namesRegistries are files that a tool writes and that must name hosts.
var namesRegistries = []string{"package-lock.json"}

func TestNoFileSpeaksOfOneMachine(t *testing.T) {
	t.Parallel()
	checked := 0
	walk(t, func(path string) {
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Errorf("read %s: %v", path, err)
			return
		}
		if !utf8.Valid(content) || slices.Contains(namesRegistries, filepath.Base(path)) {
			return
		}
		checked++
		patterns := everywhere
		if filepath.Ext(path) == ".md" {
			patterns = slices.Concat(everywhere, inDocuments)
		}
		for number, line := range bytes.Split(content, []byte("\n")) {
			for _, pattern := range patterns {
				if found := pattern.Find(line); found != nil {
					t.Errorf("%s:%d: %q belongs to one machine, not to the repository", path, number+1, found)
				}
			}
		}
	})
	if checked == 0 {
		t.Error("no file was checked: the walk is wrong")
	}
}

func TestMachineTracesAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		found bool
	}{
		{"see /" + "work/main/go.mod", true},
		{"cp `/" + "root/key` .", true},
		{"/" + "home/someone/x", true},
		{"GOPROXY=https://proxy" + ".golang.org", true},
		{"framework/workers", false},
		{"GET /workflow-instances/{id}", false},
		{"$HOME/work/x", false},
		{"https://example.org/root/x", false},
	}
	for _, test := range tests {
		found := slices.ContainsFunc(everywhere, func(p *regexp.Regexp) bool { return p.MatchString(test.text) })
		if found != test.found {
			t.Errorf("%q: found = %t, want %t", test.text, found, test.found)
		}
	}
}
