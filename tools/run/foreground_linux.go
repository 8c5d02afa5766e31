package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// isForeground reports whether this process is in the group that the terminal sends Ctrl-C to.
func isForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
