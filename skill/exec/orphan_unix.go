//go:build unix && !linux

package exec

import "syscall"

// dieWithParent does nothing: only Linux can do it.
func dieWithParent(*syscall.SysProcAttr) {}
