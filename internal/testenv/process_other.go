//go:build !linux

package testenv

import "os/exec"

// dieWithParent has no equivalent here: a killed test process may leave its
// children behind.
func dieWithParent(*exec.Cmd) {}
