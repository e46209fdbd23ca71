package testenv

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// Process is a program under test. It dies with the test that started it, and
// with the whole test process, however that ends.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid once done is closed
}

// Start runs cmd until it exits, is told to, or the test ends (then it is
// killed). The caller sets cmd's output before and does not touch cmd after.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{cmd: cmd, done: make(chan struct{})}
	dieWithParent(cmd)
	// Output copied through pipes must not keep Wait from returning when a
	// grandchild still holds them.
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 5 * time.Second
	}
	started := make(chan error, 1)
	go func() {
		// "Parent" means the thread for the kernel: keep it until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	t.Cleanup(p.Kill)
	return p
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that is already gone ignores it.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the process as kill -9 does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process is gone and returns what exec.Cmd.Wait does: nil
// for exit code 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Running reports whether the process is still there.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}
