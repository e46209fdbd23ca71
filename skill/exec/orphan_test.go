package exec_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-engine/rondo/skill"
	"github.com/rondo-engine/rondo/skill/exec"
)

// doomed names the pipe that the command holds of a Rondo that will be killed.
const doomed = "RONDO_TEST_DOOMED"

// beDoomed runs a command that never ends and says so by opening the pipe.
func beDoomed(pipe string) int {
	raw, err := json.Marshal(map[string]any{"command": "sh", "args": []string{"-c", `exec 3>"$0"; exec sleep 1000`, pipe}})
	if err != nil {
		return 1
	}
	s, err := exec.New(raw, exec.Options{Allow: true, TempDir: filepath.Dir(pipe)})
	if err != nil {
		return 1
	}
	_, _ = s.Do(context.Background(), skill.Call{StepID: "step", Attempt: 1})
	return 0
}

func TestACommandDiesWithRondo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills what a killed process started")
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	rondo := osexec.Command(self(t))
	rondo.Env = append(os.Environ(), doomed+"="+pipe)
	if err := rondo.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = rondo.Wait()
		if ours, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // nobody else would open it
			_ = ours.Close()
		}
	}()
	held, err := os.Open(pipe) // returns once the command has it open too
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := rondo.Process.Kill(); err != nil {
		t.Fatalf("it ended on its own: %v", err)
	}
	<-ended
	// The pipe ends when nobody has it open any more.
	if err := held.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(held); err != nil {
		t.Errorf("the command lives on: %v", err)
	}
}
