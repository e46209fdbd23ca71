package doctest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
)

// needs returns the path of a program that the documentation uses. Without it
// the test is skipped, and fails where nothing may be missing.
func needs(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	missing := "the documentation uses " + program + ", which is not installed"
	if os.Getenv(testenv.EnvRequire) == "1" {
		t.Fatalf("%s (%s=1, so this is a failure)", missing, testenv.EnvRequire)
	}
	t.Skip(missing)
	return ""
}
