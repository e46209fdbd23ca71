package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// binaryLife is how long a built binary is kept for later test runs.
const binaryLife = 24 * time.Hour

// buildOnce keeps the outcome for the life of the test process.
var buildOnce = sync.OnceValues(buildRondo)

// RondoBinary returns the path of the rondo program, built from this tree once
// per test process, with the race detector when the test itself has it.
func RondoBinary(t testing.TB) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatalf("build ./cmd/rondo: %v", err)
	}
	return path
}

// ModuleRoot returns the folder that holds this module's go.mod.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in the working directory or above: run the test with go test")
		}
		dir = parent
	}
}

// buildRondo builds into .cache/testbin under a name made of the content, so that
// test processes that build at once never write to a file that another runs.
func buildRondo() (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "testbin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	removeOld(dir)
	scratch, err := os.MkdirTemp(dir, "build-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)

	built := filepath.Join(scratch, "rondo")
	args := []string{"build", "-buildvcs=false", "-o", built}
	if Race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/rondo")...)
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	content, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	final := filepath.Join(dir, "rondo-"+hex.EncodeToString(sum[:8]))
	return final, os.Rename(built, final)
}

// removeOld drops what earlier runs left; a failure costs only disk space.
func removeOld(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > binaryLife {
			_ = os.RemoveAll(filepath.Join(dir, entry.Name()))
		}
	}
}
