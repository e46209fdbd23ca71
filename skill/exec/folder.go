package exec

import (
	"os"
	"path/filepath"
	"strings"
)

// A folder of an attempt is rondo-exec-N, and beside it is rondo-exec-N.lock, which
// the process holds for as long as it needs the folder: a lock without a holder is
// what a process left that was killed.
const (
	folderPattern = "rondo-exec-*"
	lockEnding    = ".lock"
)

// makeFolder makes the folder of an attempt. remove removes it.
func makeFolder(temp string) (folder string, remove func(), err error) {
	lock, err := os.CreateTemp(temp, folderPattern+lockEnding)
	if err != nil {
		return "", nil, err
	}
	_ = hold(lock) // where there are no locks, nothing is swept either
	folder = strings.TrimSuffix(lock.Name(), lockEnding)
	remove = func() {
		removeAll(folder)
		_ = os.Remove(lock.Name())
		_ = lock.Close() // last: until then nobody sweeps it
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		remove()
		return "", nil, err
	}
	return folder, remove, nil
}

// Sweep removes the folders of attempts whose process was killed; temp "" is the
// system's folder. What cannot be removed stays.
func Sweep(temp string) {
	if temp == "" {
		temp = os.TempDir()
	}
	locks, err := filepath.Glob(filepath.Join(temp, folderPattern+lockEnding))
	if err != nil {
		return
	}
	for _, name := range locks {
		lock, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if free(lock) {
			removeAll(strings.TrimSuffix(name, lockEnding))
			_ = os.Remove(name)
		}
		_ = lock.Close()
	}
}
