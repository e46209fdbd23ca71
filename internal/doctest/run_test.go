package doctest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/internal/cli"
	"github.com/rondo-engine/rondo/internal/testenv"
)

// asRondo makes the test binary the rondo program.
const asRondo = "RONDO_DOCTEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asRondo) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// scriptLimit bounds one document.
const scriptLimit = 3 * time.Minute

func TestCommandsRunAndAnswerAsShown(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	ran := 0
	for _, doc := range documents(t) {
		script := newScript(doc)
		if len(script.steps) == 0 {
			continue
		}
		ran++
		t.Run(strings.TrimSuffix(filepath.Base(doc.path), ".md"), func(t *testing.T) {
			t.Parallel()
			if script.uses("python3 ") {
				needs(t, "python3")
			}
			script.run(t)
		})
	}
	if ran < 3 {
		t.Errorf("only %d documents have commands that run", ran)
	}
}

// script is what runs of one document.
type script struct {
	doc   document
	steps []step
}

type step struct {
	block
	shown []block // the answers that follow it
}

func newScript(doc document) *script {
	s := &script{doc: doc}
	for _, b := range doc.blocks {
		switch {
		case b.language == "sh" && (b.mark == "run" || b.mark == "fails"):
			s.steps = append(s.steps, step{block: b})
		case b.mark == "out" && len(s.steps) > 0:
			last := &s.steps[len(s.steps)-1]
			last.shown = append(last.shown, b)
		}
	}
	return s
}

// uses reports whether a command occurs in the script.
func (s *script) uses(command string) bool {
	return slices.ContainsFunc(s.steps, func(step step) bool { return strings.Contains(step.text, command) })
}

func (s *script) run(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	address := startDev(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), scriptLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", s.source(dir, address))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RONDO_SERVER=http://"+address, "RONDO_EXE="+testBinary(t))
	cmd.WaitDelay = time.Second
	noise, failed := cmd.CombinedOutput()
	for i, step := range s.steps {
		output, err := os.ReadFile(outputFile(dir, i))
		if err != nil {
			break // the script ended before
		}
		for _, shown := range step.shown {
			if !matches(shown.text, string(output)) {
				t.Errorf("%s:%d: the block before prints something else:\n%s", s.doc.path, shown.line, output)
			}
		}
		if _, err := os.Stat(outputFile(dir, i+1)); failed != nil && err != nil {
			t.Errorf("%s:%d: %v\n%s", s.doc.path, step.line, failed, output)
		}
	}
	if failed != nil {
		t.Errorf("%s: %v\n%s", s.doc.path, failed, noise)
	}
}

// source is the shell program: every block in its own braces, so that variables
// live on, with its output in a file.
func (s *script) source(dir, address string) string {
	var b strings.Builder
	b.WriteString("set -eu\n" +
		"curl() { command curl --fail-with-body \"$@\"; }\n" +
		"rondo() { " + asRondo + "=1 \"$RONDO_EXE\" \"$@\"; }\n")
	for i, step := range s.steps {
		text := strings.NewReplacer("127.0.0.1:3006", address, "go run ./cmd/rondo", "rondo").Replace(step.text)
		if step.mark == "fails" {
			text = "if (\n" + text + ") then echo 'this should have failed'; exit 1; fi\n"
		}
		fmt.Fprintf(&b, "{\n%s} >'%s' 2>&1\n", text, outputFile(dir, i))
	}
	return b.String()
}

func outputFile(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("output-%d", i)) }

var space = regexp.MustCompile(`\s+`)

// matches compares without white space; … in what is shown stands for anything.
func matches(shown, output string) bool {
	pattern := regexp.QuoteMeta(space.ReplaceAllString(shown, ""))
	pattern = "(?s)" + strings.ReplaceAll(pattern, "…", ".*?")
	return regexp.MustCompile(pattern).MatchString(space.ReplaceAllString(output, ""))
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startDev runs `rondo dev` without demo cases and returns its address.
func startDev(t *testing.T, dir string) string {
	t.Helper()
	screen := &buffer{}
	cmd := exec.CommandContext(t.Context(), testBinary(t), "dev", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--every", "0")
	cmd.Env = append(os.Environ(), asRondo+"=1", "DATABASE_URL=", "REDIS_URL=")
	cmd.Stdout, cmd.Stderr = screen, screen
	process := testenv.Start(t, cmd)
	ready := regexp.MustCompile(`Rondo is ready on http://(\S+)`)
	var since time.Time
	for attempt := 0; ; attempt++ {
		found := ready.FindStringSubmatch(screen.String())
		if since.IsZero() && found != nil && answers(t.Context(), found[1]) {
			since = time.Now()
		}
		// A clock that shows whole seconds, as `date` in the documents does, must be
		// past the launch of the database: cases that occurred before are not started.
		if !since.IsZero() && time.Now().Truncate(time.Second).After(since) {
			return found[1]
		}
		select {
		case <-process.Done():
			t.Fatalf("rondo dev ended:\n%s", screen.String())
		case <-time.After(20 * time.Millisecond):
		}
		if attempt > 1500 {
			t.Fatalf("rondo dev is not ready after 30 s:\n%s", screen.String())
		}
	}
}

func answers(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health/ready", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// buffer collects output while others read it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
