package examine

import (
	"fmt"
	"os"
	"syscall"
)

// ownGroup: Windows has no groups of processes of this kind.
func ownGroup() *syscall.SysProcAttr { return nil }

// killProcessesWith: Windows does not tell the environment of processes.
func killProcessesWith(string) {}

// killGroup ends a process.
func killGroup(leader int) {
	if process, err := os.FindProcess(leader); err == nil {
		_ = process.Kill()
	}
}

// endOf says how a process ended.
func endOf(status uint64) string { return fmt.Sprintf("it exited with status %d", status) }
