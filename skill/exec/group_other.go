//go:build !unix

package exec

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where there are no process groups.
func ownGroup(*exec.Cmd) {}

// killGroup ends the command alone where there are no process groups.
func killGroup(process *os.Process) error { return process.Kill() }
