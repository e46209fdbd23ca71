package testenv_test

import (
	"os/exec"
	"testing"

	"github.com/rondo-engine/rondo/internal/testenv"
)

func TestRondoBinaryIsTheProgramOfThisTree(t *testing.T) {
	t.Parallel()
	path := testenv.RondoBinary(t)
	if again := testenv.RondoBinary(t); again != path {
		t.Errorf("built twice: %s and %s", path, again)
	}
	if output, err := exec.Command(path, "version").CombinedOutput(); err != nil {
		t.Errorf("%s version: %v\n%s", path, err, output)
	}
}
