//go:build unix

package wheel

import (
	"os/exec"
	"syscall"
)

// endsWhole lets the end of a command's context end what the command has started as well: python3 may
// be a script that starts Python.
func endsWhole(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
