package exec

import "syscall"

// dieWithParent has the system kill the command when the thread that started it ends,
// as it does however this process ends. It does not reach what the command started.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
