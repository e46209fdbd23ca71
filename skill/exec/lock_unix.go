//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package exec

import (
	"os"
	"syscall"
)

// hold locks a file until it is closed, or the process is gone.
func hold(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// free takes the lock of a file that nobody holds.
func free(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
