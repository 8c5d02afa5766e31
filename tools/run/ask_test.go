//go:build unix

package run

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestAsk: a process that waits for the question is asked, and its answer is awaited. One that does not wait any more has
// ended, and nothing is awaited of it.
func TestAsk(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"7.question", "8.question"} {
		if err := syscall.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, folder, "9.answered", "")
	waits, err := os.OpenFile(at("7.question"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer waits.Close()
	ended := make(chan struct{})
	go func() {
		ask(folder)
		close(ended)
	}()
	for _, err := os.Stat(at("7.question")); err == nil; _, err = os.Stat(at("7.question")) {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-ended:
		t.Error("the answer is not awaited")
	case <-time.After(50 * time.Millisecond):
	}
	write(t, folder, "7.answered", "")
	select {
	case <-ended:
	case <-time.After(secondsToAnswer * time.Second / 2):
		t.Error("an answer is awaited of who has ended")
	}
	if _, err := os.Stat(at("8.question")); err != nil {
		t.Errorf("the question that nobody reads: %v", err)
	}
}
