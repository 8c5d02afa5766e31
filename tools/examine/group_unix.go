//go:build unix

package examine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// ownGroup makes a process the leader of a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the processes of a group.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// killProcessesWith ends the processes whose environment has a word, beside this one, and waits until
// there are none.
func killProcessesWith(word string) {
	const tries, pause = 200, 5 * time.Millisecond
	for try := 0; try < tries && killOnce(word) > 0; try++ {
		time.Sleep(pause)
	}
}

// killOnce ends those that are there, and says how many they were.
func killOnce(word string) (found int) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // an error is one of the pattern
	marked := []byte("\x00" + word + "\x00")
	for _, path := range environments {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		text, err := os.ReadFile(path)
		if err == nil && pid != os.Getpid() && bytes.Contains(append(append([]byte{0}, text...), 0), marked) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			found++
		}
	}
	return found
}

// endOf says how a process ended.
func endOf(status uint64) string {
	s := syscall.WaitStatus(status)
	if s.Signaled() {
		return fmt.Sprintf("it was ended by the signal %v", s.Signal())
	}
	return fmt.Sprintf("it exited with status %d", s.ExitStatus())
}
