package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// foregroundGroup is the group of processes that a terminal sends its signals to.
func foregroundGroup(terminal *os.File) (int, error) {
	return unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
}
