package policy_test

import (
	"strings"
	"testing"
)

func TestEveryPackageHasExactlyOnePackageComment(t *testing.T) {
	t.Parallel()
	for dir, sources := range packages(t) {
		if !hasCode(sources) {
			continue
		}
		var commented []string
		for _, s := range sources {
			if s.test || s.file.Doc == nil {
				continue
			}
			commented = append(commented, s.path)
			name := s.file.Name.Name
			opening := "Package " + name + " "
			if name == "main" {
				opening = "" // a command's comment opens with the command's name
			}
			if text := s.file.Doc.Text(); !strings.HasPrefix(text, opening) {
				t.Errorf("%s: the package comment begins %q, want %q: what the package is, what it guarantees, what it may import",
					s.path, firstLine(text), opening+"…")
			}
		}
		switch len(commented) {
		case 1:
		case 0:
			t.Errorf("%s has no package comment: say what it is, what it guarantees and what it may import", dir)
		default:
			t.Errorf("%s has %d package comments, in %v: keep one", dir, len(commented), commented)
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
