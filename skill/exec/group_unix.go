//go:build unix

package exec

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a command into a process group of its own, and lets it die with this
// process where the system can do that.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// killGroup ends every process of the command's group. A group keeps its number for
// as long as one of its processes lives; right after the last one it is not given to
// another one yet.
func killGroup(process *os.Process) error { return syscall.Kill(-process.Pid, syscall.SIGKILL) }
