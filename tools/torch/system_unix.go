//go:build unix

package torch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapped is memory that is shared by all who map the file.
func mapped(f *os.File, bytes int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// ownGroup makes a process the leader of a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
