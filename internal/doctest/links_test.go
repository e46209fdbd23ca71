package doctest_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	docs := map[string]document{}
	for _, doc := range documents(t) {
		docs[doc.path] = doc
	}
	checked := 0
	for _, doc := range docs {
		for _, found := range link.FindAllStringSubmatch(doc.prose(), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			file := doc.path
			if target != "" {
				file = path.Join(path.Dir(doc.path), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which is not there", doc.path, found[1])
				continue
			}
			if other, ok := docs[file]; ok && anchor != "" && !hasAnchor(other, anchor) {
				t.Errorf("%s links to %s, but %s has no such heading", doc.path, found[1], file)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were checked", checked)
	}
}

func hasAnchor(doc document, anchor string) bool {
	for _, found := range heading.FindAllStringSubmatch(doc.prose(), -1) {
		if slug(found[1]) == anchor {
			return true
		}
	}
	return false
}

var notInSlugs = regexp.MustCompile(`[^\pL\pN _-]`)

// slug is how a heading is addressed where Markdown is shown.
func slug(heading string) string {
	return strings.ReplaceAll(notInSlugs.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
