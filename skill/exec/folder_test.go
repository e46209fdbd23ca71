package exec_test

import (
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-engine/rondo/skill/exec"
)

func TestFoldersOfKilledProcessesAreSweptAndOthersStay(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks")
	}
	temp := t.TempDir()
	left := filepath.Join(temp, "rondo-exec-1")
	if err := os.MkdirAll(filepath.Join(left, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left + ".lock", filepath.Join(temp, "other.lock")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The command goes on until it is told that the sweeping is over.
	signals := t.TempDir()
	begun, over := filepath.Join(signals, "begun"), filepath.Join(signals, "over")
	if err := osexec.Command("mkfifo", begun, over).Run(); err != nil {
		t.Skip("mkfifo is not there")
	}
	raw, err := json.Marshal(map[string]any{"command": "sh", "args": []string{"-c", `touch mine; echo > "$1"; cat "$2"; ls`, "sh", begun, over}, "output": "text"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := exec.New(raw, exec.Options{Allow: true, TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() { said <- string(do(t, s, `{}`).Data) }()
	if _, err := os.ReadFile(begun); err != nil {
		t.Fatal(err)
	}
	exec.Sweep(temp)
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-said; !strings.Contains(got, "mine") {
		t.Errorf("the folder of a command at work has %s, want its file", got)
	}
	entries, err := os.ReadDir(temp)
	if err != nil || len(entries) != 1 || entries[0].Name() != "other.lock" {
		t.Errorf("left are %v, %v, want what is not ours alone", entries, err)
	}
}
