//go:build unix

package examine

import (
	"fmt"
	"syscall"
)

// ownGroup makes a process the leader of a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the processes of a group.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// endOf says how a process ended.
func endOf(status uint64) string {
	s := syscall.WaitStatus(status)
	if s.Signaled() {
		return fmt.Sprintf("it was ended by the signal %v", s.Signal())
	}
	return fmt.Sprintf("it exited with status %d", s.ExitStatus())
}
