//go:build unix

package explore

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile excludes other processes from an open file, until it is closed.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
