package explore

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile excludes other processes from an open file, until it is closed.
func lockFile(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
}
