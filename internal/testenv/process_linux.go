package testenv

import (
	"os/exec"
	"syscall"
)

// dieWithParent asks the kernel to kill the process when the test process ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
