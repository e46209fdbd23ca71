package doctest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheModuleInPythonAnswersARequest(t *testing.T) {
	t.Parallel()
	python := needs(t, "python3")
	folder := filepath.Join(root, "examples")
	address := startDev(t, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	environment := append(os.Environ(), "RONDO_SERVER=http://"+address, "RONDO_TOKEN=")
	publish := exec.CommandContext(ctx, "sh", filepath.Join(folder, "publish.sh"), "case.created", "python-1", "screening", `{"patient_id": "patient-1"}`)
	publish.Env = environment
	if out, err := publish.CombinedOutput(); err != nil {
		t.Fatalf("publish: %v\n%s", err, out)
	}
	module := exec.CommandContext(ctx, python, filepath.Join(folder, "module.py"), "1")
	module.Env = environment
	out, err := module.CombinedOutput()
	// The simulated module may have been faster: then the answer is stale.
	if said := strings.Fields(string(out)); err != nil || len(said) != 2 || said[0] != "python-1" {
		t.Errorf("the module said %q (%v), want the case and what became of its answer", out, err)
	}
}
