package doctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the module's folder, seen from this package.
const root = "../.."

// document is one Markdown file.
type document struct {
	path   string // relative to root, with slashes
	text   string
	blocks []block
}

// block is one fenced block.
type block struct {
	line     int // of the opening fence, from 1
	language string
	mark     string // what follows the language
	text     string
}

// documents reads the README and everything below docs and examples.
func documents(t *testing.T) []document {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md", "examples/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, filepath.ToSlash(relative))
		}
	}
	if len(paths) < 10 {
		t.Fatalf("found only %d documents: the test looks at the wrong place", len(paths))
	}
	docs := make([]document, 0, len(paths))
	for _, path := range paths {
		docs = append(docs, read(t, path))
	}
	return docs
}

func read(t *testing.T, path string) document {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	d := document{path: path, text: string(content)}
	var open *block
	for number, line := range strings.Split(d.text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{line: number + 1}
			open.language, open.mark, _ = strings.Cut(strings.TrimSpace(fence), " ")
		case isFence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: this block is never closed", path, open.line)
	}
	return d
}

// prose is the text outside fenced blocks.
func (d document) prose() string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(d.text) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}
